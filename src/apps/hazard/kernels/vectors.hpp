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

struct vector_of_float {
    using type [[gnu::vector_size(bytes_per_vector), gnu::aligned(alignof(float)), gnu::may_alias]] = float;
};
struct vector_of_double {
    using type [[gnu::vector_size(bytes_per_vector), gnu::aligned(alignof(double)), gnu::may_alias]] = double;
};
using floats = vector_of_float::type;
using doubles = vector_of_double::type;

inline floats load_floats(const float* from) { return *reinterpret_cast<const floats*>(from); }     // NOLINT: floats as a vector
inline void store_floats(float* to, floats value) { *reinterpret_cast<floats*>(to) = value; }       // NOLINT
inline doubles load_doubles(const double* from) { return *reinterpret_cast<const doubles*>(from); } // NOLINT
inline void store_doubles(double* to, doubles value) { *reinterpret_cast<doubles*>(to) = value; }   // NOLINT
inline floats all(float value) { return value - floats{}; }
inline doubles all(double value) { return value - doubles{}; }

} // namespace craton::hazard::detail
