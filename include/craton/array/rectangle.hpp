#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace craton::array {

/// A place in an N-dimensional index space: the last index varies fastest in memory, as in C and NumPy (a `domain` has three, the
/// first fastest).
template <std::size_t N> using place = std::array<std::int64_t, N>;

/// Places low[d] <= p[d] < high[d]; empty when that holds for none.
template <std::size_t N> struct rectangle {
    place<N> low{}, high{};

    /// Indices along a dimension, along all, and in all; 0 where it is empty.
    [[nodiscard]] constexpr std::int64_t extent(std::size_t d) const { return std::max<std::int64_t>(0, high[d] - low[d]); }
    [[nodiscard]] constexpr place<N> extents() const {
        place<N> all{};
        for (std::size_t d = 0; d < N; ++d) all[d] = extent(d);
        return all;
    }
    [[nodiscard]] constexpr std::int64_t cells() const {
        std::int64_t product = 1;
        for (std::size_t d = 0; d < N; ++d) product *= extent(d);
        return product;
    }
    [[nodiscard]] constexpr bool empty() const { return cells() == 0; }
    /// Whether a place is inside.
    [[nodiscard]] constexpr bool contains(const place<N>& p) const {
        for (std::size_t d = 0; d < N; ++d) {
            if (p[d] < low[d] || p[d] >= high[d]) return false;
        }
        return true;
    }
    friend constexpr bool operator==(const rectangle&, const rectangle&) = default;
};

/// What is in both; empty where nothing is.
template <std::size_t N> [[nodiscard]] constexpr rectangle<N> intersect(const rectangle<N>& a, const rectangle<N>& b) {
    rectangle<N> both;
    for (std::size_t d = 0; d < N; ++d) {
        both.low[d] = std::max(a.low[d], b.low[d]);
        both.high[d] = std::min(a.high[d], b.high[d]);
    }
    return both;
}

/// Elements from one index to the next along each dimension, in dense row-major memory of such extents.
template <std::size_t N> [[nodiscard]] constexpr place<N> row_major_strides(const place<N>& extents) {
    place<N> strides{};
    std::int64_t next = 1;
    for (std::size_t d = N; d-- > 0;) {
        strides[d] = next;
        next *= extents[d];
    }
    return strides;
}

/// Where a place lies in memory whose first element is at `low`.
template <std::size_t N>
[[nodiscard]] constexpr std::int64_t offset_of(const place<N>& p, const place<N>& low, const place<N>& strides) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < N; ++d) offset += (p[d] - low[d]) * strides[d];
    return offset;
}

/// Goes to the next place of a rectangle that is not empty, in row-major order; false, and back at the first, when there is none.
template <std::size_t N> constexpr bool next_place(place<N>& p, const rectangle<N>& within) {
    for (std::size_t d = N; d-- > 0;) {
        if (++p[d] < within.high[d]) return true;
        p[d] = within.low[d];
    }
    return false;
}

} // namespace craton::array
