#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/dist_array.hpp>
#include <craton/linalg/process_context.hpp>
#include <craton/linalg/products.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace craton::linalg {

/// A determinant that may be too large or small for a number: sign exp(logarithm), sign 1 or -1.
struct determinant {
    double sign = 1;
    double logarithm = 0;
};

/// A = P L U of a square matrix, with partial pivoting (ScaLAPACK p?getrf; on one rank LAPACK, with the threads of its BLAS).
/// 2 n^3 / 3 flops over the ranks. T is float or double.
///
/// Members are collective and blocking. Solutions take 2 n^2 flops for each right-hand side.
template <class T> class lu {
  public:
    /// In the place of the matrix, which is overwritten. It must be committed, outlive this object and be left alone while the
    /// factors are wanted. Throws user_error on every rank: the matrix or its blocks are not square, an element is not finite
    /// (naming it), or the matrix is singular (naming the column).
    explicit lu(array::convergent_matrix<T>& matrix);
    /// Of a copy in blocks, which this object holds; the array, of any layout, is only read. Where the order is below the number
    /// of ranks, each has the whole. Throws as the other.
    explicit lu(const array::dist_array<T, 2>& matrix);

    /// Solves A x = rhs, or A^T x = rhs. rhs is the same whole vector on every rank; so is the result. Throws user_error when the
    /// length does not match.
    [[nodiscard]] std::vector<double> solve(std::span<const double> rhs, form a_form = form::plain) const;
    /// The same for all columns of a matrix, in place. It must be committed, of as many rows, in blocks of as many rows, and dealt
    /// to the same process grid. Throws user_error where it is not, and for the factors of a dist_array.
    void solve(array::convergent_matrix<T>& rhs, form a_form = form::plain) const;
    /// The same for all columns of an array of any layout, in place. Throws user_error for another number of rows.
    void solve(array::dist_array<T, 2>& rhs, form a_form = form::plain) const;

    /// Collective. That of the matrix, from its factors.
    [[nodiscard]] linalg::determinant determinant() const;

  private:
    void factorise();
    void factorise_on_every_rank(const array::dist_array<T, 2>& matrix);
    void require_rows(std::int64_t rows) const;
    void solve_columns(array::convergent_matrix<T>& rhs, form a_form) const;
    void solve_one_by_one(array::dist_array<T, 2>& rhs, form a_form) const;

    runtime::world* ranks_;
    std::int64_t order_;
    std::unique_ptr<array::convergent_matrix<T>> own_; ///< of a dist_array
    array::convergent_matrix<T>* storage_ = nullptr;   ///< null where every rank has the whole
    std::vector<T> whole_;                             ///< that, column major
    std::optional<process_context> context_;
    std::vector<int> pivots_; ///< of this rank's rows: the row, counted from one, with which each was exchanged
};

extern template class lu<float>;
extern template class lu<double>;

} // namespace craton::linalg
