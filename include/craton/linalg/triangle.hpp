#pragma once

#include <craton/array/convergent_matrix.hpp>

#include <cstdint>

namespace craton::linalg {

/// Which half of a square matrix is meant, the diagonal included.
enum class triangle : std::uint8_t { upper, lower };

/// Overwrites a triangular matrix by its inverse in place (ScaLAPACK p?trtri); the other triangle is not referenced. n^3/3 flops
/// over the ranks. Collective, blocking; the matrix must be committed. Throws user_error on every rank when it is not square, its
/// blocks are not square, an element of the triangle is not finite, or an element of its diagonal is zero (naming it). T is float
/// or double.
template <class T> void invert_triangle(array::convergent_matrix<T>& matrix, triangle which);

extern template void invert_triangle(array::convergent_matrix<float>&, triangle);
extern template void invert_triangle(array::convergent_matrix<double>&, triangle);

} // namespace craton::linalg
