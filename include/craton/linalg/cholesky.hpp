#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/linalg/process_context.hpp>

#include <span>
#include <vector>

namespace craton::linalg {

/// U^T U = A of a symmetric positive-definite matrix, in place in the matrix's own storage: its upper triangle is read and
/// overwritten by U; the lower one is not referenced (ScaLAPACK p?potrf, p?potrs). n^3/3 flops over the ranks, no copy, no gather.
template <class T> class cholesky {
  public:
    /// Collective, blocking. The matrix must be committed and outlive this object. Throws user_error on every rank when it is not square,
    /// its blocks are not square, or it is not positive definite (naming the order of the leading minor that is not).
    explicit cholesky(array::convergent_matrix<T>& matrix);

    /// Collective, blocking: solves A x = rhs. rhs is the same whole vector on every rank; so is the result.
    /// Throws user_error when the length does not match.
    [[nodiscard]] std::vector<double> solve(std::span<const double> rhs) const;

  private:
    array::convergent_matrix<T>* matrix_;
    process_context context_;
};

extern template class cholesky<float>;
extern template class cholesky<double>;

} // namespace craton::linalg
