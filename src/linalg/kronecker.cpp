#include <craton/linalg/kronecker.hpp>

#include "symmetric_parts.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace craton::linalg {

namespace {

void check_factors(std::int64_t outer_rows, std::int64_t outer_cols, base::matrix_view<const double> inner, std::int64_t offset,
                   std::int64_t rows, std::int64_t cols) {
    const std::int64_t n = outer_rows * inner.rows;
    if (outer_rows == outer_cols && inner.rows == inner.cols && rows == cols && offset >= 0 && n <= rows - offset) return;
    throw user_error(fmt::format("add_kronecker: factors {} x {} and {} x {} at {} of a {} x {} matrix; allowed: square factors "
                                 "whose product lies within a square matrix",
                                 outer_rows, outer_cols, inner.rows, inner.cols, offset, rows, cols));
}

template <class T>
void add_to_storage(const symmetric_storage& s, array::convergent_matrix<T>& storage, base::matrix_view<const double> outer,
                    base::matrix_view<const double> inner, double scale, std::int64_t offset) {
    const std::int64_t n = outer.rows * inner.rows;
    s.for_each_run(storage, [&](const auto& run) {
        const std::int64_t other = run.other - offset;
        if (other < 0 || other >= n) return;
        const std::int64_t other_outer = other / inner.rows;
        const std::int64_t other_inner = other % inner.rows;
        for (std::size_t k = 0; k < run.rows.size(); ++k) {
            const std::int64_t own = run.rows[k] - run.shift - offset;
            if (own < 0) continue;
            if (own >= n) break; // rows ascend
            const std::int64_t own_outer = own / inner.rows;
            const std::int64_t own_inner = own % inner.rows;
            const double product = run.mirrored ? outer(other_outer, own_outer) * inner(other_inner, own_inner)
                                                : outer(own_outer, other_outer) * inner(own_inner, other_inner);
            run.values[k] += static_cast<T>(scale * product);
        }
    });
}

// A column of a distributed factor: its elements in the rows that this rank has asked for.
struct fetched_column {
    std::int64_t number = -1;
    std::vector<std::int64_t> rows; ///< ascending
    std::vector<double> values;

    // `wanted` are some of the rows that this rank has anything of, and side by side among those.
    void fetch(const array::symmetric_matrix<double>& factor, std::int64_t column, const std::vector<std::int64_t>& wanted) {
        if (number == column && rows.front() <= wanted.front() && wanted.back() <= rows.back()) return;
        number = column;
        rows = wanted;
        values = factor.read_slice(rows, std::span(&column, 1));
    }
};

} // namespace

template <class T>
void add_kronecker(array::convergent_matrix<T>& matrix, base::matrix_view<const double> outer,
                   base::matrix_view<const double> inner, double scale, std::int64_t offset) {
    const auto& layout = matrix.layout();
    check_factors(outer.rows, outer.cols, inner, offset, layout.rows.extent, layout.cols.extent);
    add_to_storage(storage_of_upper_triangle(layout.rows.extent), matrix, outer, inner, scale, offset);
}

template <class T>
void add_kronecker(array::symmetric_matrix<T>& matrix, base::matrix_view<const double> outer, base::matrix_view<const double> inner,
                   double scale, std::int64_t offset) {
    check_factors(outer.rows, outer.cols, inner, offset, matrix.order(), matrix.order());
    add_to_storage(storage_of(matrix.packing()), matrix.packed(), outer, inner, scale, offset);
}

template <class T>
void add_kronecker(array::symmetric_matrix<T>& matrix, const array::symmetric_matrix<double>& outer,
                   base::matrix_view<const double> inner, double scale, std::int64_t offset) {
    check_factors(outer.order(), outer.order(), inner, offset, matrix.order(), matrix.order());
    const std::int64_t ni = inner.rows;
    const std::int64_t n = outer.order() * ni;
    std::array<fetched_column, 2> kept; // the parts of a packed column take turns
    std::vector<std::int64_t> wanted;
    storage_of(matrix.packing()).for_each_run(matrix.packed(), [&](const auto& run) {
        const std::int64_t other = run.other - offset;
        if (other < 0 || other >= n) return;
        const auto own = [&](std::size_t k) { return run.rows[k] - run.shift - offset; };
        std::size_t first = 0;
        while (first < run.rows.size() && own(first) < 0) ++first;
        std::size_t last = run.rows.size();
        while (last > first && own(last - 1) >= n) --last;
        wanted.clear();
        for (std::size_t k = first; k < last; ++k) {
            if (wanted.empty() || wanted.back() != own(k) / ni) wanted.push_back(own(k) / ni);
        }
        if (wanted.empty()) return;
        fetched_column& column = kept[run.mirrored ? 1 : 0];
        column.fetch(outer, other / ni, wanted);
        auto at = static_cast<std::size_t>(std::ranges::lower_bound(column.rows, wanted.front()) - column.rows.begin());
        for (std::size_t k = first; k < last; ++k) {
            while (column.rows[at] < own(k) / ni) ++at;
            const double factor = run.mirrored ? inner(other % ni, own(k) % ni) : inner(own(k) % ni, other % ni);
            run.values[k] += static_cast<T>(scale * (column.values[at] * factor));
        }
    });
    matrix.packed().ranks().barrier(); // others still read this rank's elements of the factor
}

template <class To, class From> void copy_elements(const array::convergent_matrix<From>& from, array::convergent_matrix<To>& to) {
    if (!(from.layout() == to.layout()))
        throw user_error("copy_elements: the two matrices have different layouts; allowed: the same layout");
    const auto source = from.local();
    const auto target = to.local();
    for (std::size_t e = 0; e < source.size(); ++e) target[e] = static_cast<To>(source[e]);
}

template void add_kronecker(array::convergent_matrix<float>&, base::matrix_view<const double>, base::matrix_view<const double>,
                            double, std::int64_t);
template void add_kronecker(array::convergent_matrix<double>&, base::matrix_view<const double>, base::matrix_view<const double>,
                            double, std::int64_t);
template void add_kronecker(array::symmetric_matrix<float>&, base::matrix_view<const double>, base::matrix_view<const double>,
                            double, std::int64_t);
template void add_kronecker(array::symmetric_matrix<double>&, base::matrix_view<const double>, base::matrix_view<const double>,
                            double, std::int64_t);
template void add_kronecker(array::symmetric_matrix<float>&, const array::symmetric_matrix<double>&,
                            base::matrix_view<const double>, double, std::int64_t);
template void add_kronecker(array::symmetric_matrix<double>&, const array::symmetric_matrix<double>&,
                            base::matrix_view<const double>, double, std::int64_t);
template void copy_elements(const array::convergent_matrix<float>&, array::convergent_matrix<double>&);
template void copy_elements(const array::convergent_matrix<double>&, array::convergent_matrix<double>&);

} // namespace craton::linalg
