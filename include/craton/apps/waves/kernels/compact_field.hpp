#pragma once

#include <craton/base/half.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace craton::waves {

// Media in 16 bits: the numbers of IEEE 754 binary16 times a unit, which leaves 11 significant bits. A step waits for what it
// fetches from memory, and media are half of the arrays that it reads.
//
// Rounded to nearest, homogeneous rock would be wrong by up to 0.024 % everywhere, and waves would come early or late by 0.08 rad
// for each hundred wavelengths. So values are rounded up in as many cells as brings the mean of their neighbourhood to the value:
// what waves of many cells' length meet is the mean, and what varies from cell to cell (0.01 %) scatters nothing that could be
// seen.

using base::from_half;
using base::half_of;
using base::largest_half;
using base::least_half;

/// The threshold of a cell of the grid: even over [0, 1) among any neighbours (an additive recurrence in three dimensions, Roberts
/// 2018), and the same however the grid is cut.
constexpr float rounding_threshold(std::int64_t i, std::int64_t j, std::int64_t k) {
    // Parts of 2^64, which wrap.
    const std::uint64_t sum = static_cast<std::uint64_t>(i) * 0xD1B54A32D192ED03U +
                              static_cast<std::uint64_t>(j) * 0xABC98388FB8FAC03U +
                              static_cast<std::uint64_t>(k) * 0x8CB92BA72F3D8DD7U;
    return static_cast<float>(sum >> 40U) * 0x1p-24F;
}

/// Values of a brick's cells, element n as in arrays of floats (brick_shape). Does not own them. Reading a vector of cells may read
/// 15 elements beyond the last.
struct compact_field {
    const std::uint16_t* first = nullptr;
    float unit = 1; ///< a power of two

    constexpr float operator[](std::int64_t n) const { return unit * from_half(first[n]); }
};

/// A unit in which `largest` and numbers up to 2000 times as large, or 10^5 times smaller, have all 11 bits.
inline float compact_unit(float largest) {
    return largest > 0 && largest <= std::numeric_limits<float>::max() ? std::ldexp(1.0F, std::ilogb(largest) - 4) : 1.0F;
}

} // namespace craton::waves
