#pragma once

#include "lapack.hpp"
#include "scalapack.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/base/error.hpp>
#include <craton/linalg/process_context.hpp>

#include <fmt/format.h>

#include <cstdint>

namespace craton::linalg {

/// A rectangle of a distributed matrix, as ScaLAPACK takes it: first row and column counted from one. Of a rank that is alone, as
/// BLAS takes it too, which counts elements in 64 bits.
template <class T> struct part {
    T* data = nullptr;
    descriptor description{};
    int row = 1;
    int col = 1;
    int rows = 0;
    int cols = 0;
    bool alone = false;

    [[nodiscard]] T* first() const { return data + (row - 1) + static_cast<std::int64_t>(col - 1) * leading_dimension(); }
    [[nodiscard]] const int& leading_dimension() const { return description[8]; }
    [[nodiscard]] bool empty() const { return rows == 0 || cols == 0; }
    /// The rectangle of so many rows and columns that begins (from_row, from_col), counted from zero, within this one.
    [[nodiscard]] part within(int from_row, int row_count, int from_col, int col_count) const {
        return {data, description, row + from_row, col + from_col, row_count, col_count, alone};
    }
};

/// ScaLAPACK takes operands that it only reads by pointers to constant elements; a `part` of a constant matrix must not be written.
template <class T> [[nodiscard]] part<T> whole(const process_context& context, const array::convergent_matrix<T>& matrix) {
    const auto description = context.descriptor(matrix.layout(), matrix.ranks().rank());
    return {const_cast<T*>(matrix.local().data()), description, 1, 1, description[2], description[3], context.alone()};
}

/// A matrix on the process grid of its layout.
template <class T> [[nodiscard]] process_context context_of(const array::convergent_matrix<T>& matrix) {
    return {matrix.ranks().communicator(), static_cast<int>(matrix.layout().rows.processes),
            static_cast<int>(matrix.layout().cols.processes)};
}

/// ScaLAPACK takes operands of one process grid only. Throws user_error.
template <class A, class B> void require_same_grid(const A& a, const B& b, const char* call) {
    const auto& la = a.layout();
    const auto& lb = b.layout();
    if (&a.ranks() != &b.ranks())
        throw user_error(fmt::format("{}: the matrices belong to different worlds; allowed: one world", call));
    if (la.rows.processes != lb.rows.processes || la.cols.processes != lb.cols.processes) {
        throw user_error(fmt::format("{}: matrices on process grids {} x {} and {} x {}; allowed: the same grid for all", call,
                                     la.rows.processes, la.cols.processes, lb.rows.processes, lb.cols.processes));
    }
}

/// What ScaLAPACK wants of factorisations. Throws user_error; returns the matrix.
template <class T> array::convergent_matrix<T>& require_square_blocks(array::convergent_matrix<T>& matrix, const char* call) {
    const auto& layout = matrix.layout();
    if (layout.rows.extent != layout.cols.extent || layout.rows.block != layout.cols.block) {
        throw user_error(fmt::format("{}: the matrix is {} x {} in blocks of {} x {}; allowed: square matrices in square blocks",
                                     call, layout.rows.extent, layout.cols.extent, layout.rows.block, layout.cols.block));
    }
    return matrix;
}

// The routines in terms of parts. Sizes follow from the parts; all are collective, block, and need no alignment where PBLAS needs
// none. A rank that is alone calls BLAS and LAPACK.

/// P L U in place; pivots: of this rank's rows, and a block more. The column, counted from one, in which all pivots are zero, or 0.
template <class T> [[nodiscard]] int getrf(const part<T>& a, int* pivots) {
    int info = 0;
    if (a.alone)
        lapack<T>::getrf(&a.rows, &a.cols, a.first(), &a.leading_dimension(), pivots, &info);
    else
        scalapack<T>::getrf(&a.rows, &a.cols, a.data, &a.row, &a.col, a.description.data(), pivots, &info);
    return info;
}

/// B = op(A)^-1 B by the factors of getrf. Rows of B are dealt as those of A.
template <class T> void getrs(char trans, const part<T>& a, const int* pivots, const part<T>& b) {
    int info = 0; // none of the arguments is refused
    if (a.alone)
        return lapack<T>::getrs(&trans, &a.rows, &b.cols, a.first(), &a.leading_dimension(), pivots, b.first(),
                                &b.leading_dimension(), &info);
    scalapack<T>::getrs(&trans, &a.rows, &b.cols, a.data, &a.row, &a.col, a.description.data(), pivots, b.data, &b.row, &b.col,
                        b.description.data(), &info);
}

/// Inverse of a triangle; the place on the diagonal that is zero, or 0.
template <class T> [[nodiscard]] int trtri(char uplo, const part<T>& a) {
    int info = 0;
    if (a.alone)
        lapack<T>::trtri(&uplo, "N", &a.rows, a.first(), &a.leading_dimension(), &info);
    else
        scalapack<T>::trtri(&uplo, "N", &a.rows, a.data, &a.row, &a.col, a.description.data(), &info);
    return info;
}

/// U U^T or L^T L in place.
template <class T> void lauum(char uplo, const part<T>& a) {
    int info = 0; // none of the arguments is refused
    if (a.alone) return lapack<T>::lauum(&uplo, &a.rows, a.first(), &a.leading_dimension(), &info);
    scalapack<T>::lauum(&uplo, &a.rows, a.data, &a.row, &a.col, a.description.data());
}

/// B = op(A)^-1 B (side L) or B op(A)^-1 (R).
template <class T> void trsm(char side, char uplo, char trans, const part<T>& a, const part<T>& b) {
    const T one = 1;
    if (a.alone)
        return blas<T>::trsm(&side, &uplo, &trans, "N", &b.rows, &b.cols, &one, a.first(), &a.leading_dimension(), b.first(),
                             &b.leading_dimension());
    scalapack<T>::trsm(&side, &uplo, &trans, "N", &b.rows, &b.cols, &one, a.data, &a.row, &a.col, a.description.data(), b.data,
                       &b.row, &b.col, b.description.data());
}

/// B = alpha op(A) B (side L) or alpha B op(A) (R).
template <class T> void trmm(char side, char uplo, char trans, T alpha, const part<T>& a, const part<T>& b) {
    if (a.alone)
        return blas<T>::trmm(&side, &uplo, &trans, "N", &b.rows, &b.cols, &alpha, a.first(), &a.leading_dimension(), b.first(),
                             &b.leading_dimension());
    scalapack<T>::trmm(&side, &uplo, &trans, "N", &b.rows, &b.cols, &alpha, a.data, &a.row, &a.col, a.description.data(), b.data,
                       &b.row, &b.col, b.description.data());
}

/// A triangle of C += alpha A A^T (trans N) or alpha A^T A (T).
template <class T> void syrk(char uplo, char trans, T alpha, const part<T>& a, const part<T>& c) {
    const T one = 1;
    const int& inner = trans == 'N' ? a.cols : a.rows;
    if (a.alone)
        return blas<T>::syrk(&uplo, &trans, &c.rows, &inner, &alpha, a.first(), &a.leading_dimension(), &one, c.first(),
                             &c.leading_dimension());
    scalapack<T>::syrk(&uplo, &trans, &c.rows, &inner, &alpha, a.data, &a.row, &a.col, a.description.data(), &one, c.data, &c.row,
                       &c.col, c.description.data());
}

/// C = alpha op(A) op(B) + beta C.
template <class T> void gemm(char trans_a, char trans_b, T alpha, const part<T>& a, const part<T>& b, T beta, const part<T>& c) {
    const int& inner = trans_a == 'N' ? a.cols : a.rows;
    if (a.alone)
        return blas<T>::gemm(&trans_a, &trans_b, &c.rows, &c.cols, &inner, &alpha, a.first(), &a.leading_dimension(), b.first(),
                             &b.leading_dimension(), &beta, c.first(), &c.leading_dimension());
    scalapack<T>::gemm(&trans_a, &trans_b, &c.rows, &c.cols, &inner, &alpha, a.data, &a.row, &a.col, a.description.data(), b.data,
                       &b.row, &b.col, b.description.data(), &beta, c.data, &c.row, &c.col, c.description.data());
}

/// C = alpha A B + beta C (side L) or alpha B A + beta C (R), A by one triangle.
template <class T> void symm(char side, char uplo, T alpha, const part<T>& a, const part<T>& b, T beta, const part<T>& c) {
    if (a.alone)
        return blas<T>::symm(&side, &uplo, &c.rows, &c.cols, &alpha, a.first(), &a.leading_dimension(), b.first(),
                             &b.leading_dimension(), &beta, c.first(), &c.leading_dimension());
    scalapack<T>::symm(&side, &uplo, &c.rows, &c.cols, &alpha, a.data, &a.row, &a.col, a.description.data(), b.data, &b.row, &b.col,
                       b.description.data(), &beta, c.data, &c.row, &c.col, c.description.data());
}

/// y = op(A) x + beta y for columns x and y.
template <class T> void gemv(char trans, const part<T>& a, const part<T>& x, T beta, const part<T>& y) {
    const T one = 1;
    constexpr int step = 1;
    if (a.alone)
        return blas<T>::gemv(&trans, &a.rows, &a.cols, &one, a.first(), &a.leading_dimension(), x.first(), &step, &beta, y.first(),
                             &step);
    scalapack<T>::gemv(&trans, &a.rows, &a.cols, &one, a.data, &a.row, &a.col, a.description.data(), x.data, &x.row, &x.col,
                       x.description.data(), &step, &beta, y.data, &y.row, &y.col, y.description.data(), &step);
}

/// y = A x + beta y for columns x and y, A by one triangle.
template <class T> void symv(char uplo, const part<T>& a, const part<T>& x, T beta, const part<T>& y) {
    const T one = 1;
    constexpr int step = 1;
    if (a.alone)
        return blas<T>::symv(&uplo, &a.rows, &one, a.first(), &a.leading_dimension(), x.first(), &step, &beta, y.first(), &step);
    scalapack<T>::symv(&uplo, &a.rows, &one, a.data, &a.row, &a.col, a.description.data(), x.data, &x.row, &x.col,
                       x.description.data(), &step, &beta, y.data, &y.row, &y.col, y.description.data(), &step);
}

} // namespace craton::linalg
