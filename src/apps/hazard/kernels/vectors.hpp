#pragma once

#include <cstdint>

// The processor's vectors.

namespace craton::hazard::detail {

#if defined(__AVX512F__)
inline constexpr std::int64_t bytes_per_vector = 64;
#elif defined(__AVX__)
inline constexpr std::int64_t bytes_per_vector = 32;
#else
inline constexpr std::int64_t bytes_per_vector = 16;
#endif
inline constexpr std::int64_t floats_per_vector = bytes_per_vector / sizeof(float);
inline constexpr std::int64_t doubles_per_vector = bytes_per_vector / sizeof(double);

using floats = float __attribute__((vector_size(bytes_per_vector)));
using doubles = double __attribute__((vector_size(bytes_per_vector)));

// The same at any address.
struct anywhere {
    using floats [[gnu::vector_size(bytes_per_vector), gnu::aligned(alignof(float)), gnu::may_alias]] = float;
    using doubles [[gnu::vector_size(bytes_per_vector), gnu::aligned(alignof(double)), gnu::may_alias]] = double;
};

[[gnu::always_inline]] inline floats load_floats(const float* from) { return *reinterpret_cast<const anywhere::floats*>(from); }
[[gnu::always_inline]] inline doubles load_doubles(const double* from) { return *reinterpret_cast<const anywhere::doubles*>(from); }
[[gnu::always_inline]] inline void store_floats(float* to, floats value) { *reinterpret_cast<anywhere::floats*>(to) = value; }
[[gnu::always_inline]] inline void store_doubles(double* to, doubles value) { *reinterpret_cast<anywhere::doubles*>(to) = value; }
inline floats all(float value) { return value - floats{}; }
inline doubles all(double value) { return value - doubles{}; }

} // namespace craton::hazard::detail
