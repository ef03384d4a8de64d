#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/dist_array.hpp>

#include <algorithm>
#include <cstdint>

namespace craton::linalg {

/// Blocks of a block-cyclic copy: so small that every process has one, where the matrix is large enough for that.
[[nodiscard]] inline std::int64_t block_of_copy(std::int64_t extent, const array::process_grid& grid) {
    constexpr std::int64_t largest = 64;
    return std::clamp<std::int64_t>(extent / std::max(grid.rows, grid.cols), 1, largest);
}

/// A block-cyclic matrix of so many rows and columns in square blocks, on the grid that is closest to a square. Collective.
template <class T>
[[nodiscard]] array::convergent_matrix<T> block_cyclic_matrix(runtime::world& ranks, std::int64_t rows, std::int64_t cols) {
    const auto grid = array::most_square_grid(ranks.size());
    const auto block = block_of_copy(std::min(rows, cols), grid);
    return {ranks, rows, cols, block, block, grid};
}

} // namespace craton::linalg
