#pragma once

#include <craton/array/dist_array.hpp>

#include <cstdint>
#include <vector>

namespace craton::linalg {

/// Who does what is not done where the tiles lie: all ranks, on a block-cyclic copy (ScaLAPACK), or rank 0 alone, on a dense copy
/// (LAPACK). Small matrices have too little work for many (of order 970 one core needs 0.16 s, two 0.33 s), so `automatic` leaves
/// orders of up to 1024 to one rank, and so it is on one rank, and where the order is below the number of ranks whatever is asked
/// for.
enum class workers : std::uint8_t { automatic, one_rank, all_ranks };

// All are collective and blocking; arrays of any layouts, of one world, of float or double, are left to them until they return.
// Memory beyond the arrays: two or three times the elements of the matrix, over the ranks or on rank 0. All throw user_error on
// every rank when arrays are not square, of different orders or worlds, or one array twice, or where an element that is read is not
// finite (naming it).

/// The eigenvalues of a symmetric matrix, ascending, on every rank. Its upper triangle is read; nothing is overwritten.
template <class T>
[[nodiscard]] std::vector<double> symmetric_eigenvalues(const array::dist_array<T, 2>& matrix, workers who = workers::automatic);

/// The same with eigenvectors: column k of `vectors` becomes the one of unit length that belongs to eigenvalue k (divide and
/// conquer; about 9 n^3 flops at most). Throws also when the iteration does not converge.
template <class T>
[[nodiscard]] std::vector<double> symmetric_eigenproblem(const array::dist_array<T, 2>& matrix, array::dist_array<T, 2>& vectors,
                                                         workers who = workers::automatic);

/// L L^T = A of a symmetric positive-definite matrix, of which the upper triangle is read: `lower` becomes L, with zeros above its
/// diagonal. n^3/3 flops. Throws also when A is not positive definite (naming the order of the leading minor that is not).
template <class T>
void cholesky_factor(const array::dist_array<T, 2>& matrix, array::dist_array<T, 2>& lower, workers who = workers::automatic);

/// `inverse` becomes the inverse of a lower triangular matrix, with zeros above its diagonal; what the matrix has there is not
/// read. n^3/3 flops. Throws also when an element of the diagonal is zero (naming it).
template <class T>
void lower_triangular_inverse(const array::dist_array<T, 2>& lower, array::dist_array<T, 2>& inverse,
                              workers who = workers::automatic);

extern template std::vector<double> symmetric_eigenvalues(const array::dist_array<float, 2>&, workers);
extern template std::vector<double> symmetric_eigenvalues(const array::dist_array<double, 2>&, workers);
extern template std::vector<double> symmetric_eigenproblem(const array::dist_array<float, 2>&, array::dist_array<float, 2>&,
                                                           workers);
extern template std::vector<double> symmetric_eigenproblem(const array::dist_array<double, 2>&, array::dist_array<double, 2>&,
                                                           workers);
extern template void cholesky_factor(const array::dist_array<float, 2>&, array::dist_array<float, 2>&, workers);
extern template void cholesky_factor(const array::dist_array<double, 2>&, array::dist_array<double, 2>&, workers);
extern template void lower_triangular_inverse(const array::dist_array<float, 2>&, array::dist_array<float, 2>&, workers);
extern template void lower_triangular_inverse(const array::dist_array<double, 2>&, array::dist_array<double, 2>&, workers);

} // namespace craton::linalg
