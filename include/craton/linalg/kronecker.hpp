#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/base/matrix_view.hpp>

namespace craton::linalg {

/// Adds scale * (outer (x) inner) to the upper triangle of a square convergent matrix: element (a*ni + i, b*ni + j) +=
/// scale * outer(a, b) * inner(i, j), ni = rows of inner. Each rank adds to its own storage: no communication, N^2/(2P) products.
/// The factors must be the same on every rank and the matrix committed; commit() again before the next update() or read(), since
/// a neighbour may add while this rank still does. Throws user_error when the sizes do not multiply to the matrix's.
template <class T>
void add_kronecker(array::convergent_matrix<T>& matrix, base::matrix_view<const double> outer,
                   base::matrix_view<const double> inner, double scale);

extern template void add_kronecker(array::convergent_matrix<float>&, base::matrix_view<const double>,
                                   base::matrix_view<const double>, double);
extern template void add_kronecker(array::convergent_matrix<double>&, base::matrix_view<const double>,
                                   base::matrix_view<const double>, double);

/// Copies a committed matrix into another of the same layout, converting its elements. Local on every rank; commit() both before the next
/// update() or read().
template <class To, class From> void copy_elements(const array::convergent_matrix<From>& from, array::convergent_matrix<To>& to);

extern template void copy_elements(const array::convergent_matrix<float>&, array::convergent_matrix<double>&);
extern template void copy_elements(const array::convergent_matrix<double>&, array::convergent_matrix<double>&);

} // namespace craton::linalg
