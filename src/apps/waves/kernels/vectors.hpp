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

inline lanes all(float value) { return value - lanes{}; }

// a, b, a, b, ...
inline lanes alternating(float a, float b) {
    lanes both{};
    for (std::int64_t n = 0; n < lanes_per_vector; ++n) both[n] = (n & 1) == 0 ? a : b;
    return both;
}

/// All lanes of a vector.
struct whole_vector {
    [[gnu::always_inline]] static lanes load(const float* from) {
        return *reinterpret_cast<const lanes*>(from);
    } // NOLINT: floats as a vector
    [[gnu::always_inline]] static void store(float* to, lanes value) { *reinterpret_cast<lanes*>(to) = value; } // NOLINT
};

/// The first lanes of a vector: others are neither read, which another thread may be writing, nor written.
class part_of_vector {
  public:
#if defined(__AVX512F__)
    explicit part_of_vector(std::int64_t lanes_used) : mask_(static_cast<__mmask16>((1U << lanes_used) - 1)) {}
    [[gnu::always_inline]] lanes load(const float* from) const { return _mm512_maskz_loadu_ps(mask_, from); }
    [[gnu::always_inline]] void store(float* to, lanes value) const { _mm512_mask_storeu_ps(to, mask_, value); }

  private:
    __mmask16 mask_;
#elif defined(__AVX__)
    explicit part_of_vector(std::int64_t lanes_used) {
        alignas(32) std::int32_t used[lanes_per_vector];
        for (std::int64_t n = 0; n < lanes_per_vector; ++n) used[n] = n < lanes_used ? -1 : 0;
        mask_ = _mm256_load_si256(reinterpret_cast<const __m256i*>(used)); // NOLINT
    }
    [[gnu::always_inline]] lanes load(const float* from) const { return _mm256_maskload_ps(from, mask_); }
    [[gnu::always_inline]] void store(float* to, lanes value) const { _mm256_maskstore_ps(to, mask_, value); }

  private:
    __m256i mask_;
#else
    explicit part_of_vector(std::int64_t lanes_used) : used_(lanes_used) {}
    lanes load(const float* from) const {
        lanes value{};
        for (std::int64_t n = 0; n < used_; ++n) value[n] = from[n];
        return value;
    }
    void store(float* to, lanes value) const {
        for (std::int64_t n = 0; n < used_; ++n) to[n] = value[n];
    }

  private:
    std::int64_t used_;
#endif
};

/// what(vector, i) for the cells i0 <= i < i1 of a row, `vector` saying which of the lanes from i on are among them. Whole vectors begin at multiples of
/// lanes_per_vector, where cache lines do, and are most of a row: a first one, if i0 is none of these, and a last one may be parts.
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
