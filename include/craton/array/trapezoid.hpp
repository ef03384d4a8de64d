#pragma once

#include <cstdint>

namespace craton::array {

/// Which elements (i, j) of a block an update takes, by their global indices.
struct trapezoid {
    /// Which part of a block counts.
    enum class side : std::uint8_t { all, upper, lower };
    side which = side::all;
    std::int64_t offset = 0;

    /// The whole block.
    [[nodiscard]] static constexpr trapezoid all() { return {}; }
    /// i <= j + offset
    [[nodiscard]] static constexpr trapezoid upper(std::int64_t offset = 0) { return {side::upper, offset}; }
    /// i >= j + offset
    [[nodiscard]] static constexpr trapezoid lower(std::int64_t offset = 0) { return {side::lower, offset}; }
};

} // namespace craton::array
