#include <craton/array/block_cyclic.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

namespace craton::array {

namespace {

void require_positive(std::int64_t value, const char* name) {
    if (value < 1) throw user_error(fmt::format("block-cyclic layout: {} is {}; allowed: 1 or more", name, value));
}

void require_work_for_all(const cyclic_dimension& d, const char* name) {
    if (d.processes > d.blocks()) {
        throw user_error(
            fmt::format("block-cyclic layout: {0} process {1}s but only {2} block {1}s ({3} {1}s in blocks of {4}): more ranks "
                        "than blocks; allowed: at most {2} process {1}s, or smaller blocks",
                        d.processes, name, d.blocks(), d.extent, d.block));
    }
}

} // namespace

process_grid most_square_grid(int ranks) {
    int rows = 1;
    for (int r = 1; r * r <= ranks; ++r) {
        if (ranks % r == 0) rows = r;
    }
    return {rows, ranks / rows};
}

block_cyclic make_block_cyclic(std::int64_t rows, std::int64_t cols, std::int64_t block_rows, std::int64_t block_cols,
                               process_grid grid, int ranks) {
    require_positive(rows, "number of rows");
    require_positive(cols, "number of columns");
    require_positive(block_rows, "block rows");
    require_positive(block_cols, "block columns");
    if (grid.rows == 0 && grid.cols == 0) grid = most_square_grid(ranks);
    if (grid.rows < 1 || grid.cols < 1 || grid.rows * grid.cols != ranks) {
        throw user_error(fmt::format("block-cyclic layout: process grid {} x {} on {} ranks; allowed: rows x columns = {}",
                                     grid.rows, grid.cols, ranks, ranks));
    }
    const block_cyclic layout{{rows, block_rows, grid.rows}, {cols, block_cols, grid.cols}};
    require_work_for_all(layout.rows, "row");
    require_work_for_all(layout.cols, "column");
    return layout;
}

} // namespace craton::array
