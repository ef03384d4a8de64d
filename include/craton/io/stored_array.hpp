#pragma once

#include <craton/array/block_cyclic.hpp>
#include <craton/array/convergent_matrix.hpp>
#include <craton/array/convergent_vector.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace craton::io {

/// Elements that files hold, by NumPy's names.
enum class element { float32, float64, complex64, complex128, int64, int32 };

/// The element that stands for T in files.
template <class T> struct element_of;
template <> struct element_of<float> {
    static constexpr element value = element::float32;
};
template <> struct element_of<double> {
    static constexpr element value = element::float64;
};
template <> struct element_of<std::complex<float>> {
    static constexpr element value = element::complex64;
};
template <> struct element_of<std::complex<double>> {
    static constexpr element value = element::complex128;
};
template <> struct element_of<std::int64_t> {
    static constexpr element value = element::int64;
};
template <> struct element_of<std::int32_t> {
    static constexpr element value = element::int32;
};

/// A rank's part of a distributed array as files see it, whatever its element type: what save and load need to know, and no more.
/// Names memory that it does not own.
struct stored_array {
    io::element element = io::element::float64;
    /// 2 for a matrix; 1 for a vector, which is laid out as the only column of a matrix.
    int dimensions = 2;
    array::block_cyclic layout;
    /// Column major, leading dimension layout.leading_dimension(rank).
    std::byte* elements = nullptr;
    /// Collective: all updates made before it have been applied.
    std::function<void()> commit;
};

/// Reading alone does not change the matrix; loading goes through the overload below it.
template <class T> [[nodiscard]] stored_array stored(const array::convergent_matrix<T>& matrix) {
    auto* const elements = const_cast<T*>(matrix.local().data()); // written only by load, which asks for a matrix that may change
    return {element_of<T>::value, 2, matrix.layout(), reinterpret_cast<std::byte*>(elements), {}};
}

/// An array as files see it, which must outlive the result.
template <class T> [[nodiscard]] stored_array stored(array::convergent_matrix<T>& matrix) {
    return {element_of<T>::value, 2, matrix.layout(), reinterpret_cast<std::byte*>(matrix.local().data()),
            [&matrix] { matrix.commit(); }};
}

/// The same of a vector.
template <class T> [[nodiscard]] stored_array stored(array::convergent_vector<T>& vector) {
    return {element_of<T>::value, 1, array::block_cyclic{vector.layout(), {1, 1, 1}},
            reinterpret_cast<std::byte*>(vector.local().data()), [&vector] { vector.commit(); }};
}

} // namespace craton::io
