#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/linalg/process_context.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::linalg {

/// U^T U = A of a symmetric positive-definite matrix, in place in the matrix's own storage: its upper triangle is read and
/// overwritten by the factor, a panel of some hundred rows after the other. n^3/3 flops over the ranks; besides the matrix there
/// is memory for panels only. On one rank LAPACK factors it with the threads of its BLAS.
///
/// Of a convergent_matrix the lower triangle has no influence and stays as it is. A symmetric_matrix, which has none, is factored
/// in its half of the memory (Gustavson et al. 2010, table IX): A11 = L11 L11^T, U12 = L11^-1 A12, A22 - U12^T U12 = U22^T U22, so
/// that U = [L11^T, U12; 0, U22]. Solutions, inverses and their diagonals are ScaLAPACK's.
///
/// Members are collective and blocking. The matrix must be committed, outlive this object, and be left alone while its factor is
/// wanted.
template <class T> class cholesky {
  public:
    /// Throws user_error on every rank when the matrix is not square, its blocks are not square, an element of its upper triangle
    /// is not finite, or it is not positive definite (naming the order of the leading minor that is not).
    explicit cholesky(array::convergent_matrix<T>& matrix);
    explicit cholesky(array::symmetric_matrix<T>& matrix);

    /// Solves A x = rhs. rhs is the same whole vector on every rank; so is the result. 2 n^2 flops.
    /// Throws user_error when the length does not match, or the factor was overwritten by invert() or inverse_diagonal().
    [[nodiscard]] std::vector<double> solve(std::span<const double> rhs) const;
    /// Solves A X = B for as many columns as B has, in place: 2 n^2 flops for each. B must be committed and dealt to the same
    /// process grid; its blocks may be others. Throws as solve(rhs), and when the grids differ.
    void solve(array::convergent_matrix<T>& rhs) const;

    /// U^-T b: half of a solution, so that |U^-T b|^2 = b . A^-1 b. n^2 flops. As solve().
    [[nodiscard]] std::vector<double> solve_transposed_factor(std::span<const double> rhs) const;
    void solve_transposed_factor(array::convergent_matrix<T>& rhs) const;
    /// U^-1 b: the other half. Of a vector of independent numbers of variance one it makes a draw of covariance U^-1 U^-T = A^-1.
    /// n^2 flops. As solve().
    [[nodiscard]] std::vector<double> solve_factor(std::span<const double> rhs) const;
    void solve_factor(array::convergent_matrix<T>& rhs) const;

    /// The natural logarithm of A's determinant. Throws when the factor was overwritten.
    [[nodiscard]] double log_determinant() const;

    /// The diagonal of A^-1 = U^-1 U^-T on every rank: the sums of squares of the rows of U^-1, which overwrites the factor in
    /// place (p?trtri). n^3/3 flops beyond the factorisation and no further memory; the whole inverse would cost twice that. After
    /// invert() it is read off.
    [[nodiscard]] std::vector<double> inverse_diagonal();

    /// Overwrites the upper triangle of the matrix with that of A^-1 (p?potri): 2 n^3/3 flops beyond the factorisation, n^3/3 of
    /// them saved after inverse_diagonal(). A second call changes nothing.
    void invert();

  private:
    enum class content { factor, inverse_factor, inverse };
    enum class halves { both, first, second }; ///< U^-1 U^-T, U^-T, U^-1

    cholesky(array::convergent_matrix<T>& storage, std::int64_t order, std::int64_t first, std::int64_t first_row);
    void factorise();
    [[nodiscard]] std::vector<double> solve(std::span<const double> rhs, halves wanted) const;
    void solve(array::convergent_matrix<T>& rhs, halves wanted) const;
    void invert_factor();
    void require_factor(const char* call) const;

    array::convergent_matrix<T>* storage_;
    std::int64_t order_;
    std::int64_t first_;     ///< order of A11; 0 in full storage
    std::int64_t first_row_; ///< where A11 lies
    process_context context_;
    content content_ = content::factor;
};

extern template class cholesky<float>;
extern template class cholesky<double>;

} // namespace craton::linalg
