#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/base/matrix_view.hpp>

#include <cstdint>

namespace craton::linalg {

/// Adds scale * (outer (x) inner) to the upper triangle of a square matrix, in the diagonal block that begins at `offset`: element
/// (offset + a*ni + i, offset + b*ni + j) += scale * outer(a, b) * inner(i, j), ni = rows of inner. Each rank adds to its own
/// storage: no communication, N^2/(2P) products for a block of order N. The factors must be the same on every rank and the matrix
/// committed; commit() again before the next update() or read(), since a neighbour may add while this rank still does. Throws
/// user_error when the block does not lie within the matrix.
template <class T>
void add_kronecker(array::convergent_matrix<T>& matrix, base::matrix_view<const double> outer,
                   base::matrix_view<const double> inner, double scale, std::int64_t offset = 0);
template <class T>
void add_kronecker(array::symmetric_matrix<T>& matrix, base::matrix_view<const double> outer, base::matrix_view<const double> inner,
                   double scale, std::int64_t offset = 0);

/// The same with an outer factor that is too large for one rank: it is dealt over the ranks of the matrix's world, and each reads
/// the elements that its own part takes, a column at a time: N_outer^2 / P of them. Collective and blocking; both committed.
template <class T>
void add_kronecker(array::symmetric_matrix<T>& matrix, const array::symmetric_matrix<double>& outer,
                   base::matrix_view<const double> inner, double scale, std::int64_t offset = 0);

extern template void add_kronecker(array::convergent_matrix<float>&, base::matrix_view<const double>,
                                   base::matrix_view<const double>, double, std::int64_t);
extern template void add_kronecker(array::convergent_matrix<double>&, base::matrix_view<const double>,
                                   base::matrix_view<const double>, double, std::int64_t);
extern template void add_kronecker(array::symmetric_matrix<float>&, base::matrix_view<const double>,
                                   base::matrix_view<const double>, double, std::int64_t);
extern template void add_kronecker(array::symmetric_matrix<double>&, base::matrix_view<const double>,
                                   base::matrix_view<const double>, double, std::int64_t);

extern template void add_kronecker(array::symmetric_matrix<float>&, const array::symmetric_matrix<double>&,
                                   base::matrix_view<const double>, double, std::int64_t);
extern template void add_kronecker(array::symmetric_matrix<double>&, const array::symmetric_matrix<double>&,
                                   base::matrix_view<const double>, double, std::int64_t);

/// Copies a committed matrix into another of the same layout, converting its elements. Local on every rank; commit() both before
/// the next update() or read().
template <class To, class From> void copy_elements(const array::convergent_matrix<From>& from, array::convergent_matrix<To>& to);

extern template void copy_elements(const array::convergent_matrix<float>&, array::convergent_matrix<double>&);
extern template void copy_elements(const array::convergent_matrix<double>&, array::convergent_matrix<double>&);

} // namespace craton::linalg
