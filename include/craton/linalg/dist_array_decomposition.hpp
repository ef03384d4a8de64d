#pragma once

#include <craton/array/dist_array.hpp>
#include <craton/linalg/dist_array_factor.hpp>

#include <vector>

namespace craton::linalg {

// As in dist_array_factor.hpp: collective and blocking, arrays of any layouts, of one world, of float or double. By one rank where
// the shorter side is up to 1024, or `who` says so. All throw user_error on every rank when shapes or worlds do not fit, one array
// is given twice, an element that is read is not finite (naming it), or an iteration does not converge.

/// Q R = A of m x n elements, k = min(m, n): q becomes m x k with orthonormal columns, r becomes k x n with zeros below its
/// diagonal, whose signs are LAPACK's. Householder reflections (p?geqrf); 4 m n k flops at most.
template <class T>
void qr(const array::dist_array<T, 2>& matrix, array::dist_array<T, 2>& q, array::dist_array<T, 2>& r,
        workers who = workers::automatic);

/// U diag(s) V^T = A of m x n elements, k = min(m, n): the singular values, descending, on every rank; u becomes m x k, vt k x n,
/// with orthonormal columns and rows. By all ranks QR iteration (p?gesvd), by one divide and conquer (?gesdd).
template <class T>
[[nodiscard]] std::vector<double> svd(const array::dist_array<T, 2>& matrix, array::dist_array<T, 2>& u,
                                      array::dist_array<T, 2>& vt, workers who = workers::automatic);

/// A x = w B x of a symmetric A and a symmetric positive-definite B, both by their upper triangles: the eigenvalues, ascending, on
/// every rank; column k of `vectors` becomes the one that belongs to eigenvalue k, with x^T B x = 1. Throws also when B is not
/// positive definite (naming the order of the leading minor that is not).
template <class T>
[[nodiscard]] std::vector<double> symmetric_eigenproblem(const array::dist_array<T, 2>& matrix,
                                                         const array::dist_array<T, 2>& metric, array::dist_array<T, 2>& vectors,
                                                         workers who = workers::automatic);

extern template void qr(const array::dist_array<float, 2>&, array::dist_array<float, 2>&, array::dist_array<float, 2>&, workers);
extern template void qr(const array::dist_array<double, 2>&, array::dist_array<double, 2>&, array::dist_array<double, 2>&, workers);
extern template std::vector<double> svd(const array::dist_array<float, 2>&, array::dist_array<float, 2>&,
                                        array::dist_array<float, 2>&, workers);
extern template std::vector<double> svd(const array::dist_array<double, 2>&, array::dist_array<double, 2>&,
                                        array::dist_array<double, 2>&, workers);
extern template std::vector<double> symmetric_eigenproblem(const array::dist_array<float, 2>&, const array::dist_array<float, 2>&,
                                                           array::dist_array<float, 2>&, workers);
extern template std::vector<double> symmetric_eigenproblem(const array::dist_array<double, 2>&, const array::dist_array<double, 2>&,
                                                           array::dist_array<double, 2>&, workers);

} // namespace craton::linalg
