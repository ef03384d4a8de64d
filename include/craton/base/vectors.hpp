#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// The processor's vectors, for loops that the compiler does not make vectors of by itself.

namespace craton::simd {

// Code of other flags has other vectors, and another namespace.
#if defined(__AVX512F__)
inline namespace of_64_bytes {
inline constexpr std::int64_t bytes_per_vector = 64; ///< as the compiler's flags allow
#elif defined(__AVX__)
inline namespace of_32_bytes {
inline constexpr std::int64_t bytes_per_vector = 32; ///< as the compiler's flags allow
#else
inline namespace of_16_bytes {
inline constexpr std::int64_t bytes_per_vector = 16; ///< as the compiler's flags allow
#endif
/// Of one vector.
inline constexpr std::int64_t floats_per_vector = bytes_per_vector / sizeof(float);
inline constexpr std::int64_t doubles_per_vector = bytes_per_vector / sizeof(double);

/// A vector whose address is a multiple of its size.
using floats = float __attribute__((vector_size(bytes_per_vector)));
using doubles = double __attribute__((vector_size(bytes_per_vector)));

/// The same at any address.
struct anywhere {
    /// Vectors of any alignment, in memory of any type.
    using floats [[gnu::vector_size(bytes_per_vector), gnu::aligned(alignof(float)), gnu::may_alias]] = float;
    using doubles [[gnu::vector_size(bytes_per_vector), gnu::aligned(alignof(double)), gnu::may_alias]] = double;
};

/// From and to any address.
[[gnu::always_inline]] inline floats load_floats(const float* from) { return *reinterpret_cast<const anywhere::floats*>(from); }
[[gnu::always_inline]] inline doubles load_doubles(const double* from) { return *reinterpret_cast<const anywhere::doubles*>(from); }
[[gnu::always_inline]] inline void store_floats(float* to, floats value) { *reinterpret_cast<anywhere::floats*>(to) = value; }
[[gnu::always_inline]] inline void store_doubles(double* to, doubles value) { *reinterpret_cast<anywhere::doubles*>(to) = value; }
inline floats all(float value) { return value - floats{}; }
inline doubles all(double value) { return value - doubles{}; }

/// Without errno, which std::sqrt sets and which keeps it out of vectors.
[[gnu::always_inline]] inline doubles square_root(doubles of) {
#if defined(__AVX512F__)
    return _mm512_maskz_sqrt_pd(0xff, of); // the plain one's own code warns of what it leaves undefined
#elif defined(__AVX__)
    return _mm256_sqrt_pd(of);
#elif defined(__SSE2__)
    return _mm_sqrt_pd(of);
#else
    for (std::int64_t lane = 0; lane < doubles_per_vector; ++lane) of[lane] = __builtin_sqrt(of[lane]);
    return of;
#endif
}

/// Values is doubles or one double: what is written for both is a loop of vectors and its last few passes.
template <class Values> [[gnu::always_inline]] inline Values load(const double* from) {
    if constexpr (sizeof(Values) == sizeof(double)) {
        return *from;
    } else {
        return load_doubles(from);
    }
}
template <class Values> [[gnu::always_inline]] inline void store(double* to, Values value) {
    if constexpr (sizeof(Values) == sizeof(double)) {
        *to = value;
    } else {
        store_doubles(to, value);
    }
}
/// Sum of what such a loop adds.
struct lane_sum {
    doubles lanes{};
    double rest = 0;

    /// A vector of values, or one.
    void add(doubles value) { lanes += value; }
    void add(double value) { rest += value; }
    [[nodiscard]] double total() const {
        double sum = rest;
        for (std::int64_t lane = 0; lane < doubles_per_vector; ++lane) sum += lanes[lane];
        return sum;
    }
};

/// `visit.operator()<doubles>(i)` for as many whole vectors as there are from first to last - 1, then the same of single doubles.
template <class Visit> inline void for_doubles(std::size_t first, std::size_t last, const Visit& visit) {
    constexpr auto lanes = static_cast<std::size_t>(doubles_per_vector);
    std::size_t i = first;
    for (; i + lanes <= last; i += lanes) visit.template operator()<doubles>(i);
    for (; i < last; ++i) visit.template operator()<double>(i);
}
/// The same where it does no harm to visit a place twice: the last whole vector reaches back.
template <class Visit> inline void for_doubles_or_twice(std::size_t first, std::size_t last, const Visit& visit) {
    constexpr auto lanes = static_cast<std::size_t>(doubles_per_vector);
    if (first + lanes > last) return for_doubles(first, last, visit);
    for (std::size_t i = first; i + lanes <= last; i += lanes) visit.template operator()<doubles>(i);
    if ((last - first) % lanes != 0) visit.template operator()<doubles>(last - lanes);
}

} // namespace of_..._bytes
} // namespace craton::simd
