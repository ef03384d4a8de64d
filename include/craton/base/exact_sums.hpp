#pragma once

#include <cmath>
#include <limits>
#include <span>

namespace craton::base {

/// Rounds each value to the nearest multiple of `quantum`, a power of two. Sums of such multiples are exact while their magnitude
/// stays below 2^(digits - 1) of it, so they do not depend on the order of adding (Demmel & Nguyen 2013,
/// doi:10.1109/arith.2013.9). Requires magnitudes below that, too.
template <class T> void round_to_multiples(std::span<T> values, T quantum) {
    // Added to so large a number a value loses what is below the quantum; the sum keeps its exponent, whatever the value's sign.
    const T large = static_cast<T>(std::ldexp(1.5, std::numeric_limits<T>::digits - 1)) * quantum;
    for (T& value : values) value = (value + large) - large;
}

} // namespace craton::base
