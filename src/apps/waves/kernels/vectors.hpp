#pragma once

#include <craton/apps/waves/kernels/fields.hpp>

#include <algorithm>
#include <cstdint>

#ifdef __AVX__
#include <immintrin.h>
#endif

// Rows of cells, a vector of the processor at a time.

namespace craton::waves::detail {

// Wider vectors than the processor's could not be passed in registers.
#if defined(__AVX512F__)
inline constexpr std::int64_t lanes_per_vector = 16;
#elif defined(__AVX__)
inline constexpr std::int64_t lanes_per_vector = 8;
#else
inline constexpr std::int64_t lanes_per_vector = 4;
#endif
struct lanes_of_float {
    using type [[gnu::vector_size(lanes_per_vector * sizeof(float)), gnu::aligned(alignof(float)), gnu::may_alias]] = float;
};
using lanes = lanes_of_float::type;

/// Of as many cells, a word each.
struct words_of_cells {
    using type
        [[gnu::vector_size(lanes_per_vector * sizeof(std::uint32_t)), gnu::aligned(alignof(std::uint32_t)), gnu::may_alias]] =
            std::uint32_t;
};
using words_of_bits = words_of_cells::type;
[[gnu::always_inline]] inline words_of_bits load_words(const std::uint32_t* from) {
    return *reinterpret_cast<const words_of_bits*>(from);
}

inline lanes all(float value) { return value - lanes{}; }

/// The vector from element n on: also lanes that are then not used, which lie in the array or in its padding and which nobody
/// writes.
[[gnu::always_inline]] inline lanes load(const compact_field& field, std::int64_t n) {
    const std::uint16_t* const from = field.first + n;
#if defined(__AVX512F__)
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return all(field.unit) * static_cast<lanes>(_mm512_mask_cvtph_ps(_mm512_setzero_ps(), 0xFFFF, bits));
#elif defined(__AVX__) && defined(__F16C__)
    return all(field.unit) * static_cast<lanes>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
    lanes value{};
    for (std::int64_t lane = 0; lane < lanes_per_vector; ++lane) value[lane] = from_half(from[lane]);
    return all(field.unit) * value;
#endif
}

// a b + c, rounded once where the processor does that. Said explicitly, as a compiler's own choices may differ between whole
// vectors and parts, and so between ranges.
[[gnu::always_inline]] inline lanes multiply_add(lanes a, lanes b, lanes c) {
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX__) && defined(__FMA__)
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

// a, b, a, b, ...
inline lanes alternating(float a, float b) {
    lanes both{};
    for (std::int64_t n = 0; n < lanes_per_vector; ++n) both[n] = (n & 1) == 0 ? a : b;
    return both;
}

/// Some lanes of a vector: others are neither read, which another thread may be writing, nor written.
class part_of_vector {
  public:
    /// The first ones.
    explicit part_of_vector(std::int64_t lanes_used) : part_of_vector(0, lanes_used) {}
    /// first <= lane < last, of those that there are.
    [[gnu::always_inline]] part_of_vector(std::int64_t first, std::int64_t last)
        : part_of_vector(clipped{}, std::clamp<std::int64_t>(first, 0, lanes_per_vector),
                         std::clamp<std::int64_t>(last, 0, lanes_per_vector)) {}

#if defined(__AVX512F__)
    [[gnu::always_inline]] lanes load(const float* from) const { return _mm512_maskz_loadu_ps(mask_, from); }
    [[gnu::always_inline]] void store(float* to, lanes value) const { _mm512_mask_storeu_ps(to, mask_, value); }
    [[nodiscard]] [[gnu::always_inline]] part_of_vector operator&(const part_of_vector& other) const {
        part_of_vector both = *this;
        both.mask_ = static_cast<__mmask16>(mask_ & other.mask_);
        return both;
    }

  private:
    struct clipped {};
    [[gnu::always_inline]] part_of_vector(clipped, std::int64_t first, std::int64_t last)
        : mask_(static_cast<__mmask16>(((1U << last) - 1) & ~((1U << first) - 1))) {}
    __mmask16 mask_;
#elif defined(__AVX__)
    [[gnu::always_inline]] lanes load(const float* from) const { return _mm256_maskload_ps(from, mask_); }
    [[gnu::always_inline]] void store(float* to, lanes value) const { _mm256_maskstore_ps(to, mask_, value); }
    [[nodiscard]] part_of_vector operator&(const part_of_vector& other) const {
        part_of_vector both = *this;
        both.mask_ = _mm256_castps_si256(_mm256_and_ps(_mm256_castsi256_ps(mask_), _mm256_castsi256_ps(other.mask_)));
        return both;
    }

  private:
    struct clipped {};
    part_of_vector(clipped, std::int64_t first, std::int64_t last) {
        alignas(32) std::int32_t used[lanes_per_vector];
        for (std::int64_t n = 0; n < lanes_per_vector; ++n) used[n] = n >= first && n < last ? -1 : 0;
        mask_ = _mm256_load_si256(reinterpret_cast<const __m256i*>(used));
    }
    __m256i mask_;
#else
    lanes load(const float* from) const {
        lanes value{};
        for (std::int64_t n = first_; n < last_; ++n) value[n] = from[n];
        return value;
    }
    void store(float* to, lanes value) const {
        for (std::int64_t n = first_; n < last_; ++n) to[n] = value[n];
    }
    [[nodiscard]] part_of_vector operator&(const part_of_vector& other) const {
        return {std::max(first_, other.first_), std::min(last_, other.last_)};
    }

  private:
    struct clipped {};
    part_of_vector(clipped, std::int64_t first, std::int64_t last) : first_(first), last_(last) {}
    std::int64_t first_, last_;
#endif
};

/// All lanes of a vector.
struct whole_vector {
    [[gnu::always_inline]] static lanes load(const float* from) {
        return *reinterpret_cast<const lanes*>(from);
    } // floats as a vector
    [[gnu::always_inline]] static void store(float* to, lanes value) { *reinterpret_cast<lanes*>(to) = value; }
    [[nodiscard]] [[gnu::always_inline]] part_of_vector operator&(const part_of_vector& other) const { return other; }
};

// To be read, and perhaps written, eight vectors of 16 floats from now, by a sweep that is the first to need it: what fetches ahead
// by itself starts anew with each page of each array. Once per cache line: rows begin at lines, n counts from there.
[[gnu::always_inline]] inline bool begins_a_line(std::int64_t n) { return lanes_per_vector >= 16 || n % 16 < lanes_per_vector; }
[[gnu::always_inline]] inline void fetch_ahead(const float* now) { __builtin_prefetch(now + 128, 1, 2); }
// As far ahead in cells, and so once for two lines of floats.
[[gnu::always_inline]] inline void fetch_ahead(const compact_field& of, std::int64_t n) {
    if (n % 32 < 16) __builtin_prefetch(of.first + n + 128, 0, 2);
}

/// what(vector, i) for the cells i0 <= i < i1 of a row, `vector` saying which of the lanes from i on are among them. Whole vectors
/// begin at multiples of lanes_per_vector, where cache lines do, and are most of a row: a first one, if i0 is none of these, and a
/// last one may be parts.
template <class What> [[gnu::always_inline]] inline void for_vectors(std::int64_t i0, std::int64_t i1, const What& what) {
    std::int64_t i = i0;
    if (const std::int64_t behind = i0 % lanes_per_vector; behind != 0) {
        i = std::min(i0 + lanes_per_vector - behind, i1);
        what(part_of_vector(i - i0), i0);
    }
    for (; i + lanes_per_vector <= i1; i += lanes_per_vector) what(whole_vector{}, i);
    if (i < i1) what(part_of_vector(i1 - i), i);
}

} // namespace craton::waves::detail
