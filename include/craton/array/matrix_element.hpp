#pragma once

#include <complex>
#include <concepts>
#include <cstdint>

namespace craton::array {

/// What distributed matrices are instantiated for: another type would be found missing only when a program is linked.
template <class T>
inline constexpr bool is_matrix_element =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::complex<float>> ||
    std::same_as<T, std::complex<double>> || std::same_as<T, std::int64_t>;

} // namespace craton::array
