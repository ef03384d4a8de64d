#pragma once

#include <craton/array/grid_layout.hpp>

#include <cstdint>
#include <vector>

namespace craton::array {

/// Cells that a brick has along each dimension at least: as many as the deepest halo (block_grid), so that halos come from the
/// bricks beside it and no other.
inline constexpr std::int64_t thinnest_brick = 4;

/// How many bricks to cut a grid into along each dimension, so that the faces between bricks are smallest in all; of equals those
/// that cut x, and then y, least, so that rows stay long and faces contiguous. `fixed`: numbers that are given, 0 where free.
/// Throws user_error, naming the values, when the numbers given are negative or do not divide `ranks`, or every way makes a brick
/// thinner than thinnest_brick.
[[nodiscard]] index3 best_process_grid(const index3& cells, int ranks, const index3& fixed = {0, 0, 0});

/// A grid cut into one rectangular brick per rank, whose block is numbered as the rank is. Brick b = p + q * processes[0] + r *
/// processes[0] * processes[1] stands at place (p, q, r) and has cells floor(cells[0] p / processes[0]) ... floor(cells[0] (p + 1)
/// / processes[0]) - 1 along x, and so on: sizes that differ by 1 at most.
class brick_layout : public grid_layout {
  public:
    /// `brick_of_rank`: which brick each rank has (array/placement.hpp finds good ones); empty: its own number. Throws user_error,
    /// naming the values, when a number of processes is below 1, a brick would be thinner than thinnest_brick, there are 2^31 ranks
    /// or more, or brick_of_rank is not each brick once.
    /// `in`: bricks are cut at multiples of these numbers of cells, each as a grid of cells so large is cut.
    brick_layout(const index3& cells, const index3& processes, const std::vector<int>& brick_of_rank = {},
                 const index3& in = {1, 1, 1});

    /// Bricks along each dimension; the brick of a rank, and the rank of a brick.
    [[nodiscard]] index3 processes() const noexcept { return blocks_along(); }
    [[nodiscard]] int brick_of(int rank) const { return static_cast<int>(position(rank)); }
    [[nodiscard]] int rank_of(int brick) const;

    /// The rank beside this one along `axis`, below (side -1) or above (side +1); -1 outside the grid.
    [[nodiscard]] int rank_beside(int rank, int axis, int side) const;
    /// Cells of the face between a rank and those beside it along `axis`.
    [[nodiscard]] std::int64_t face_cells(int rank, int axis) const;
};

} // namespace craton::array
