#include <craton/array/reproducible_matrix.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace craton::array {

template <class T>
reproducible_matrix<T>::reproducible_matrix(runtime::world& ranks, std::int64_t rows, std::int64_t cols, double largest,
                                            std::int64_t block_rows, std::int64_t block_cols, process_grid grid)
    : encoding_(largest), sums_(ranks, rows, cols, block_rows, block_cols, grid) {}

template <class T> base::matrix_view<const std::int64_t> reproducible_matrix<T>::encoded(base::matrix_view<const T> block) {
    thread_local std::vector<std::int64_t> multiples;
    multiples.resize(static_cast<std::size_t>(block.rows * block.cols));
    double largest_here = 0;
    auto* to = multiples.data();
    for (std::int64_t j = 0; j < block.cols; ++j) {
        for (std::int64_t i = 0; i < block.rows; ++i) {
            const auto value = static_cast<double>(block.data[i * block.row_stride + j * block.col_stride]);
            if (!(std::abs(value) <= encoding_.largest())) {
                throw user_error(fmt::format("reproducible update: block[{}, {}] = {}; allowed: magnitudes up to `largest` = {}", i,
                                             j, value, encoding_.largest()));
            }
            largest_here = std::max(largest_here, std::abs(value));
            *to++ = encoding_.encode(value);
        }
    }
    magnitude_.fetch_add(largest_here, std::memory_order_relaxed);
    return base::column_major<const std::int64_t>(multiples.data(), block.rows, block.cols, std::max<std::int64_t>(block.rows, 1));
}

template <class T>
void reproducible_matrix<T>::update(base::matrix_view<const T> block, std::span<const std::int64_t> rows,
                                    std::span<const std::int64_t> cols) {
    sums_.update(encoded(block), rows, cols);
}

template <class T>
void reproducible_matrix<T>::update_symmetric(base::matrix_view<const T> block, std::span<const std::int64_t> indices) {
    // Column major, as convergent_matrix reads a symmetric block.
    if (block.col_stride == 1) block = {block.data, block.cols, block.rows, block.col_stride, block.row_stride};
    sums_.update_symmetric(encoded(block), indices);
}

template <class T>
void reproducible_matrix<T>::update_tiles(const typename convergent_matrix<T>::tile_source& fill, double largest_magnitude,
                                          std::span<const std::int64_t> rows, std::span<const std::int64_t> cols,
                                          const trapezoid& taken) {
    if (!(largest_magnitude <= encoding_.largest())) {
        throw user_error(fmt::format("reproducible update: elements reach {}; allowed: magnitudes up to `largest` = {}",
                                     largest_magnitude, encoding_.largest()));
    }
    const auto encode = [&](std::span<const std::int32_t> tile_rows, std::span<const std::int32_t> tile_cols, std::int64_t* to,
                            std::int64_t stride) {
        thread_local std::vector<T> tile;
        tile.resize(tile_rows.size() * tile_cols.size());
        fill(tile_rows, tile_cols, tile.data(), static_cast<std::int64_t>(tile_rows.size()));
        const T* from = tile.data();
        for (std::size_t b = 0; b < tile_cols.size(); ++b, to += stride) {
            for (std::size_t a = 0; a < tile_rows.size(); ++a) to[a] = encoding_.encode(static_cast<double>(*from++));
        }
    };
    magnitude_.fetch_add(largest_magnitude, std::memory_order_relaxed);
    sums_.update_tiles(encode, rows, cols, taken);
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
