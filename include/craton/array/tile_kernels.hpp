#pragma once

#include <craton/array/merge.hpp>
#include <craton/array/rectangle.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace craton::array {

/// Loops over rectangles in strided memory: what a dist_array does to a piece of a tile. Pure functions; strides are in elements,
/// of any sign.

/// Calls run(offset in a, offset in b, elements) for runs of the last dimension, as long as both memories run on.
template <std::size_t N, class Run>
void for_each_run(const place<N>& extents, const place<N>& a_strides, const place<N>& b_strides, Run&& run) {
    rectangle<N> outer{{}, extents};
    if (outer.empty()) return;
    std::int64_t length = extents[N - 1];
    outer.high[N - 1] = 1;
    for (std::size_t d = N - 1; d-- > 0;) {
        const bool runs_on = a_strides[d] == length * a_strides[N - 1] && b_strides[d] == length * b_strides[N - 1];
        if (!runs_on && extents[d] != 1) break;
        length *= extents[d];
        outer.high[d] = 1;
    }
    place<N> at{};
    do {
        run(offset_of(at, place<N>{}, a_strides), offset_of(at, place<N>{}, b_strides), length);
    } while (next_place(at, outer));
}

/// to += from; the memories do not overlap. A cache line at a time, which compilers turn into vector instructions without being
/// asked for their dearest optimisations.
template <class T> void add_run(T* __restrict to, const T* __restrict from, std::int64_t count) {
    constexpr auto lanes = std::max<std::int64_t>(1, 64 / static_cast<std::int64_t>(sizeof(T)));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        for (std::int64_t lane = 0; lane < lanes; ++lane) add_to(to[i + lane], from[i + lane]);
    }
    for (; i < count; ++i) add_to(to[i], from[i]);
}

/// to += from on a rectangle of such extents.
template <class T, std::size_t N>
void add_rectangle(const place<N>& extents, T* to, const place<N>& to_strides, const T* from, const place<N>& from_strides) {
    const std::int64_t to_step = to_strides[N - 1];
    const std::int64_t from_step = from_strides[N - 1];
    for_each_run(extents, to_strides, from_strides, [&](std::int64_t into, std::int64_t of, std::int64_t count) {
        if (to_step == 1 && from_step == 1) return add_run(to + into, from + of, count);
        for (std::int64_t i = 0; i < count; ++i) add_to(to[into + i * to_step], from[of + i * from_step]);
    });
}

/// The rectangle's elements one after the other, row major.
template <class T, std::size_t N>
void pack_rectangle(const place<N>& extents, const T* from, const place<N>& from_strides, T* packed) {
    const std::int64_t step = from_strides[N - 1];
    for_each_run(extents, from_strides, row_major_strides(extents), [&](std::int64_t of, std::int64_t into, std::int64_t count) {
        if (step == 1) {
            std::copy_n(from + of, count, packed + into);
            return;
        }
        for (std::int64_t i = 0; i < count; ++i) packed[into + i] = from[of + i * step];
    });
}

/// |element|, and its square, as a double.
template <class T> [[nodiscard]] double magnitude(const T& element) {
    if constexpr (std::is_arithmetic_v<T>) {
        return std::abs(static_cast<double>(element));
    } else {
        return std::abs(std::complex<double>(element));
    }
}
template <class T> [[nodiscard]] double squared_magnitude(const T& element) {
    if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<double>(element) * static_cast<double>(element);
    } else {
        return std::norm(std::complex<double>(element));
    }
}

/// What products of T are summed in.
template <class T> struct wide_sum_of {
    /// The type that products of T are summed in.
    using type = T;
};
template <> struct wide_sum_of<float> {
    using type = double;
};
template <> struct wide_sum_of<std::complex<float>> {
    using type = std::complex<double>;
};
/// That type.
template <class T> using wide_sum = typename wide_sum_of<T>::type;

/// sum += conj(a[i]) b[i] for all i; whole numbers modulo 2^64.
template <class T>
void add_products(std::type_identity_t<std::span<const T>> a, std::type_identity_t<std::span<const T>> b, wide_sum<T>& sum) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        if constexpr (std::is_integral_v<T>) {
            using bits = std::make_unsigned_t<T>;
            add_to(sum, static_cast<T>(static_cast<bits>(a[i]) * static_cast<bits>(b[i])));
        } else if constexpr (std::is_floating_point_v<T>) {
            sum += static_cast<wide_sum<T>>(a[i]) * static_cast<wide_sum<T>>(b[i]);
        } else {
            sum += std::conj(wide_sum<T>(a[i])) * wide_sum<T>(b[i]);
        }
    }
}

/// The largest |element| as a double; not a number where any element is none; 0 of nothing.
template <class T, std::size_t N>
[[nodiscard]] double largest_magnitude(const place<N>& extents, const T* from, const place<N>& strides) {
    double largest = 0;
    bool numbers = true;
    for_each_run(extents, strides, strides, [&](std::int64_t of, std::int64_t, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            const double size = magnitude(from[of + i * strides[N - 1]]);
            numbers = numbers && size == size;
            largest = std::max(largest, size);
        }
    });
    return numbers ? largest : std::nan("");
}

/// Cuts a rectangle along its slowest dimensions into parts of at most so many cells, in row-major order, and calls part(rectangle)
/// for each.
template <std::size_t N, class Part> void cut_rectangle(const rectangle<N>& what, std::int64_t most_cells, Part&& part) {
    const std::int64_t cells = what.cells();
    if (cells == 0) return;
    std::size_t d = 0;
    while (d + 1 < N && what.extent(d) == 1) ++d;
    if (cells <= most_cells || what.extent(d) == 1) return part(what);
    const std::int64_t step = std::max<std::int64_t>(1, most_cells / (cells / what.extent(d)));
    for (rectangle<N> next = what; next.low[d] < what.high[d]; next.low[d] = next.high[d]) {
        next.high[d] = std::min(what.high[d], next.low[d] + step);
        cut_rectangle(next, most_cells, part);
    }
}

} // namespace craton::array
