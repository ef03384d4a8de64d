#include <craton/array/reproducible_matrix.hpp>

#include <craton/base/scratch_lease.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace craton::array {

template <class T>
reproducible_matrix<T>::reproducible_matrix(runtime::world& ranks, std::int64_t rows, std::int64_t cols, double largest,
                                            std::int64_t block_rows, std::int64_t block_cols, process_grid grid)
    : encoding_(largest), sums_(ranks, rows, cols, block_rows, block_cols, grid, merge<std::int64_t>::add_modulo()) {}

namespace {

// How often the index that is named most often is named.
double multiplicity(std::span<const std::int64_t> indices) {
    const bool strictly_ascending = std::ranges::adjacent_find(indices, std::greater_equal<>{}) == indices.end();
    if (strictly_ascending) return 1;
    std::vector<std::int64_t> sorted(indices.begin(), indices.end());
    std::ranges::sort(sorted);
    std::int64_t most = 1;
    std::int64_t same = 1;
    for (std::size_t a = 1; a < sorted.size(); ++a) {
        same = sorted[a] == sorted[a - 1] ? same + 1 : 1;
        most = std::max(most, same);
    }
    return static_cast<double>(most);
}

base::matrix_view<const std::int64_t> column_major(const std::vector<std::int64_t>& multiples, std::int64_t rows,
                                                   std::int64_t cols) {
    return base::column_major(multiples.data(), rows, cols, std::max<std::int64_t>(rows, 1));
}

} // namespace

template <class T>
double reproducible_matrix<T>::encode(base::matrix_view<const T> block, bool one_triangle,
                                      std::vector<std::int64_t>& multiples) const {
    multiples.resize(static_cast<std::size_t>(block.rows * block.cols));
    double largest_here = 0;
    for (std::int64_t j = 0; j < block.cols; ++j) {
        auto* const to = multiples.data() + j * block.rows;
        const std::int64_t rows = one_triangle ? j + 1 : block.rows;
        for (std::int64_t i = 0; i < rows; ++i) {
            const auto value = static_cast<double>(block.data[i * block.row_stride + j * block.col_stride]);
            if (!(std::abs(value) <= encoding_.largest())) {
                throw user_error(fmt::format("reproducible update: block[{}, {}] = {}; allowed: magnitudes up to `largest` = {}", i,
                                             j, value, encoding_.largest()));
            }
            largest_here = std::max(largest_here, std::abs(value));
            to[i] = encoding_.encode(value);
        }
    }
    return largest_here;
}

template <class T>
void reproducible_matrix<T>::update(base::matrix_view<const T> block, std::span<const std::int64_t> rows,
                                    std::span<const std::int64_t> cols) {
    const base::scratch_lease<std::vector<std::int64_t>> multiples;
    const double largest_here = encode(block, false, *multiples);
    sums_.update(column_major(*multiples, block.rows, block.cols), rows, cols);
    magnitude_.fetch_add(largest_here * multiplicity(rows) * multiplicity(cols), std::memory_order_relaxed);
}

template <class T>
void reproducible_matrix<T>::update_symmetric(base::matrix_view<const T> block, std::span<const std::int64_t> indices) {
    // Column major, as convergent_matrix reads a symmetric block.
    if (block.col_stride == 1) block = {block.data, block.cols, block.rows, block.col_stride, block.row_stride};
    const base::scratch_lease<std::vector<std::int64_t>> multiples;
    const bool one_triangle = block.rows == block.cols && std::ranges::is_sorted(indices);
    const double largest_here = encode(block, one_triangle, *multiples);
    sums_.update_symmetric(column_major(*multiples, block.rows, block.cols), indices);
    magnitude_.fetch_add(largest_here * multiplicity(indices) * multiplicity(indices), std::memory_order_relaxed);
}

template <class T>
void reproducible_matrix<T>::update_tiles(const typename convergent_matrix<T>::tile_source& fill, double largest_magnitude,
                                          std::span<const std::int64_t> rows, std::span<const std::int64_t> cols,
                                          const trapezoid& taken) {
    if (!(std::abs(largest_magnitude) <= encoding_.largest())) {
        throw user_error(fmt::format("reproducible update: elements reach {}; allowed: magnitudes up to `largest` = {}",
                                     largest_magnitude, encoding_.largest()));
    }
    const auto encode_tile = [&](std::span<const std::int32_t> tile_rows, std::span<const std::int32_t> tile_cols, std::int64_t* to,
                                 std::int64_t stride, const tile_ahead& ahead) {
        thread_local std::vector<T> tile;
        tile.resize(tile_rows.size() * tile_cols.size());
        fill(tile_rows, tile_cols, tile.data(), static_cast<std::int64_t>(tile_rows.size()), ahead);
        const T* from = tile.data();
        for (std::size_t b = 0; b < tile_cols.size(); ++b, to += stride) {
            for (std::size_t a = 0; a < tile_rows.size(); ++a) to[a] = encoding_.encode(static_cast<double>(*from++));
        }
    };
    sums_.update_tiles(encode_tile, rows, cols, taken);
    magnitude_.fetch_add(largest_magnitude * multiplicity(rows) * multiplicity(cols), std::memory_order_relaxed);
}

template <class T> void reproducible_matrix<T>::commit() {
    sums_.commit();
    std::array<double, 1> together{magnitude_.load()};
    ranks().communicator().sum_in_place(std::span<double>(together));
    // Sums up to twice `largest` are held without harm.
    if (together[0] > 2 * encoding_.largest()) {
        throw user_error(
            fmt::format("reproducible matrix: the updates reach {} together, but `largest` is {}: sums may not have fitted; "
                        "allowed: a `largest` that bounds the sum of the largest magnitudes of all updates",
                        together[0], encoding_.largest()));
    }
}

template <class T> void reproducible_matrix<T>::reset() {
    sums_.reset();
    magnitude_ = 0.0;
}

template <class T> T reproducible_matrix<T>::read(std::int64_t row, std::int64_t col) const {
    return static_cast<T>(encoding_.decode(sums_.read(row, col)));
}

template <class T>
std::vector<T> reproducible_matrix<T>::read_slice(std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) const {
    const auto multiples = sums_.read_slice(rows, cols);
    std::vector<T> values(multiples.size());
    std::ranges::transform(multiples, values.begin(), [&](std::int64_t m) { return static_cast<T>(encoding_.decode(m)); });
    return values;
}

template <class T> void reproducible_matrix<T>::copy_to(convergent_matrix<T>& target) const {
    if (!(target.layout() == layout())) {
        throw user_error("reproducible copy_to: the two matrices have different layouts; allowed: the same layout");
    }
    const auto from = sums_.local();
    std::ranges::transform(from, target.local().begin(), [&](std::int64_t m) { return static_cast<T>(encoding_.decode(m)); });
    ranks().barrier(); // a neighbour's next update must not meet this rank's copying
}

template class reproducible_matrix<float>;
template class reproducible_matrix<double>;

} // namespace craton::array
