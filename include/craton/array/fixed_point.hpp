#pragma once

#include <cstdint>

namespace craton::array {

/// Real numbers as whole multiples of a power of two, in 64 bits: their sums are exact, so they do not depend on the order of
/// adding. Each number is rounded once, to the nearest multiple of resolution(). A sum that passes through numbers too large to
/// hold and comes back is still right (arithmetic modulo 2^64).
class fixed_point {
  public:
    /// `largest`: a bound on the magnitude of any sum. Throws user_error unless it is finite, positive and between 2^-900 and
    /// 2^900.
    explicit fixed_point(double largest);

    /// The bound that was given.
    [[nodiscard]] double largest() const noexcept { return largest_; }
    /// largest() times about 2^-62: at least 2^38 times finer than float32 for numbers of its size.
    [[nodiscard]] double resolution() const noexcept { return resolution_; }

    /// Requires |value| <= largest().
    [[nodiscard]] std::int64_t encode(double value) const noexcept;
    /// Rounded to the nearest double.
    [[nodiscard]] double decode(std::int64_t multiple) const noexcept { return static_cast<double>(multiple) * resolution_; }

  private:
    double largest_, resolution_, scale_;
};

} // namespace craton::array
