#pragma once

#include <craton/base/error.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace craton::tests {

/// The action throws user_error, and its message holds every part.
template <class Action> void expect_user_error(Action action, std::initializer_list<std::string> parts) {
    try {
        action();
        FAIL() << "no user_error was thrown";
    } catch (const user_error& error) {
        for (const std::string& part : parts) {
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << "'" << part << "' is not in: " << error.what();
        }
    }
}

template <class Action> void expect_user_error(Action action, const std::string& part) { expect_user_error(action, {part}); }

} // namespace craton::tests
