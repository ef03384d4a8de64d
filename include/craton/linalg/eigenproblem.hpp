#pragma once

#include <craton/array/convergent_matrix.hpp>

#include <vector>

namespace craton::linalg {

/// The eigenvalues of a symmetric matrix, ascending, on every rank. Its upper triangle is read, and its storage overwritten:
/// reduction to tridiagonal form in place (4 n^3/3 flops over the ranks), then QR iteration without vectors (ScaLAPACK p?syev).
/// Collective, blocking; the matrix must be committed. A symmetric_matrix is expanded first (symmetric_matrix::expand): ScaLAPACK
/// reduces full storage only. Throws user_error on every rank when the matrix is not square, its blocks are not square, an element
/// of the triangle is not finite, or the iteration does not converge. T is float or double.
template <class T> [[nodiscard]] std::vector<double> symmetric_eigenvalues(array::convergent_matrix<T>& matrix);

/// The same with eigenvectors: column k of `vectors` becomes the one of unit length that belongs to eigenvalue k (divide and
/// conquer, ScaLAPACK p?syevd; about 9 n^3 flops at most, and some 2 n^2 elements of workspace over the ranks). `vectors` is of the
/// matrix's layout; what it held is lost. Throws as symmetric_eigenvalues(), and when the layouts differ or the two are one matrix.
template <class T>
[[nodiscard]] std::vector<double> symmetric_eigenproblem(array::convergent_matrix<T>& matrix, array::convergent_matrix<T>& vectors);

extern template std::vector<double> symmetric_eigenvalues(array::convergent_matrix<float>&);
extern template std::vector<double> symmetric_eigenvalues(array::convergent_matrix<double>&);
extern template std::vector<double> symmetric_eigenproblem(array::convergent_matrix<float>&, array::convergent_matrix<float>&);
extern template std::vector<double> symmetric_eigenproblem(array::convergent_matrix<double>&, array::convergent_matrix<double>&);

} // namespace craton::linalg
