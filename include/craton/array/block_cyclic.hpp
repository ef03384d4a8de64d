#pragma once

#include <cstdint>

namespace craton::array {

/// ScaLAPACK's block-cyclic distribution of one dimension: blocks of `block` indices are dealt to `processes` in turn, starting
/// with process 0. Pure arithmetic (ScaLAPACK Users' Guide, 4.3.1: NUMROC, INDXG2L, INDXG2P, INDXL2G) on 64-bit, zero-based
/// indices.
struct cyclic_dimension {
    std::int64_t extent = 0;
    std::int64_t block = 1;
    std::int64_t processes = 1;

    /// The process that owns a global index.
    [[nodiscard]] constexpr std::int64_t owner(std::int64_t i_global) const { return (i_global / block) % processes; }
    /// Where a global index lies on its owner.
    [[nodiscard]] constexpr std::int64_t local(std::int64_t i_global) const {
        return (i_global / (block * processes)) * block + i_global % block;
    }
    /// The global index at place i_local of a process.
    [[nodiscard]] constexpr std::int64_t global(std::int64_t process, std::int64_t i_local) const {
        return ((i_local / block) * processes + process) * block + i_local % block;
    }
    /// How many indices a process owns.
    [[nodiscard]] constexpr std::int64_t local_extent(std::int64_t process) const {
        const std::int64_t whole_blocks = extent / block;
        std::int64_t count = (whole_blocks / processes) * block;
        const std::int64_t left_over = whole_blocks % processes;
        if (process < left_over) count += block;
        if (process == left_over) count += extent % block;
        return count;
    }
    /// Blocks, the last possibly partial.
    [[nodiscard]] constexpr std::int64_t blocks() const { return (extent + block - 1) / block; }

    friend constexpr bool operator==(const cyclic_dimension&, const cyclic_dimension&) = default;
};

/// Two-dimensional block-cyclic layout on a process grid whose ranks are numbered row by row (BLACS "Row").
/// Local storage is column major with leading dimension max(1, local rows).
struct block_cyclic {
    cyclic_dimension rows;
    cyclic_dimension cols;

    /// Of a place of the process grid, and back.
    [[nodiscard]] constexpr int rank_of(std::int64_t process_row, std::int64_t process_col) const {
        return static_cast<int>(process_row * cols.processes + process_col);
    }
    [[nodiscard]] constexpr std::int64_t process_row(int rank) const { return rank / cols.processes; }
    [[nodiscard]] constexpr std::int64_t process_col(int rank) const { return rank % cols.processes; }
    /// The rank that owns an element.
    [[nodiscard]] constexpr int owner(std::int64_t i_global, std::int64_t j_global) const {
        return rank_of(rows.owner(i_global), cols.owner(j_global));
    }
    /// What a rank stores: rows, columns, and the distance of its columns in elements, at least 1.
    [[nodiscard]] constexpr std::int64_t local_rows(int rank) const { return rows.local_extent(process_row(rank)); }
    [[nodiscard]] constexpr std::int64_t local_cols(int rank) const { return cols.local_extent(process_col(rank)); }
    [[nodiscard]] constexpr std::int64_t leading_dimension(int rank) const {
        const std::int64_t count = local_rows(rank);
        return count > 0 ? count : 1;
    }
    /// Of the whole process grid.
    [[nodiscard]] constexpr std::int64_t ranks() const { return rows.processes * cols.processes; }

    friend constexpr bool operator==(const block_cyclic&, const block_cyclic&) = default;
};

/// Process rows and columns; zeros ask for the most square grid.
struct process_grid {
    int rows = 0;
    int cols = 0;
};

/// The most square grid of `ranks` processes, no more rows than columns.
[[nodiscard]] process_grid most_square_grid(int ranks);

/// Checks sizes and makes the layout. Throws user_error when an extent or block is not positive, when the grid does not have
/// `ranks` processes, or when a process would own nothing (more ranks than blocks).
[[nodiscard]] block_cyclic make_block_cyclic(std::int64_t rows, std::int64_t cols, std::int64_t block_rows, std::int64_t block_cols,
                                             process_grid grid, int ranks);

} // namespace craton::array
