#pragma once

#include "index_bins.hpp"

#include <craton/array/merge.hpp>

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace craton::array {

// One column of an update meets one column of storage: dst[local[a]] += src[a]. Per element in float: 4 bytes of src read, and the
// cache line of dst read and written back. Where indices come in runs of two, a line serves about four elements, so the loops wait
// for memory, not for arithmetic. Two things help: to go through the column line by line (one load, one addition, one store for all
// the elements that a line has), and to ask for the lines of the next column (`next`) while this one is added. craton bench
// assembly measures them beside the plain loop.
//
// What adds returns how many times 2^64 the sums of whole numbers have lost (add_counting_wraps); 0 of other elements.

namespace detail {

/// The elements of a line that an update takes: bits of the line, and how many.
struct line_part {
    std::uint32_t taken;
    std::int32_t count;
};

/// Without the lowest `fewer` of them.
inline line_part drop_lowest(line_part part, std::int64_t fewer) {
    for (; fewer > 0; --fewer, --part.count) part.taken &= part.taken - 1;
    return part;
}

/// Only the lowest `count` of them.
inline line_part keep_lowest(line_part part, std::int64_t count) {
    const auto rest = drop_lowest(part, count);
    return {part.taken & ~rest.taken, static_cast<std::int32_t>(count)};
}

#ifdef __AVX512F__

// Masked loads and stores touch nothing but the elements taken: neither a neighbour's element nor memory past the end.
inline std::int64_t add_line(float* dst, const float* src, line_part part) {
    const auto lanes = static_cast<__mmask16>(part.taken);
    const auto packed = static_cast<__mmask16>((1U << part.count) - 1);
    const __m512 arriving = _mm512_maskz_expand_ps(lanes, _mm512_maskz_loadu_ps(packed, src));
    _mm512_mask_storeu_ps(dst, lanes, _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, dst), arriving));
    return 0;
}

inline __m512d add_lanes(__m512d a, __m512d b, const double*) { return _mm512_add_pd(a, b); }
inline __m512d add_lanes(__m512d a, __m512d b, const std::int64_t*) {
    return _mm512_castsi512_pd(_mm512_add_epi64(_mm512_castpd_si512(a), _mm512_castpd_si512(b)));
}
inline __m512d add_lanes(__m512d a, __m512d b, const std::complex<float>*) {
    return _mm512_castps_pd(_mm512_add_ps(_mm512_castpd_ps(a), _mm512_castpd_ps(b)));
}

inline std::int64_t wraps_of_lanes(__m512i before, __m512i arriving, __m512i after) {
    const __m512i sign = _mm512_set1_epi64(std::numeric_limits<std::int64_t>::min());
    const __m512i both = _mm512_and_si512(_mm512_xor_si512(before, after), _mm512_xor_si512(arriving, after));
    const std::uint32_t over = _mm512_test_epi64_mask(both, sign);
    if (over == 0) return 0;
    const std::uint32_t down = _mm512_test_epi64_mask(arriving, sign);
    return std::int64_t{std::popcount(over & ~down)} - std::popcount(over & down);
}

// Any element of eight bytes: moved as a double, added as what it is.
template <class T>
    requires(sizeof(T) == 8)
std::int64_t add_line(T* dst, const T* src, line_part part) {
    const auto lanes = static_cast<__mmask8>(part.taken);
    const auto packed = static_cast<__mmask8>((1U << part.count) - 1);
    const __m512d arriving = _mm512_maskz_expand_pd(lanes, _mm512_maskz_loadu_pd(packed, src));
    const __m512d there = _mm512_maskz_loadu_pd(lanes, dst);
    const __m512d sum = add_lanes(there, arriving, dst);
    _mm512_mask_storeu_pd(dst, lanes, sum);
    if constexpr (std::is_integral_v<T>)
        return wraps_of_lanes(_mm512_castpd_si512(there), _mm512_castpd_si512(arriving), _mm512_castpd_si512(sum));
    return 0;
}

#endif

/// Elements of a line side by side are added as vectors, others one by one.
template <class T> std::int64_t add_line(T* dst, const T* src, line_part part) {
    std::int64_t wraps = 0;
    const std::uint32_t lowest = part.taken & (~part.taken + 1);
    if (((part.taken + lowest) & part.taken) == 0) {
        T* const to = dst + std::countr_zero(part.taken);
        for (std::int32_t a = 0; a < part.count; ++a) wraps += add_counting_wraps(to[a], src[a]);
        return wraps;
    }
    for (std::uint32_t left = part.taken; left != 0; left &= left - 1)
        wraps += add_counting_wraps(dst[std::countr_zero(left)], *src++);
    return wraps;
}

// The first `count` elements, at most a line of them.
template <class T> T* copy_line(T* to, const T* from, std::int32_t count) {
#ifdef __AVX512F__
    if constexpr (sizeof(T) == 4) {
        const auto packed = static_cast<__mmask16>((1U << count) - 1);
        _mm512_mask_storeu_ps(to, packed, _mm512_maskz_loadu_ps(packed, from));
        return to + count;
    } else if constexpr (sizeof(T) == 8) {
        const auto packed = static_cast<__mmask8>((1U << count) - 1);
        _mm512_mask_storeu_pd(to, packed, _mm512_maskz_loadu_pd(packed, from));
        return to + count;
    }
#endif
    return std::copy_n(from, count, to);
}

} // namespace detail

/// What is merged after a column: the column of storage, and what would be place 0 of the list in its source.
template <class T> struct next_column {
    const T* dst;
    const T* src;
};

/// Elements in 64 bytes.
template <class T> inline constexpr std::int32_t line_elements = static_cast<std::int32_t>(64 / sizeof(T));

/// The twin that the other is tested against. Places may repeat.
template <class T> std::int64_t scatter_add_reference(T* dst, const T* src, const std::int32_t* local, std::int64_t count) {
    std::int64_t wraps = 0;
    for (std::int64_t a = 0; a < count; ++a) wraps += add_counting_wraps(dst[local[a]], src[a]);
    return wraps;
}

/// Where a column of an update lies: element a of the list at src[a], or at src[position of a] in the caller's block.
enum class source_order : bool { by_number, by_position };

namespace detail {

// Calls what(line, elements taken, where they stand in the source) for the lines, or parts of them, of places first ... last - 1.
template <source_order order, class What>
void for_each_line(std::span<const place_line> lines, std::int64_t first, std::int64_t last, const What& what) {
    auto line = lines.begin();
    if (first > 0) {
        line = std::partition_point(line, lines.end(), [&](const place_line& l) { return l.first + l.count <= first; });
    }
    for (; line != lines.end() && line->first < last; ++line) {
        std::int64_t from = order == source_order::by_number ? line->first : line->position;
        line_part part{line->taken, line->count};
        if (line->first + part.count > last) part = keep_lowest(part, last - line->first);
        if (line->first < first) {
            part = drop_lowest(part, first - line->first);
            from += first - line->first;
        }
        what(*line, part, from);
    }
}

} // namespace detail

/// Adds to places first ... last - 1 of an ascending list of distinct ones, cut into lines of line_elements<T>.
template <source_order order, class T>
std::int64_t scatter_add_lines(T* dst, const T* src, std::span<const place_line> lines, std::int64_t first, std::int64_t last,
                               const next_column<T>& next) {
    std::int64_t wraps = 0;
    detail::for_each_line<order>(lines, first, last, [&](const place_line& line, detail::line_part part, std::int64_t from) {
        __builtin_prefetch(next.dst + line.local, 0, 3);
        __builtin_prefetch(next.src + from, 0, 3);
        wraps += detail::add_line(dst + line.local, src + from, part);
    });
    return wraps;
}

/// Copies the source of the same places, found by position, to `to`; returns where they end. `next`: the column that is
/// copied after it.
template <class T>
T* copy_lines(T* to, const T* block, std::span<const place_line> lines, std::int64_t first, std::int64_t last, const T* next) {
    detail::for_each_line<source_order::by_position>(lines, first, last,
                                                     [&](const place_line&, detail::line_part part, std::int64_t from) {
                                                         __builtin_prefetch(next + from, 0, 3);
                                                         to = detail::copy_line(to, block + from, part.count);
                                                     });
    return to;
}

/// Places of one target's rows, and what is known about them.
struct scatter_places {
    std::span<const std::int32_t> local;
    std::span<const place_line> lines; ///< of distinct places only
    bool distinct = true;
    bool lines_side_by_side = true; ///< within every line the caller's positions count up by one

    /// Enough that to copy line by line is quicker than one by one.
    [[nodiscard]] bool many_per_line() const { return 4 * lines.size() <= local.size(); }
};

/// As merge_column(), for sums into distinct places with lines, from the caller's block as it lies: place a at block[position of
/// a].
template <class T>
std::int64_t add_column_by_position(T* dst, const T* block, const scatter_places& places, std::int64_t first, std::int64_t last,
                                    const next_column<T>& next) {
    return scatter_add_lines<source_order::by_position>(dst, block, places.lines, first, last, next);
}

/// Merges src[first ... last) into places first ... last of a column of storage.
template <class T>
std::int64_t merge_column(const merge<T>& operation, T* dst, const T* src, const scatter_places& places, std::int64_t first,
                          std::int64_t last, const next_column<T>& next) {
    const std::int32_t* const local = places.local.data() + first;
    const std::int64_t count = last - first;
    if (operation.kind() == merge_kind::add && !places.lines.empty()) {
        return scatter_add_lines<source_order::by_number>(dst, src, places.lines, first, last, next);
    }
    src += first;
    switch (operation.kind()) {
    case merge_kind::add:
        return scatter_add_reference(dst, src, local, count);
    case merge_kind::minimum:
        if constexpr (std::is_arithmetic_v<T>) {
            for (std::int64_t a = 0; a < count; ++a) dst[local[a]] = std::min(dst[local[a]], src[a]);
        }
        return 0;
    case merge_kind::maximum:
        if constexpr (std::is_arithmetic_v<T>) {
            for (std::int64_t a = 0; a < count; ++a) dst[local[a]] = std::max(dst[local[a]], src[a]);
        }
        return 0;
    case merge_kind::custom:
        if (!places.distinct) {
            for (std::int64_t a = 0; a < count; ++a) operation.combine()(std::span(dst + local[a], 1), std::span(src + a, 1));
            return 0;
        }
        thread_local std::vector<T> there;
        there.resize(static_cast<std::size_t>(count));
        for (std::int64_t a = 0; a < count; ++a) there[static_cast<std::size_t>(a)] = dst[local[a]];
        operation.combine()(there, std::span(src, static_cast<std::size_t>(count)));
        for (std::int64_t a = 0; a < count; ++a) dst[local[a]] = there[static_cast<std::size_t>(a)];
        return 0;
    }
    return 0;
}

} // namespace craton::array
