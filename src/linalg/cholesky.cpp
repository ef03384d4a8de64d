#include <craton/linalg/cholesky.hpp>

#include "scalapack.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

namespace craton::linalg {

namespace {

constexpr int one = 1;

void factorise(int n, float* a, const descriptor& d, int& info) { pspotrf_("U", &n, a, &one, &one, d.data(), &info); }
void factorise(int n, double* a, const descriptor& d, int& info) { pdpotrf_("U", &n, a, &one, &one, d.data(), &info); }

void substitute(int n, const float* a, const descriptor& da, float* b, const descriptor& db, int& info) {
    pspotrs_("U", &n, &one, a, &one, &one, da.data(), b, &one, &one, db.data(), &info);
}
void substitute(int n, const double* a, const descriptor& da, double* b, const descriptor& db, int& info) {
    pdpotrs_("U", &n, &one, a, &one, &one, da.data(), b, &one, &one, db.data(), &info);
}

template <class T> array::convergent_matrix<T>& require_square(array::convergent_matrix<T>& matrix) {
    const auto& layout = matrix.layout();
    if (layout.rows.extent != layout.cols.extent || layout.rows.block != layout.cols.block) {
        throw user_error(
            fmt::format("Cholesky: the matrix is {} x {} in blocks of {} x {}; allowed: square matrices in square blocks",
                        layout.rows.extent, layout.cols.extent, layout.rows.block, layout.cols.block));
    }
    matrix.ranks().barrier(); // polls, before BLACS and ScaLAPACK, which do not
    return matrix;
}

} // namespace

template <class T>
cholesky<T>::cholesky(array::convergent_matrix<T>& matrix)
    : matrix_(&require_square(matrix)), context_(matrix.ranks().communicator(), static_cast<int>(matrix.layout().rows.processes),
                                                 static_cast<int>(matrix.layout().cols.processes)) {
    const auto& layout = matrix.layout();
    const auto description = context_.descriptor(layout, matrix.ranks().rank());
    int info = 0;
    factorise(description[2], matrix.local().data(), description, info);
    if (info > 0) {
        throw user_error(
            fmt::format("Cholesky: the {0} x {0} matrix is not positive definite: its leading minor of order {1} is not "
                        "positive; a stronger prior or a larger nugget makes it so",
                        layout.rows.extent, info));
    }
    if (info < 0) throw user_error(fmt::format("Cholesky: ScaLAPACK refused argument {}", -info));
}

template <class T> std::vector<double> cholesky<T>::solve(std::span<const double> rhs) const {
    const auto& layout = matrix_->layout();
    if (static_cast<std::int64_t>(rhs.size()) != layout.rows.extent) {
        throw user_error(
            fmt::format("Cholesky solve: the right-hand side has {} elements; allowed: {}", rhs.size(), layout.rows.extent));
    }
    // The right-hand side is one column on the grid's first process column, its rows dealt like the matrix's.
    const int me = matrix_->ranks().rank();
    const array::block_cyclic column{layout.rows, {1, layout.cols.block, layout.cols.processes}};
    const std::int64_t process_row = column.process_row(me);
    const bool holds_part = column.process_col(me) == 0;
    std::vector<T> part(static_cast<std::size_t>(column.leading_dimension(me)));
    for (std::int64_t i = 0; holds_part && i < column.local_rows(me); ++i) {
        part[static_cast<std::size_t>(i)] = static_cast<T>(rhs[static_cast<std::size_t>(column.rows.global(process_row, i))]);
    }
    matrix_->ranks().barrier(); // polls, before ScaLAPACK, which does not
    const auto matrix_description = context_.descriptor(layout, me);
    const auto column_description = context_.descriptor(column, me);
    int info = 0;
    substitute(matrix_description[2], matrix_->local().data(), matrix_description, part.data(), column_description, info);
    if (info != 0) throw user_error(fmt::format("Cholesky solve: ScaLAPACK refused argument {}", -info));

    std::vector<double> solution(rhs.size(), 0.0);
    for (std::int64_t i = 0; holds_part && i < column.local_rows(me); ++i) {
        solution[static_cast<std::size_t>(column.rows.global(process_row, i))] =
            static_cast<double>(part[static_cast<std::size_t>(i)]);
    }
    matrix_->ranks().communicator().sum_in_place(std::span(solution));
    return solution;
}

template class cholesky<float>;
template class cholesky<double>;

} // namespace craton::linalg
