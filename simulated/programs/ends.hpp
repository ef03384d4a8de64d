#pragma once

#include <craton/base/error.hpp>

#include <cstdio>
#include <exception>

namespace craton::simulated {

/// Runs a program's body; returns what main returns, and says why when that is not 0.
inline int exit_code_of(void (*body)(int, char**), int argc, char** argv) {
    try {
        body(argc, argv);
    } catch (const user_error& error) {
        std::fprintf(stderr, "craton: error: %s\n", error.what());
        return exit_user_error;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "craton: bug: %s\n", error.what());
        return exit_bug;
    }
    return 0;
}

} // namespace craton::simulated
