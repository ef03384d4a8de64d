#include <craton/array/fixed_point.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <cmath>

namespace craton::array {

namespace {

// |sum| <= largest < 2^exponent: 62 bits for the magnitude, one for the sign, one to spare.
constexpr int magnitude_bits = 62;
constexpr int widest_exponent = 900;

int exponent_above(double largest) {
    int exponent = 0;
    if (std::isfinite(largest) && largest > 0) std::frexp(largest, &exponent);
    if (!std::isfinite(largest) || largest <= 0 || std::abs(exponent) > widest_exponent) {
        throw user_error(
            fmt::format("reproducible sums: largest is {}; allowed: a finite positive bound on the magnitude of any sum, "
                        "between 2^-900 and 2^900",
                        largest));
    }
    return exponent;
}

} // namespace

fixed_point::fixed_point(double largest)
    : largest_(largest), resolution_(std::ldexp(1.0, exponent_above(largest) - magnitude_bits)), scale_(1.0 / resolution_) {}

std::int64_t fixed_point::encode(double value) const noexcept { return std::llrint(value * scale_); }

} // namespace craton::array
