#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace craton::array {

/// i, j, k: i varies fastest in memory.
using index3 = std::array<std::int64_t, 3>;

/// Cells low[d] <= c[d] < high[d] of an unbounded grid; empty when that holds for none.
struct domain {
    index3 low{}, high{};

    /// Cells along a dimension, and in all; 0 where the range is empty.
    [[nodiscard]] constexpr std::int64_t extent(std::size_t d) const { return std::max<std::int64_t>(0, high[d] - low[d]); }
    [[nodiscard]] constexpr std::int64_t cells() const { return extent(0) * extent(1) * extent(2); }
    [[nodiscard]] constexpr bool empty() const { return cells() == 0; }
    /// Whether a cell is in the range.
    [[nodiscard]] constexpr bool contains(const index3& c) const {
        return low[0] <= c[0] && c[0] < high[0] && low[1] <= c[1] && c[1] < high[1] && low[2] <= c[2] && c[2] < high[2];
    }
    friend constexpr bool operator==(const domain&, const domain&) = default;
};

/// The cells of both; empty where there are none.
[[nodiscard]] constexpr domain intersect(const domain& a, const domain& b) {
    domain both;
    for (std::size_t d = 0; d < 3; ++d) {
        both.low[d] = std::max(a.low[d], b.low[d]);
        both.high[d] = std::min(a.high[d], b.high[d]);
    }
    return both;
}

/// The same range, moved by so many cells.
[[nodiscard]] constexpr domain translate(const domain& a, const index3& by) {
    domain moved = a;
    for (std::size_t d = 0; d < 3; ++d) {
        moved.low[d] += by[d];
        moved.high[d] += by[d];
    }
    return moved;
}

/// By so many cells on either side of every dimension.
[[nodiscard]] constexpr domain grow(const domain& a, std::int64_t by) {
    domain grown = a;
    for (std::size_t d = 0; d < 3; ++d) {
        grown.low[d] -= by;
        grown.high[d] += by;
    }
    return grown;
}
[[nodiscard]] constexpr domain shrink(const domain& a, std::int64_t by) { return grow(a, -by); }

/// The cells of the next coarser grid that cover these, and those of the next finer one.
[[nodiscard]] constexpr domain coarsen(const domain& a) {
    domain coarse;
    for (std::size_t d = 0; d < 3; ++d) {
        coarse.low[d] = a.low[d] >> 1; // towards minus infinity
        coarse.high[d] = (a.high[d] + 1) >> 1;
    }
    return coarse;
}
[[nodiscard]] constexpr domain refine(const domain& a) {
    return {{2 * a.low[0], 2 * a.low[1], 2 * a.low[2]}, {2 * a.high[0], 2 * a.high[1], 2 * a.high[2]}};
}

/// Of the cells within `depth` of a domain, those that lie off it in the directions of `side` (-1, 0 or 1 per dimension).
[[nodiscard]] constexpr domain halo_side(const domain& a, const index3& side, std::int64_t depth) {
    domain halo = a;
    for (std::size_t d = 0; d < 3; ++d) {
        if (side[d] < 0) {
            halo.low[d] = a.low[d] - depth;
            halo.high[d] = a.low[d];
        } else if (side[d] > 0) {
            halo.low[d] = a.high[d];
            halo.high[d] = a.high[d] + depth;
        }
    }
    return halo;
}

} // namespace craton::array
