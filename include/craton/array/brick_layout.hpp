#pragma once

#include <craton/array/domain.hpp>

#include <cstdint>
#include <vector>

namespace craton::array {

/// Cells that a brick has along each dimension at least: as many as the deepest halo (brick_grid), so that halos come from the bricks
/// beside it and no other.
inline constexpr std::int64_t thinnest_brick = 4;

/// How many bricks to cut a grid into along each dimension, so that the faces between bricks are smallest in all; of equals those that cut
/// x, and then y, least, so that rows stay long and faces contiguous. `fixed`: numbers that are given, 0 where free. Throws user_error, naming
/// the values, when the numbers given are negative or do not divide `ranks`, or every way makes a brick thinner than thinnest_brick.
[[nodiscard]] index3 best_process_grid(const index3& cells, int ranks, const index3& fixed = {0, 0, 0});

/// A grid cut into one rectangular brick per rank: pure arithmetic, no communication. Brick b = p + q * processes[0] + r * processes[0] *
/// processes[1] stands at place (p, q, r) and has cells floor(cells[0] p / processes[0]) ... floor(cells[0] (p + 1) / processes[0]) - 1
/// along x, and so on: sizes that differ by 1 at most.
class brick_layout {
  public:
    /// `brick_of_rank`: which brick each rank has (array/placement.hpp finds good ones); empty: its own number. Throws user_error, naming
    /// the values, when a number of processes is below 1, a brick would be thinner than thinnest_brick, there are 2^31 ranks or more, or
    /// brick_of_rank is not each brick once.
    brick_layout(const index3& cells, const index3& processes, std::vector<int> brick_of_rank = {});

    [[nodiscard]] domain grid() const noexcept { return {{0, 0, 0}, cells_}; }
    [[nodiscard]] const index3& processes() const noexcept { return processes_; }
    [[nodiscard]] int ranks() const noexcept { return static_cast<int>(processes_[0] * processes_[1] * processes_[2]); }

    [[nodiscard]] int brick_of(int rank) const {
        return brick_of_rank_.empty() ? rank : brick_of_rank_[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] int rank_of(int brick) const {
        return rank_of_brick_.empty() ? brick : rank_of_brick_[static_cast<std::size_t>(brick)];
    }
    /// Of a rank's brick.
    [[nodiscard]] index3 place(int rank) const;
    [[nodiscard]] domain cells(int rank) const;
    /// The rank that has a cell of the grid.
    [[nodiscard]] int owner(const index3& cell) const;

    /// The rank beside this one along `axis`, below (side -1) or above (side +1); -1 outside the grid.
    [[nodiscard]] int beside(int rank, int axis, int side) const;
    /// Cells of the face between a rank and those beside it along `axis`.
    [[nodiscard]] std::int64_t face_cells(int rank, int axis) const;

    friend bool operator==(const brick_layout&, const brick_layout&) = default;

  private:
    [[nodiscard]] std::int64_t first_cell(std::size_t axis, std::int64_t place) const {
        return cells_[axis] * place / processes_[axis];
    }

    index3 cells_, processes_;
    std::vector<int> brick_of_rank_, rank_of_brick_; // empty where each is its own number
};

} // namespace craton::array
