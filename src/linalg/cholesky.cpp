#include <craton/linalg/cholesky.hpp>

#include "not_positive_definite.hpp"
#include "panel_cholesky.hpp"
#include "part.hpp"
#include "replicated_column.hpp"
#include "symmetric_parts.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

namespace craton::linalg {

namespace {

// Before BLACS and ScaLAPACK, which do not poll.
template <class T> array::convergent_matrix<T>& polled(array::convergent_matrix<T>& matrix) {
    matrix.ranks().barrier();
    return matrix;
}

} // namespace

template <class T>
cholesky<T>::cholesky(array::convergent_matrix<T>& storage, std::int64_t order, std::int64_t first, std::int64_t first_row)
    : storage_(&polled(storage)), order_(order), first_(first), first_row_(first_row), context_(context_of(storage)) {
    factorise();
}

template <class T>
cholesky<T>::cholesky(array::convergent_matrix<T>& matrix)
    : cholesky(require_square_blocks(matrix, "Cholesky"), matrix.layout().rows.extent, 0, matrix.layout().rows.extent) {}

template <class T>
cholesky<T>::cholesky(array::symmetric_matrix<T>& matrix)
    : cholesky(matrix.packed(), matrix.order(), matrix.packing().first(), matrix.packing().first_row()) {}

namespace {

// The diagonal element in a run of a factor, where the run reaches the diagonal.
template <class Run> auto diagonal_element(const Run& run) -> decltype(run.values) {
    if (run.rows.empty()) return nullptr;
    const std::size_t k = run.mirrored ? 0 : run.rows.size() - 1; // the end that touches the diagonal
    return run.i(k) == run.j(k) ? run.values + k : nullptr;
}

// LAPACK takes any pivot above 0. Of one below the normal numbers few digits are left, and its reciprocal is infinite.
template <class T> std::string describe_pivot_out_of_range(array::convergent_matrix<T>& storage, const symmetric_storage& s) {
    std::string what;
    s.for_each_run(storage, [&](const auto& run) {
        const auto* const root = diagonal_element(run);
        if (root == nullptr || !what.empty()) return;
        const T pivot = *root * *root;
        if (pivot >= std::numeric_limits<T>::min() && std::isfinite(*root)) return;
        what = fmt::format("Cholesky: pivot {} of the {} x {} matrix is {:.3g}; allowed: {:.3g} or more (scale the matrix)",
                           run.j(0) + 1, s.order, s.order, pivot, std::numeric_limits<T>::min());
    });
    return what;
}

} // namespace

template <class T> void cholesky<T>::factorise() {
    const symmetric_storage s{order_, first_, first_row_};
    comm::agree(storage_->ranks().communicator(), describe_not_finite(s, *storage_, "Cholesky"));
    const std::int64_t minor = factor_by_panels(*storage_, s);
    require_factored(minor, order_, "Cholesky");
    comm::agree(storage_->ranks().communicator(), describe_pivot_out_of_range(*storage_, s));
}

template <class T> void cholesky<T>::require_factor(const char* call) const {
    if (content_ != content::factor) {
        throw user_error(fmt::format("{}: the factor was overwritten by {}; allowed: before invert() and inverse_diagonal()", call,
                                     content_ == content::inverse ? "the inverse" : "its inverse"));
    }
}

namespace {

// B = U^-T B.
template <class T> void substitute_forwards(const symmetric_parts<T>& a, const part<T>& b) {
    const auto b1 = first_rows_of(a, b);
    const auto b2 = second_rows_of(a, b);
    if (a.divided()) {
        trsm('L', 'L', 'N', a.a11, b1);
        gemm('T', 'N', T{-1}, a.a12, b1, T{1}, b2);
    }
    trsm('L', 'U', 'T', a.a22, b2);
}

// B = U^-1 B.
template <class T> void substitute_backwards(const symmetric_parts<T>& a, const part<T>& b) {
    const auto b1 = first_rows_of(a, b);
    const auto b2 = second_rows_of(a, b);
    trsm('L', 'U', 'N', a.a22, b2);
    if (a.divided()) {
        gemm('N', 'N', T{-1}, a.a12, b2, T{1}, b1);
        trsm('L', 'L', 'T', a.a11, b1);
    }
}

} // namespace

template <class T> std::vector<double> cholesky<T>::solve(std::span<const double> rhs, halves wanted) const {
    require_factor("Cholesky solve");
    if (static_cast<std::int64_t>(rhs.size()) != order_) {
        throw user_error(fmt::format("Cholesky solve: the right-hand side has {} elements; allowed: {}", rhs.size(), order_));
    }
    storage_->ranks().barrier(); // polls, before ScaLAPACK, which does not
    replicated_column<T> column(context_, *storage_, rhs);
    const symmetric_parts<T> a({order_, first_, first_row_}, whole(context_, *storage_));
    if (wanted != halves::second) substitute_forwards(a, column.whole());
    if (wanted != halves::first) substitute_backwards(a, column.whole());
    return column.gather();
}

template <class T> void cholesky<T>::solve(array::convergent_matrix<T>& rhs, halves wanted) const {
    require_factor("Cholesky solve");
    const auto& layout = rhs.layout();
    if (layout.rows.extent != order_) {
        throw user_error(fmt::format("Cholesky solve: the right-hand sides have {} rows; allowed: {}", layout.rows.extent, order_));
    }
    require_same_grid(*storage_, rhs, "Cholesky solve");
    storage_->ranks().barrier(); // polls, before ScaLAPACK, which does not
    const symmetric_parts<T> a({order_, first_, first_row_}, whole(context_, *storage_));
    if (wanted != halves::second) substitute_forwards(a, whole(context_, rhs));
    if (wanted != halves::first) substitute_backwards(a, whole(context_, rhs));
    storage_->ranks().barrier();
}

template <class T> std::vector<double> cholesky<T>::solve(std::span<const double> rhs) const { return solve(rhs, halves::both); }
template <class T> void cholesky<T>::solve(array::convergent_matrix<T>& rhs) const { solve(rhs, halves::both); }

template <class T> std::vector<double> cholesky<T>::solve_transposed_factor(std::span<const double> rhs) const {
    return solve(rhs, halves::first);
}
template <class T> void cholesky<T>::solve_transposed_factor(array::convergent_matrix<T>& rhs) const { solve(rhs, halves::first); }

template <class T> std::vector<double> cholesky<T>::solve_factor(std::span<const double> rhs) const {
    return solve(rhs, halves::second);
}
template <class T> void cholesky<T>::solve_factor(array::convergent_matrix<T>& rhs) const { solve(rhs, halves::second); }

template <class T> double cholesky<T>::log_determinant() const {
    require_factor("Cholesky log_determinant");
    double sum = 0;
    symmetric_storage{order_, first_, first_row_}.for_each_run(*storage_, [&](const auto& run) {
        if (const auto* const root = diagonal_element(run)) sum += 2 * std::log(static_cast<double>(*root));
    });
    storage_->ranks().barrier(); // polls, before a reduction that does not
    storage_->ranks().communicator().sum_in_place(std::span(&sum, 1));
    return sum;
}

template <class T> void cholesky<T>::invert_factor() {
    // U^-1 = [V11, W; 0, V22] with V11 = L11^-T, V22 = U22^-1, W = -V11 U12 V22. A factor has no zero on its diagonal.
    const symmetric_parts<T> a({order_, first_, first_row_}, whole(context_, *storage_));
    static_cast<void>(trtri('U', a.a22));
    if (a.divided()) {
        static_cast<void>(trtri('L', a.a11));
        trmm('L', 'L', 'T', T{-1}, a.a11, a.a12);
        trmm('R', 'U', 'N', T{1}, a.a22, a.a12);
    }
    content_ = content::inverse_factor;
}

template <class T> std::vector<double> cholesky<T>::inverse_diagonal() {
    storage_->ranks().barrier(); // polls, before ScaLAPACK and reductions, which do not
    if (content_ == content::factor) invert_factor();
    std::vector<double> diagonal(static_cast<std::size_t>(order_), 0.0);
    symmetric_storage{order_, first_, first_row_}.for_each_run(*storage_, [&](const auto& run) {
        for (std::size_t k = 0; k < run.rows.size(); ++k) {
            const auto value = static_cast<double>(run.values[k]);
            double& sum = diagonal[static_cast<std::size_t>(run.i(k))];
            if (content_ == content::inverse_factor) sum += value * value;
            if (content_ == content::inverse && run.i(k) == run.j(k)) sum = value;
        }
    });
    storage_->ranks().communicator().sum_in_place(std::span(diagonal));
    return diagonal;
}

template <class T> void cholesky<T>::invert() {
    storage_->ranks().barrier(); // polls, before ScaLAPACK, which does not
    if (content_ == content::inverse) return;
    if (content_ == content::factor) invert_factor();
    // A^-1 = [V11 V11^T + W W^T, W V22^T; ., V22 V22^T].
    const symmetric_parts<T> a({order_, first_, first_row_}, whole(context_, *storage_));
    if (a.divided()) {
        lauum('L', a.a11);
        syrk('L', 'N', T{1}, a.a12, a.a11);
        trmm('R', 'U', 'T', T{1}, a.a22, a.a12);
    }
    lauum('U', a.a22);
    content_ = content::inverse;
    storage_->ranks().barrier(); // whoever reads next finds every rank's part done
}

template class cholesky<float>;
template class cholesky<double>;

} // namespace craton::linalg
