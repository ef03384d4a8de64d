#pragma once

#include "part.hpp"

#include <craton/array/symmetric_matrix.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace craton::linalg {

/// Which of a symmetric matrix's elements lie where: the upper triangle of full storage, or symmetric_packing. Full storage is the
/// case N1 = 0, where A22 is the whole and the other parts are empty.
struct symmetric_storage {
    std::int64_t order = 0;
    std::int64_t first = 0;     ///< N1
    std::int64_t first_row = 0; ///< storage row where A11's lower triangle begins

    /// One column's elements on this rank that belong to the triangle: values[k] is element (rows[k] - shift, other), or with
    /// `mirrored` (A11) element (other, rows[k] - shift).
    template <class T> struct run {
        T* values;
        std::span<const std::int64_t> rows;
        std::int64_t shift;
        std::int64_t other;
        bool mirrored;

        [[nodiscard]] std::int64_t i(std::size_t k) const { return mirrored ? other : rows[k] - shift; }
        [[nodiscard]] std::int64_t j(std::size_t k) const { return mirrored ? rows[k] - shift : other; }
    };

    /// Calls visit(run) for this rank's elements of the triangle, in the order of storage; const ones of a const matrix. Local.
    template <class Matrix, class Visit> void for_each_run(Matrix& storage, Visit&& visit) const {
        using T = std::remove_pointer_t<decltype(storage.local().data())>;
        const auto& layout = storage.layout();
        const int me = storage.ranks().rank();
        std::vector<std::int64_t> rows(static_cast<std::size_t>(layout.local_rows(me)));
        for (std::size_t r = 0; r < rows.size(); ++r) {
            rows[r] = layout.rows.global(layout.process_row(me), static_cast<std::int64_t>(r));
        }
        const std::span<const std::int64_t> all(rows);
        T* column = storage.local().data();
        for (std::int64_t c = 0; c < layout.local_cols(me); ++c, column += layout.leading_dimension(me)) {
            const std::int64_t col = layout.cols.global(layout.process_col(me), c);
            if (col < order - first) {
                const auto end = std::ranges::upper_bound(all, col + first) - all.begin();
                visit(run<T>{column, all.first(static_cast<std::size_t>(end)), 0, col + first, false});
            }
            if (col < first) {
                const auto begin = std::ranges::lower_bound(all, first_row + col) - all.begin();
                visit(run<T>{column + begin, all.subspan(static_cast<std::size_t>(begin)), first_row, col, true});
            }
        }
    }
};

inline symmetric_storage storage_of(const array::symmetric_packing& packing) {
    return {packing.order, packing.first(), packing.first_row()};
}

/// A lower triangle alone is the case N1 = N; i and j are then those of its transpose.
inline symmetric_storage storage_of_lower_triangle(std::int64_t order) { return {order, order, 0}; }
inline symmetric_storage storage_of_upper_triangle(std::int64_t order) { return {order, 0, order}; }

/// Where the first element of this rank's triangle that is infinite or not a number stands, in words; empty when all are finite.
/// Local.
template <class T>
[[nodiscard]] std::string describe_not_finite(const symmetric_storage& s, const array::convergent_matrix<T>& storage,
                                              const char* call) {
    std::string found;
    const bool lower = s.first == s.order;
    s.for_each_run(storage, [&](const auto& run) {
        bool finite = true; // a pass that the compiler can vectorise
        for (std::size_t k = 0; k < run.rows.size(); ++k) finite &= std::abs(run.values[k]) <= std::numeric_limits<T>::max();
        for (std::size_t k = 0; !finite && found.empty() && k < run.rows.size(); ++k) {
            if (std::isfinite(run.values[k])) continue;
            found = fmt::format("{}: element ({}, {}) of the matrix is {}; allowed: finite numbers", call,
                                lower ? run.j(k) : run.i(k), lower ? run.i(k) : run.j(k), run.values[k]);
        }
    });
    return found;
}

/// The parts of a symmetric matrix: A11's lower triangle, A12, A22's upper triangle.
template <class T> struct symmetric_parts {
    part<T> a11, a12, a22;

    symmetric_parts(const symmetric_storage& s, const part<T>& storage)
        : a11(storage.within(static_cast<int>(s.first_row), static_cast<int>(s.first), 0, static_cast<int>(s.first))),
          a12(storage.within(0, static_cast<int>(s.first), 0, static_cast<int>(s.order - s.first))),
          a22(storage.within(static_cast<int>(s.first), static_cast<int>(s.order - s.first), 0,
                             static_cast<int>(s.order - s.first))) {}

    [[nodiscard]] bool divided() const { return a11.rows > 0; }
};

/// The rows of `b` that A11 and A22 act on.
template <class T> [[nodiscard]] part<T> first_rows_of(const symmetric_parts<T>& a, const part<T>& b) {
    return b.within(0, a.a11.rows, 0, b.cols);
}
template <class T> [[nodiscard]] part<T> second_rows_of(const symmetric_parts<T>& a, const part<T>& b) {
    return b.within(a.a11.rows, a.a22.rows, 0, b.cols);
}

} // namespace craton::linalg
