#pragma once

#include "cells_in_row.hpp"
#include "host_device.hpp"

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>
#include <craton/base/assert.hpp>

#include <cstddef>
#include <cstdint>

namespace craton::waves::device {

// How cells are shared out among the threads of a device, and the differences that all of them take.

/// surface_closure times dt / h, in single precision.
struct closed_differences {
    int planes = 0; ///< 0: no surface
    float plus[surface_closure::planes][surface_closure::width] = {};
    float minus[surface_closure::planes][surface_closure::width] = {};
};

inline closed_differences closed_differences_of(const surface_closure* surface, const differences& d) {
    closed_differences closed;
    if (surface == nullptr) return closed;
    closed.planes = surface_closure::planes;
    for (std::size_t k = 0; k < surface_closure::planes; ++k) {
        for (std::size_t n = 0; n < surface_closure::width; ++n) {
            closed.plus[k][n] = static_cast<float>(d.dt_over_h() * surface->plus[k][n]);
            closed.minus[k][n] = static_cast<float>(d.dt_over_h() * surface->minus[k][n]);
        }
    }
    return closed;
}

/// The difference from four values in a row. From faces to centres i - 1, i, i + 1, i + 2; from centres to faces i - 2, i - 1, i, i
/// + 1.
template <class Cells>
CRATON_HOST_DEVICE Cells difference(const differences& d, const Cells& a, const Cells& b, const Cells& c, const Cells& e) {
    return d.c1 * (c - b) + d.c2 * (e - a);
}
/// Across rows, `s` elements apart.
template <class Cells> CRATON_HOST_DEVICE Cells plus(const differences& d, const float* f, std::int64_t s) {
    return difference(d, read<Cells>(f - s), read<Cells>(f), read<Cells>(f + s), read<Cells>(f + 2 * s));
}
template <class Cells> CRATON_HOST_DEVICE Cells minus(const differences& d, const float* f, std::int64_t s) {
    return difference(d, read<Cells>(f - 2 * s), read<Cells>(f - s), read<Cells>(f), read<Cells>(f + s));
}
/// Along a row.
template <class Cells> CRATON_HOST_DEVICE Cells plus(const differences& d, const float* f) {
    if constexpr (cells_in<Cells> == 1) {
        return plus<Cells>(d, f, 1);
    } else {
        const row_with_neighbours<cells_in<Cells>> row(f);
        return Cells::each(
            [&](int c) { return difference(d, row.value[c + 1], row.value[c + 2], row.value[c + 3], row.value[c + 4]); });
    }
}
template <class Cells> CRATON_HOST_DEVICE Cells minus(const differences& d, const float* f) {
    if constexpr (cells_in<Cells> == 1) {
        return minus<Cells>(d, f, 1);
    } else {
        const row_with_neighbours<cells_in<Cells>> row(f);
        return Cells::each(
            [&](int c) { return difference(d, row.value[c], row.value[c + 1], row.value[c + 2], row.value[c + 3]); });
    }
}

/// A weighted sum over the planes below the surface; `column` is at plane 0.
template <class Cells>
CRATON_HOST_DEVICE Cells closed_sum(const float (&row)[surface_closure::width], const float* column, std::int64_t plane) {
    Cells sum{};
    for (int n = 0; n < surface_closure::width; ++n) sum += row[n] * read<Cells>(column + n * plane);
    return sum;
}

/// How a range of cells is shared out: a thread has a column of `depth` planes, `wide` cells of a row in each; `lanes` threads
/// beside each other a row's cells, begun where a piece of memory of so many floats begins.
struct columns {
    cell_range cells;
    std::int64_t depth = 1;
    int rows = 1;     ///< of a block
    int lanes = warp; ///< 8 (the 32 bytes that a device moves at once), 16 or 32
    int wide = 1;

    [[nodiscard]] launch_shape shape() const {
        launch_shape found;
        found.blocks_x = divided_up(cells.i1 - line_start(), lanes * wide);
        found.blocks_y = divided_up(cells.j1 - cells.j0, rows);
        found.blocks_z = divided_up(cells.k1 - cells.k0, depth);
        found.threads_x = lanes;
        found.threads_y = rows;
        return found;
    }
    // The first cell of a line at or before i0 >= 0.
    [[nodiscard]] CRATON_HOST_DEVICE std::int64_t line_start() const { return cells.i0 / (lanes * wide) * (lanes * wide); }

    /// A thread's cells: i0 = i1 when it has none.
    [[nodiscard]] CRATON_HOST_DEVICE cell_range of(const place& at) const {
        cell_range own;
        own.i0 = line_start() + (at.block_x * lanes + at.thread_x) * wide;
        own.j0 = cells.j0 + at.block_y * rows + at.thread_y;
        own.k0 = cells.k0 + at.block_z * depth;
        const bool inside = own.i0 >= cells.i0 && own.i0 < cells.i1 && own.j0 < cells.j1;
        own.i1 = own.i0 + (inside ? wide : 0);
        own.j1 = own.j0 + 1;
        own.k1 = own.k0 + depth < cells.k1 ? own.k0 + depth : cells.k1;
        return own;
    }
};

/// Columns as long as there are still enough of them to fill a large device a few times over.
inline columns columns_of(const cell_range& cells, int threads_of_block, int wide) {
    constexpr std::int64_t enough = std::int64_t{1} << 20, shortest = 16, longest = 128;
    std::int64_t depth = cells.cells() / wide / enough;
    depth = depth < shortest ? shortest : depth > longest ? longest : depth;
    return {cells, depth, threads_of_block / warp, warp, wide};
}

/// The columns of several disjoint ranges in one launch: six small launches would each wait for its last threads.
struct column_list {
    static constexpr std::size_t most = 6;
    static constexpr std::int64_t depth = 8;

    columns parts[most];
    std::int64_t begin[most + 1] = {}; ///< blocks before each part
    std::size_t count = 0;
    int threads = 0; ///< of a block

    /// At most `most` in all, for blocks of as many threads as those before.
    void add(const cell_range& cells, int threads_of_block) {
        CRATON_ASSERT(count < most);
        columns& part = parts[count];
        threads = threads_of_block;
        std::int64_t fewest = 0; // blocks
        for (const int lanes : {32, 16, 8}) {
            const columns tried{cells, depth, threads / lanes, lanes};
            const launch_shape shape = tried.shape();
            const std::int64_t blocks = shape.blocks_x * shape.blocks_y * shape.blocks_z;
            if (lanes < 32 && 4 * blocks > 3 * fewest) continue; // whole lines, unless a quarter of the blocks can be saved
            fewest = blocks;
            part = tried;
        }
        begin[count + 1] = begin[count] + fewest;
        ++count;
    }
    [[nodiscard]] launch_shape shape() const {
        launch_shape found;
        found.blocks_x = begin[count];
        found.threads_x = threads;
        return found;
    }
    [[nodiscard]] CRATON_HOST_DEVICE cell_range of(const place& at) const {
        std::size_t n = 0;
        while (at.block_x >= begin[n + 1]) ++n;
        const columns& part = parts[n];
        const std::int64_t block = at.block_x - begin[n];
        const std::int64_t along_x = divided_up(part.cells.i1 - part.line_start(), part.lanes);
        const std::int64_t along_y = divided_up(part.cells.j1 - part.cells.j0, part.rows);
        return part.of({block % along_x, block / along_x % along_y, block / along_x / along_y, at.thread_x % part.lanes,
                        at.thread_x / part.lanes});
    }
};

} // namespace craton::waves::device
