#pragma once

#include <bit>
#include <cstdint>

namespace craton::base {

/// The number of IEEE 754 binary16 with these bits, for finite ones that are not subnormal.
constexpr float from_half(std::uint16_t bits) {
    // Exponents of binary16 are 112 less than those of the same bits in binary32.
    const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7FFFU) << 13U;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
    return magnitude == 0 ? 0.0F : std::bit_cast<float>((magnitude + (112U << 23U)) | sign);
}

inline constexpr float least_half = 0x1p-14F; ///< the smallest number that is not subnormal
/// The largest number of binary16.
inline constexpr float largest_half = 65504.0F;

/// Bits of a neighbouring number: the one further from 0 if the part of a step that lies between is more than 1 - threshold, 0 <=
/// threshold < 1; value itself where it is such a number. What is smaller than least_half becomes that or 0, whichever is nearer;
/// what is beyond largest_half, infinity (0x7C00).
constexpr std::uint16_t half_of(float value, float threshold = 0.5F) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16U & 0x8000U);
    const float magnitude = value < 0 ? -value : value;
    if (magnitude < least_half) return static_cast<std::uint16_t>(2 * magnitude < least_half ? 0 : sign | 0x0400U);
    if (!(magnitude <= largest_half)) return static_cast<std::uint16_t>(sign | 0x7C00U);
    const std::uint32_t raised = (bits & 0x7FFFFFFFU) + static_cast<std::uint32_t>(threshold * 8192.0F);
    return static_cast<std::uint16_t>(sign | ((raised >> 13U) - (112U << 10U)));
}

} // namespace craton::base
