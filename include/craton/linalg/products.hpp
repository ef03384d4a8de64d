#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::linalg {

/// A matrix or its transpose.
enum class form : std::uint8_t { plain, transposed };
/// On which side of the other factor a symmetric matrix stands.
enum class side : std::uint8_t { left, right };

// All collective and blocking; matrices must be committed and stay where they are (ScaLAPACK on the storage, no copy, no gather).
// Vectors are the same whole vector on every rank, and so are results. The matrices of one product must live in one world on one
// process grid; their blocks may differ. T is float or double.

/// op(A) x by p?gemv; 2 m n flops. Throws user_error when the length does not match.
template <class T>
[[nodiscard]] std::vector<double> product(const array::convergent_matrix<T>& a, std::span<const double> x,
                                          form a_form = form::plain);

/// A x of a symmetric matrix: of a convergent_matrix, which must be square, the upper triangle only is read (p?symv); a
/// symmetric_matrix is multiplied part by part, of float elements with x and all sums in double, so that a residual can be taken
/// with it. 2 n^2 flops. Throws as product().
template <class T>
[[nodiscard]] std::vector<double> symmetric_product(const array::convergent_matrix<T>& a, std::span<const double> x);
template <class T>
[[nodiscard]] std::vector<double> symmetric_product(const array::symmetric_matrix<T>& a, std::span<const double> x);

/// C = alpha op(A) op(B) + beta C by p?gemm; 2 m n k flops. With beta = 0 what C holds is not read. Throws user_error when shapes
/// or grids do not match, or C is A or B.
template <class T>
void product(T alpha, const array::convergent_matrix<T>& a, form a_form, const array::convergent_matrix<T>& b, form b_form, T beta,
             array::convergent_matrix<T>& c);

/// C = alpha A B + beta C (left) or alpha B A + beta C (right) for a symmetric A, by its upper triangle (p?symm). Otherwise as
/// product().
template <class T>
void symmetric_product(side a_side, T alpha, const array::convergent_matrix<T>& a, const array::convergent_matrix<T>& b, T beta,
                       array::convergent_matrix<T>& c);
template <class T>
void symmetric_product(side a_side, T alpha, const array::symmetric_matrix<T>& a, const array::convergent_matrix<T>& b, T beta,
                       array::convergent_matrix<T>& c);

extern template std::vector<double> product(const array::convergent_matrix<float>&, std::span<const double>, form);
extern template std::vector<double> product(const array::convergent_matrix<double>&, std::span<const double>, form);
extern template std::vector<double> symmetric_product(const array::convergent_matrix<float>&, std::span<const double>);
extern template std::vector<double> symmetric_product(const array::convergent_matrix<double>&, std::span<const double>);
extern template std::vector<double> symmetric_product(const array::symmetric_matrix<float>&, std::span<const double>);
extern template std::vector<double> symmetric_product(const array::symmetric_matrix<double>&, std::span<const double>);
extern template void product(float, const array::convergent_matrix<float>&, form, const array::convergent_matrix<float>&, form,
                             float, array::convergent_matrix<float>&);
extern template void product(double, const array::convergent_matrix<double>&, form, const array::convergent_matrix<double>&, form,
                             double, array::convergent_matrix<double>&);
extern template void symmetric_product(side, float, const array::convergent_matrix<float>&, const array::convergent_matrix<float>&,
                                       float, array::convergent_matrix<float>&);
extern template void symmetric_product(side, double, const array::convergent_matrix<double>&,
                                       const array::convergent_matrix<double>&, double, array::convergent_matrix<double>&);
extern template void symmetric_product(side, float, const array::symmetric_matrix<float>&, const array::convergent_matrix<float>&,
                                       float, array::convergent_matrix<float>&);
extern template void symmetric_product(side, double, const array::symmetric_matrix<double>&,
                                       const array::convergent_matrix<double>&, double, array::convergent_matrix<double>&);

} // namespace craton::linalg
