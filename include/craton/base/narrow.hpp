#pragma once

#include <craton/base/error.hpp>

#include <string>
#include <utility>

namespace craton::base {

/// Converts between integer types; throws user_error naming the value when it does not fit (MPI and ScaLAPACK count in 32 bits).
template <class To, class From> [[nodiscard]] To narrow(From value, const char* what) {
    if (!std::in_range<To>(value)) {
        throw user_error(std::string(what) + ": " + std::to_string(value) + " does not fit a " + std::to_string(sizeof(To) * 8) +
                         "-bit integer");
    }
    return static_cast<To>(value);
}

} // namespace craton::base
