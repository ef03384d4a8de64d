#include <craton/array/symmetric_matrix.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

namespace craton::array {

namespace {

symmetric_packing checked_packing(std::int64_t order, std::int64_t block, process_grid grid, int ranks) {
    if (order < 1) throw user_error(fmt::format("symmetric matrix: order {}; allowed: 1 or more", order));
    if (block < 1) throw user_error(fmt::format("symmetric matrix: blocks of {}; allowed: 1 or more", block));
    if (order > std::numeric_limits<std::int64_t>::max() / 4 || block > std::numeric_limits<std::int64_t>::max() / 4) {
        throw user_error(fmt::format("symmetric matrix: order {} in blocks of {}; allowed: less than 2^61", order, block));
    }
    const symmetric_packing packing{order, block};
    if (grid.rows == 0 && grid.cols == 0) grid = most_square_grid(ranks);
    const std::int64_t block_cols = (packing.packed_cols() + block - 1) / block;
    if (grid.cols > block_cols) {
        throw user_error(
            fmt::format("symmetric matrix: {} process columns, but order {} in blocks of {} packs into {} block columns: more "
                        "ranks than blocks; allowed: at most {} process columns, or smaller blocks",
                        grid.cols, order, block, block_cols, block_cols));
    }
    return packing;
}

// An index list with what belongs to the first part of the matrix in front.
struct split_list {
    std::vector<std::int64_t> indices;
    std::vector<std::int64_t> position; // in the caller's list; empty when that has the order already
    std::size_t in_first = 0;
};

split_list split(std::span<const std::int64_t> indices, std::int64_t first) {
    split_list result{{indices.begin(), indices.end()}, {}, 0};
    const auto belongs = [&](std::int64_t i) { return i < first; };
    result.in_first = static_cast<std::size_t>(std::ranges::count_if(indices, belongs));
    if (std::ranges::is_partitioned(indices, belongs)) return result;
    result.position.resize(indices.size());
    std::iota(result.position.begin(), result.position.end(), 0);
    std::ranges::stable_partition(result.position, [&](std::int64_t a) { return belongs(indices[static_cast<std::size_t>(a)]); });
    for (std::size_t a = 0; a < indices.size(); ++a) result.indices[a] = indices[static_cast<std::size_t>(result.position[a])];
    return result;
}

std::vector<std::int64_t> shifted(std::span<const std::int64_t> indices, std::int64_t by) {
    std::vector<std::int64_t> result(indices.begin(), indices.end());
    for (auto& i : result) i += by;
    return result;
}

template <class T> base::matrix_view<T> transposed(base::matrix_view<T> block) {
    return {block.data, block.cols, block.rows, block.col_stride, block.row_stride};
}

template <class T>
base::matrix_view<T> part(base::matrix_view<T> block, std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) {
    return {block.data + row * block.row_stride + col * block.col_stride, rows, cols, block.row_stride, block.col_stride};
}

// The block with its rows and columns in the order of the split lists, column major in `copy`; the block itself where they have
// that order.
template <class T>
base::matrix_view<const T> arranged(base::matrix_view<const T> block, const split_list& rows, const split_list& cols,
                                    std::vector<T>& copy) {
    if (rows.position.empty() && cols.position.empty()) return block;
    copy.resize(static_cast<std::size_t>(block.rows * block.cols));
    const auto from = [](const split_list& list, std::int64_t a) {
        return list.position.empty() ? a : list.position[static_cast<std::size_t>(a)];
    };
    for (std::int64_t b = 0; b < block.cols; ++b) {
        for (std::int64_t a = 0; a < block.rows; ++a)
            copy[static_cast<std::size_t>(a + b * block.rows)] = block(from(rows, a), from(cols, b));
    }
    return base::column_major<const T>(copy.data(), block.rows, block.cols, block.rows);
}

std::vector<std::int64_t> globals(const cyclic_dimension& dimension, std::int64_t process) {
    std::vector<std::int64_t> result(static_cast<std::size_t>(dimension.local_extent(process)));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = dimension.global(process, static_cast<std::int64_t>(i));
    return result;
}

} // namespace

std::vector<packed_part> parts_of_update(const symmetric_packing& packing, std::span<const std::int64_t> indices) {
    const std::int64_t first = packing.first();
    packed_part a12_and_a22{{indices.begin(), indices.end()}, {}, {}, {}, trapezoid::upper(first)};
    packed_part a11{{}, {}, {}, {}, trapezoid::lower(packing.first_row())};
    for (std::size_t a = 0; a < indices.size(); ++a) {
        const auto position = static_cast<std::int32_t>(a);
        a12_and_a22.row_positions.push_back(position);
        if (indices[a] >= first) {
            a12_and_a22.cols.push_back(indices[a] - first);
            a12_and_a22.col_positions.push_back(position);
        } else {
            a11.rows.push_back(indices[a] + packing.first_row());
            a11.cols.push_back(indices[a]);
            a11.row_positions.push_back(position);
        }
    }
    a11.col_positions = a11.row_positions;
    std::vector<packed_part> parts;
    if (!a12_and_a22.cols.empty()) parts.push_back(std::move(a12_and_a22));
    if (!a11.cols.empty()) parts.push_back(std::move(a11));
    return parts;
}

template <class T>
symmetric_matrix<T>::symmetric_matrix(runtime::world& ranks, std::int64_t order, std::int64_t block, process_grid grid,
                                      merge<T> operation)
    : packing_(checked_packing(order, block, grid, ranks.size())),
      packed_(ranks, packing_.packed_rows(), packing_.packed_cols(), block, block, grid, std::move(operation)) {}

template <class T>
void symmetric_matrix<T>::check_indices(std::span<const std::int64_t> indices, const char* call, const char* name) const {
    for (std::size_t a = 0; a < indices.size(); ++a) {
        if (indices[a] < 0 || indices[a] >= order()) {
            throw user_error(fmt::format("{}: {}[{}] = {} is out of range; allowed: 0 to {} (the symmetric matrix is of order {})",
                                         call, name, a, indices[a], order() - 1, order()));
        }
    }
}

namespace {

template <class T> void check_shape(base::matrix_view<const T> block, std::size_t rows, std::size_t cols, const char* call) {
    if (block.rows != static_cast<std::int64_t>(rows) || block.cols != static_cast<std::int64_t>(cols)) {
        throw user_error(fmt::format("{}: the block is {} x {} but {} row and {} column indices were given; allowed: one index per "
                                     "row and per column",
                                     call, block.rows, block.cols, rows, cols));
    }
}

} // namespace

template <class T>
void symmetric_matrix<T>::update(base::matrix_view<const T> block, std::span<const std::int64_t> rows,
                                 std::span<const std::int64_t> cols) {
    check_shape(block, rows.size(), cols.size(), "update");
    check_indices(rows, "update", "rows");
    check_indices(cols, "update", "cols");
    deliver(block, rows, cols);
}

template <class T>
void symmetric_matrix<T>::update_symmetric(base::matrix_view<const T> block, std::span<const std::int64_t> indices) {
    check_shape(block, indices.size(), indices.size(), "update_symmetric");
    check_indices(indices, "update_symmetric", "indices");
    // Of the block and its transpose, which are the same, the one whose columns are contiguous, as the storage's are.
    deliver(block.col_stride == 1 ? transposed(block) : block, indices, indices);
}

template <class T>
void symmetric_matrix<T>::deliver(base::matrix_view<const T> block, std::span<const std::int64_t> rows,
                                  std::span<const std::int64_t> cols) {
    const std::int64_t first = packing_.first();
    const auto row_list = split(rows, first);
    const auto col_list = split(cols, first);
    std::vector<T> copy;
    block = arranged(block, row_list, col_list, copy);
    const std::span<const std::int64_t> i(row_list.indices);
    const std::span<const std::int64_t> j(col_list.indices);
    const auto rows_first = static_cast<std::int64_t>(row_list.in_first);
    const auto cols_first = static_cast<std::int64_t>(col_list.in_first);

    if (cols_first < block.cols) { // A12 and A22
        packed_.update_trapezoid(part(block, 0, block.rows, cols_first, block.cols - cols_first), i,
                                 shifted(j.subspan(col_list.in_first), -first), trapezoid::upper(first));
    }
    if (cols_first > 0 && rows_first > 0) { // A11, transposed
        packed_.update_trapezoid(transposed(part(block, 0, rows_first, 0, cols_first)),
                                 shifted(j.first(col_list.in_first), packing_.first_row()), i.first(row_list.in_first),
                                 trapezoid::lower(packing_.first_row()));
    }
}

template <class T> T symmetric_matrix<T>::read(std::int64_t row, std::int64_t col) const {
    check_indices(std::span(&row, 1), "read", "rows");
    check_indices(std::span(&col, 1), "read", "cols");
    const auto at = packing_.of(std::min(row, col), std::max(row, col));
    return packed_.read(at.row, at.col);
}

template <class T>
std::vector<T> symmetric_matrix<T>::read_slice(std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) const {
    check_indices(rows, "read", "rows");
    check_indices(cols, "read", "cols");
    std::vector<T> result(rows.size() * cols.size());
    // The elements whose larger index is below `first`, or not, lie in different parts; each part is asked for the elements as they
    // stand and for the mirror images of those below the diagonal.
    struct selection {
        std::vector<std::int64_t> index;
        std::vector<std::size_t> position;
    };
    const auto select = [&](std::span<const std::int64_t> list, auto&& wanted) {
        selection s;
        for (std::size_t a = 0; a < list.size(); ++a) {
            if (!wanted(list[a])) continue;
            s.index.push_back(list[a]);
            s.position.push_back(a);
        }
        return s;
    };
    const std::int64_t first = packing_.first();
    const auto in_first = [&](std::int64_t i) { return i < first; };
    const auto in_second = [&](std::int64_t i) { return i >= first; };
    const auto any = [](std::int64_t) { return true; };
    // Reads the elements (smaller[a], larger[b]) that are above the diagonal, or below it too where both come from one part's
    // mirror.
    const auto fetch = [&](const selection& smaller, const selection& larger, bool in_a11, auto&& put) {
        if (smaller.index.empty() || larger.index.empty()) return;
        const auto values = in_a11 ? packed_.read_slice(shifted(larger.index, packing_.first_row()), smaller.index)
                                   : packed_.read_slice(smaller.index, shifted(larger.index, -first));
        for (std::size_t a = 0; a < smaller.index.size(); ++a) {
            for (std::size_t b = 0; b < larger.index.size(); ++b) {
                if (smaller.index[a] > larger.index[b]) continue; // not a place of this part
                put(smaller.position[a], larger.position[b],
                    in_a11 ? values[b * smaller.index.size() + a] : values[a * larger.index.size() + b]);
            }
        }
    };
    const auto as_asked = [&](std::size_t a, std::size_t b, T value) { result[a * cols.size() + b] = value; };
    const auto mirrored = [&](std::size_t b, std::size_t a, T value) { result[a * cols.size() + b] = value; };
    fetch(select(rows, any), select(cols, in_second), false, as_asked);
    fetch(select(cols, any), select(rows, in_second), false, mirrored);
    fetch(select(rows, in_first), select(cols, in_first), true, as_asked);
    fetch(select(cols, in_first), select(rows, in_first), true, mirrored);
    return result;
}

template <class T> std::vector<T> symmetric_matrix<T>::diagonal() const {
    std::vector<T> result(static_cast<std::size_t>(order()), T{});
    const auto& layout = packed_.layout();
    const int me = ranks().rank();
    const auto values = packed_.local();
    for (std::int64_t i = 0; i < order(); ++i) {
        const auto at = packing_.of(i, i);
        if (layout.owner(at.row, at.col) != me) continue;
        const auto place = layout.rows.local(at.row) + layout.cols.local(at.col) * layout.leading_dimension(me);
        result[static_cast<std::size_t>(i)] = values[static_cast<std::size_t>(place)];
    }
    ranks().barrier(); // polls, before a reduction that does not
    ranks().communicator().sum_in_place(std::span(result));
    return result;
}

template <class T> void symmetric_matrix<T>::require_same_order(const convergent_matrix<T>& full, const char* call) const {
    if (full.layout().rows.extent != order() || full.layout().cols.extent != order()) {
        throw user_error(fmt::format("{}: the full matrix is {} x {}; allowed: {} x {}, the symmetric matrix's order", call,
                                     full.layout().rows.extent, full.layout().cols.extent, order(), order()));
    }
}

template <class T> void symmetric_matrix<T>::expand(convergent_matrix<T>& full, bool fill_lower) const {
    require_same_order(full, "expand");
    full.reset();
    const auto& layout = packed_.layout();
    const int me = ranks().rank();
    const std::int64_t first = packing_.first();
    const std::int64_t first_row = packing_.first_row();
    const auto rows = globals(layout.rows, layout.process_row(me));
    const auto cols = globals(layout.cols, layout.process_col(me));
    const std::int64_t lld = layout.leading_dimension(me);
    const T* const values = packed_.local().data();
    // Elements with i <= j go where they belong; those of the mirror image strictly below the diagonal.
    const auto deliver_to_full = [&](base::matrix_view<const T> block, std::span<const std::int64_t> i,
                                     std::span<const std::int64_t> j) {
        if (i.empty() || j.empty()) return;
        full.update_trapezoid(block, i, j, trapezoid::upper());
        if (fill_lower) full.update_trapezoid(transposed(block), j, i, trapezoid::lower(1));
    };
    const auto below = [](const std::vector<std::int64_t>& list, std::int64_t bound) {
        return static_cast<std::size_t>(std::ranges::lower_bound(list, bound) - list.begin());
    };
    const std::size_t upper_rows = below(rows, order());
    const std::size_t lower_begin = first == 0 ? rows.size() : below(rows, first_row);
    const auto lower_rows = shifted(std::span(rows).subspan(lower_begin), -first_row);
    // A block column at a time, so that the mirror image needs no more than its own messages.
    for (std::size_t c = 0; c < cols.size(); c += static_cast<std::size_t>(layout.cols.block)) {
        const auto width = std::min(static_cast<std::size_t>(layout.cols.block), cols.size() - c);
        const auto panel_cols = std::span(cols).subspan(c, width);
        const T* const panel = values + static_cast<std::int64_t>(c) * lld;
        const auto height = static_cast<std::int64_t>(rows.size());
        const auto block = base::column_major<const T>(panel, height, static_cast<std::int64_t>(width), lld);

        const auto in_second = below({panel_cols.begin(), panel_cols.end()}, packing_.second());
        deliver_to_full(part(block, 0, static_cast<std::int64_t>(upper_rows), 0, static_cast<std::int64_t>(in_second)),
                        std::span(rows).first(upper_rows), shifted(panel_cols.first(in_second), first));
        const auto in_first = below({panel_cols.begin(), panel_cols.end()}, first);
        deliver_to_full(transposed(part(block, static_cast<std::int64_t>(lower_begin), static_cast<std::int64_t>(lower_rows.size()),
                                        0, static_cast<std::int64_t>(in_first))),
                        panel_cols.first(in_first), lower_rows);
    }
    full.commit();
}

template <class T> void symmetric_matrix<T>::compress(const convergent_matrix<T>& full) {
    require_same_order(full, "compress");
    reset();
    const auto& layout = full.layout();
    const int me = ranks().rank();
    const auto rows = globals(layout.rows, layout.process_row(me));
    const auto cols = globals(layout.cols, layout.process_col(me));
    const std::int64_t lld = layout.leading_dimension(me);
    const T* const values = full.local().data();
    for (std::size_t c = 0; c < cols.size(); c += static_cast<std::size_t>(layout.cols.block)) {
        const auto width = std::min(static_cast<std::size_t>(layout.cols.block), cols.size() - c);
        const auto panel_cols = std::span(cols).subspan(c, width);
        // Rows beyond the panel's last column are below the diagonal.
        const auto height = static_cast<std::size_t>(std::ranges::upper_bound(rows, panel_cols.back()) - rows.begin());
        if (height == 0) continue;
        update(base::column_major<const T>(values + static_cast<std::int64_t>(c) * lld, static_cast<std::int64_t>(height),
                                           static_cast<std::int64_t>(width), lld),
               std::span(rows).first(height), panel_cols);
    }
    commit();
}

template class symmetric_matrix<float>;
template class symmetric_matrix<double>;
template class symmetric_matrix<std::complex<float>>;
template class symmetric_matrix<std::complex<double>>;
template class symmetric_matrix<std::int64_t>;

} // namespace craton::array
