#pragma once

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace craton::linalg {

/// That the leading minor of such an order is not positive, in words.
inline std::string why_not_positive_definite(std::int64_t minor, std::int64_t order, const char* call) {
    return fmt::format("{0}: the {1} x {1} matrix is not positive definite: its leading minor of order {2} is not positive; "
                       "allowed: a positive definite matrix (a larger diagonal makes it one)",
                       call, order, minor);
}

/// Throws what LAPACK's answer to a Cholesky factorisation means: nothing where it is 0.
inline void require_factored(std::int64_t answer, std::int64_t order, const char* call) {
    if (answer > 0) throw user_error(why_not_positive_definite(answer, order, call));
    if (answer < 0) throw user_error(fmt::format("{}: LAPACK refused argument {}", call, -answer));
}

} // namespace craton::linalg
