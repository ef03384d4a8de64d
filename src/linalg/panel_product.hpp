#pragma once

#include <craton/base/aligned_vector.hpp>
#include <craton/base/up_to_multiple.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace craton::linalg {

// Products of the columns of a k x n panel with each other, tile by tile. The whole panel is packed once and then serves on both
// sides of every tile, where a general matrix product would pack both sides anew for each. Every element is summed over the samples
// in their order, by the same instructions wherever it falls in a tile: its bits do not depend on how an update is cut among ranks.

namespace detail {

// Vectors of the processor: accumulators for 3 x 8 of them fill AVX-512's 32 registers, 2 x 6 those of AVX2.
#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
inline constexpr int vectors_high = 3, columns_wide = 8;
#elif defined(__AVX__)
inline constexpr std::size_t vector_bytes = 32;
inline constexpr int vectors_high = 2, columns_wide = 6;
#else
inline constexpr std::size_t vector_bytes = 16;
inline constexpr int vectors_high = 2, columns_wide = 4;
#endif

template <class T> struct vector_of {
    using type [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};

} // namespace detail

/// A k x n panel in strips of strip_height() columns of G: column r, sample t lies at values[(r / h * k + t) * h + r % h].
template <class T> class packed_panel {
  public:
    static constexpr std::int64_t strip_height() {
        return detail::vectors_high * static_cast<std::int64_t>(detail::vector_bytes / sizeof(T));
    }

    packed_panel() = default;
    /// Room for n columns of k samples; none packed yet.
    packed_panel(std::int64_t n, std::int64_t k) { reshape(n, k); }
    /// The same in the memory that is there, where it is enough. What was packed is lost.
    void reshape(std::int64_t n, std::int64_t k) {
        constexpr std::int64_t h = strip_height();
        k_ = k;
        values_.resize(static_cast<std::size_t>(base::up_to_multiple(n, h) * k));
    }

    [[nodiscard]] std::int64_t samples() const { return k_; }
    /// Packs columns first ... first + count of an array with the columns of G contiguous (leading dimension ld) as columns `to`
    /// ... of this.
    void pack(const T* g, std::int64_t ld, std::int64_t first, std::int64_t count, std::int64_t to) {
        constexpr std::int64_t h = strip_height();
        for (std::int64_t done = 0; done < count;) {
            const std::int64_t row = to + done;
            const std::int64_t length = std::min(h - row % h, count - done);
            T* strip = values_.data() + row / h * h * k_ + row % h;
            for (std::int64_t t = 0; t < k_; ++t) std::copy_n(g + t * ld + first + done, length, strip + t * h);
            done += length;
        }
    }
    /// The same for columns of another packed panel, in any order.
    void gather(const packed_panel& from, std::span<const std::int32_t> columns, std::int64_t to) {
        constexpr std::int64_t h = strip_height();
        for (const auto column : columns) {
            T* const there = values_.data() + to / h * h * k_ + to % h;
            const T* const here = from.column(column);
            for (std::int64_t t = 0; t < k_; ++t) there[t * h] = here[t * h];
            ++to;
        }
    }

    [[nodiscard]] const T* strip(std::int64_t s) const { return values_.data() + s * strip_height() * k_; }
    /// Sample t of a column lies t * strip_height() further.
    [[nodiscard]] const T* column(std::int64_t r) const { return strip(r / strip_height()) + r % strip_height(); }

  private:
    std::int64_t k_ = 0;
    base::aligned_vector<T> values_;
};

namespace detail {

/// out[c][r] = sum over t of strip[t][r] * columns[c][t] for strip_height() rows and columns_wide columns.
/// Per sample vectors_high * columns_wide multiply-adds on vectors against vectors_high + columns_wide loads.
template <class T>
void multiply_strip(const T* strip, const std::array<const T*, columns_wide>& columns, std::int64_t k,
                    const std::array<T*, columns_wide>& out) {
    using vec = typename vector_of<T>::type;
    constexpr std::int64_t h = packed_panel<T>::strip_height();
    constexpr auto lanes = static_cast<std::int64_t>(vector_bytes / sizeof(T));
    vec sums[columns_wide][vectors_high] = {}; // registers
    for (std::int64_t t = 0; t < k; ++t) {
        vec high[vectors_high]; // registers
#pragma GCC unroll 8
        for (int v = 0; v < vectors_high; ++v) high[v] = *reinterpret_cast<const vec*>(strip + t * h + v * lanes);
#pragma GCC unroll 8
        for (int c = 0; c < columns_wide; ++c) {
            const T factor = columns[static_cast<std::size_t>(c)][t * h];
#pragma GCC unroll 8
            for (int v = 0; v < vectors_high; ++v) sums[c][v] += high[v] * factor;
        }
    }
#pragma GCC unroll 8
    for (int c = 0; c < columns_wide; ++c) {
#pragma GCC unroll 8
        for (int v = 0; v < vectors_high; ++v) {
            *reinterpret_cast<vec*>(out[static_cast<std::size_t>(c)] + v * lanes) = sums[c][v];
        }
    }
}

} // namespace detail

/// to[a + b * stride] = column(first + a) . column(cols[b]) for a < count: `left` and `right` have the same samples.
/// 2 k flops per element; a strip of `left` and all of the tile's columns stay in the first-level cache.
/// `ahead(row, rows, col, cols)` is called before each small rectangle of the tile is computed.
template <class T, class Ahead>
void multiply_tile(const packed_panel<T>& left, std::int64_t first, std::int64_t count, const packed_panel<T>& right,
                   std::span<const std::int32_t> cols, T* to, std::int64_t stride, const Ahead& ahead) {
    constexpr std::int64_t h = packed_panel<T>::strip_height();
    constexpr auto wide = static_cast<std::size_t>(detail::columns_wide);
    alignas(64) std::array<std::array<T, static_cast<std::size_t>(h)>, detail::columns_wide> apart;
    std::array<const T*, detail::columns_wide> columns;
    std::array<T*, detail::columns_wide> out;
    for (std::int64_t s = first / h; s * h < first + count; ++s) {
        const std::int64_t begin = std::max(first, s * h);
        const std::int64_t end = std::min(first + count, (s + 1) * h);
        for (std::size_t b = 0; b < cols.size(); b += wide) {
            ahead(begin - first, end - begin, static_cast<std::int64_t>(b),
                  static_cast<std::int64_t>(std::min(wide, cols.size() - b)));
            // At the edges of the tile the product is made apart, and what belongs to the tile is copied.
            const bool whole = end - begin == h && b + wide <= cols.size();
            for (std::size_t c = 0; c < wide; ++c) {
                columns[c] = right.column(cols[std::min(b + c, cols.size() - 1)]);
                out[c] = whole ? to + (begin - first) + static_cast<std::int64_t>(b + c) * stride : apart[c].data();
            }
            detail::multiply_strip(left.strip(s), columns, left.samples(), out);
            for (std::size_t c = 0; !whole && c < wide && b + c < cols.size(); ++c) {
                std::memcpy(to + (begin - first) + static_cast<std::int64_t>(b + c) * stride, apart[c].data() + (begin - s * h),
                            static_cast<std::size_t>(end - begin) * sizeof(T));
            }
        }
    }
}

template <class T>
void multiply_tile(const packed_panel<T>& left, std::int64_t first, std::int64_t count, const packed_panel<T>& right,
                   std::span<const std::int32_t> cols, T* to, std::int64_t stride) {
    multiply_tile(left, first, count, right, cols, to, stride, [](std::int64_t, std::int64_t, std::int64_t, std::int64_t) {});
}

/// The twin it is tested against.
template <class T>
void multiply_tile_reference(const packed_panel<T>& left, std::int64_t first, std::int64_t count, const packed_panel<T>& right,
                             std::span<const std::int32_t> cols, T* to, std::int64_t stride) {
    constexpr std::int64_t h = packed_panel<T>::strip_height();
    for (std::size_t b = 0; b < cols.size(); ++b) {
        for (std::int64_t a = 0; a < count; ++a) {
            T sum = 0;
            for (std::int64_t t = 0; t < left.samples(); ++t) sum += left.column(first + a)[t * h] * right.column(cols[b])[t * h];
            to[a + static_cast<std::int64_t>(b) * stride] = sum;
        }
    }
}

} // namespace craton::linalg
