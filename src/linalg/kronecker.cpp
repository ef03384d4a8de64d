#include <craton/linalg/kronecker.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

namespace craton::linalg {

template <class T>
void add_kronecker(array::convergent_matrix<T>& matrix, base::matrix_view<const double> outer,
                   base::matrix_view<const double> inner, double scale, std::int64_t offset) {
    const auto& layout = matrix.layout();
    const std::int64_t n = outer.rows * inner.rows;
    const std::int64_t order = layout.rows.extent;
    if (outer.rows != outer.cols || inner.rows != inner.cols || order != layout.cols.extent || offset < 0 || n > order - offset) {
        throw user_error(
            fmt::format("add_kronecker: factors {} x {} and {} x {} at {} of a {} x {} matrix; allowed: square factors whose "
                        "product lies within a square matrix",
                        outer.rows, outer.cols, inner.rows, inner.cols, offset, order, layout.cols.extent));
    }
    const int me = matrix.ranks().rank();
    const std::int64_t lld = layout.leading_dimension(me);
    T* column = matrix.local().data();
    for (std::int64_t j = 0; j < layout.local_cols(me); ++j, column += lld) {
        const std::int64_t j_global = layout.cols.global(layout.process_col(me), j) - offset; // within the block
        if (j_global < 0 || j_global >= n) continue;
        const std::int64_t b = j_global / inner.rows;
        const std::int64_t j_inner = j_global % inner.rows;
        for (std::int64_t i = 0; i < layout.local_rows(me); ++i) {
            const std::int64_t i_global = layout.rows.global(layout.process_row(me), i) - offset;
            if (i_global < 0) continue;
            if (i_global > j_global) break; // local rows ascend in global index
            column[i] += static_cast<T>(scale * outer(i_global / inner.rows, b) * inner(i_global % inner.rows, j_inner));
        }
    }
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
template void copy_elements(const array::convergent_matrix<float>&, array::convergent_matrix<double>&);
template void copy_elements(const array::convergent_matrix<double>&, array::convergent_matrix<double>&);

} // namespace craton::linalg
