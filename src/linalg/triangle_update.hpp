#pragma once

#include "lapack.hpp"

#include <craton/base/narrow.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace craton::linalg {

// C -= L^T R on one rank's share of a block-cyclic triangle. The blocks on the diagonal make a staircase of the local columns;
// nothing beyond the triangle is written.

/// Some local rows and their columns of a panel: row r has the column values + (r - begin) * inner extent.
template <class T> struct panel_columns {
    std::int64_t begin = 0, end = 0;
    const T* values = nullptr;
};

/// Neighbouring local columns that lie in one block, and the local rows of the block on their diagonal: none (begin = end, the
/// place between the rows above and below) where another process has it.
struct staircase_step {
    std::int64_t col = 0, cols = 0;
    std::int64_t diagonal_begin = 0, diagonal_end = 0;
};

template <class T> class triangle_update {
  public:
    /// `left` covers, in order, all rows of the update; `right` holds columns of `inner` elements, the first of them of local
    /// column `first_col`. C is column major.
    triangle_update(T* c, std::int64_t leading_dimension, std::int64_t inner, std::span<const panel_columns<T>> left,
                    const T* right, std::int64_t first_col)
        : c_(c), ld_(leading_dimension), inner_(inner), left_(left), right_(right), first_col_(first_col) {}

    /// Rows from `row` to the diagonal.
    void upper(std::span<const staircase_step> steps, std::int64_t row) const {
        if (steps.empty()) return;
        rectangle(row, steps.front().diagonal_begin, steps);
        row = std::max(row, steps.front().diagonal_begin);
        if (steps.size() == 1) return square("U", steps.front());
        upper(steps.first(steps.size() / 2), row);
        upper(steps.subspan(steps.size() / 2), row);
    }
    /// Rows from the diagonal to `row_end`.
    void lower(std::span<const staircase_step> steps, std::int64_t row_end) const {
        if (steps.empty()) return;
        rectangle(steps.back().diagonal_end, row_end, steps);
        row_end = std::min(row_end, steps.back().diagonal_end);
        if (steps.size() == 1) return square("L", steps.front());
        lower(steps.first(steps.size() / 2), row_end);
        lower(steps.subspan(steps.size() / 2), row_end);
    }

  private:
    [[nodiscard]] const T* right_of(std::int64_t col) const { return right_ + (col - first_col_) * inner_; }

    void rectangle(std::int64_t row, std::int64_t row_end, std::span<const staircase_step> steps) const {
        const std::int64_t col = steps.front().col;
        const int cols = base::narrow<int>(steps.back().col + steps.back().cols - col, "columns of an update");
        const int inner = base::narrow<int>(inner_, "rows of a panel");
        const int ld = base::narrow<int>(ld_, "rows of a matrix on one rank");
        const T minus_one = -1;
        const T one = 1;
        for (const auto& part : left_) {
            const std::int64_t begin = std::max(row, part.begin);
            const int rows = base::narrow<int>(std::min(row_end, part.end) - begin, "rows of an update");
            if (rows <= 0) continue;
            blas<T>::gemm("T", "N", &rows, &cols, &inner, &minus_one, part.values + (begin - part.begin) * inner_, &inner,
                          right_of(col), &inner, &one, c_ + begin + col * ld_, &ld);
        }
    }

    void square(const char* triangle, const staircase_step& step) const {
        if (step.diagonal_begin == step.diagonal_end) return;
        const int cols = base::narrow<int>(step.cols, "columns of a block");
        const int inner = base::narrow<int>(inner_, "rows of a panel");
        const int ld = base::narrow<int>(ld_, "rows of a matrix on one rank");
        const T minus_one = -1;
        const T one = 1;
        blas<T>::syrk(triangle, "T", &cols, &inner, &minus_one, right_of(step.col), &inner, &one,
                      c_ + step.diagonal_begin + step.col * ld_, &ld);
    }

    T* c_;
    std::int64_t ld_, inner_;
    std::span<const panel_columns<T>> left_;
    const T* right_;
    std::int64_t first_col_;
};

} // namespace craton::linalg
