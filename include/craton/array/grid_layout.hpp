#pragma once

#include <craton/array/domain.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::array {

/// A structured grid cut into rectangular blocks by planes that go through all of it, each block owned by one rank: pure
/// arithmetic, no communication. box_layout cuts it into cubic boxes, many per rank; brick_layout into one brick per rank.
class grid_layout {
  public:
    /// The first cell of every block along each dimension, then the number of cells.
    using boundaries = std::array<std::vector<std::int64_t>, 3>;

    /// Cells of the grid are 0 <= c < high along each dimension.
    [[nodiscard]] domain grid() const noexcept { return {{0, 0, 0}, {cuts_[0].back(), cuts_[1].back(), cuts_[2].back()}}; }
    /// Blocks along each dimension.
    [[nodiscard]] index3 blocks_along() const noexcept;
    [[nodiscard]] std::int64_t blocks() const noexcept { return std::ssize(owner_); }
    [[nodiscard]] int ranks() const noexcept { return static_cast<int>(blocks_of_.size()); }
    [[nodiscard]] const std::array<bool, 3>& periodic() const noexcept { return periodic_; }

    /// Where a block stands: counted along x first, then y, then z; in blocks along each dimension; and which block stands there.
    [[nodiscard]] std::int64_t position(std::int64_t block) const noexcept {
        return positions_.empty() ? block : positions_[static_cast<std::size_t>(block)];
    }
    [[nodiscard]] index3 place(std::int64_t block) const noexcept;
    [[nodiscard]] std::int64_t block_at(const index3& place) const noexcept;
    [[nodiscard]] domain cells(std::int64_t block) const noexcept;
    /// The block that has a cell of the grid.
    [[nodiscard]] std::int64_t block_of(const index3& cell) const noexcept;
    [[nodiscard]] int owner(std::int64_t block) const noexcept { return owner_[static_cast<std::size_t>(block)]; }
    /// The blocks of a rank in the order of their storage, and where one stands among its owner's.
    [[nodiscard]] std::span<const std::int64_t> blocks_of(int rank) const { return blocks_of_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] std::int64_t slot(std::int64_t block) const noexcept { return slot_[static_cast<std::size_t>(block)]; }

    /// What lies on one side of a block.
    struct neighbour {
        std::int64_t block = -1; ///< -1: outside the grid
        index3 shift{}; ///< the neighbour's cells, moved by this, lie beside the block (zero unless round a periodic boundary)
    };
    [[nodiscard]] neighbour beside(std::int64_t block, const index3& side) const noexcept;

    friend bool operator==(const grid_layout&, const grid_layout&) = default;

  protected:
    /// `blocks_of`: those of each rank. `positions`: of each block; empty: its number.
    grid_layout(boundaries cuts, const std::array<bool, 3>& periodic, std::vector<std::vector<std::int64_t>> blocks_of,
                std::vector<std::int64_t> positions = {});

  private:
    boundaries cuts_;
    std::array<bool, 3> periodic_{};
    std::vector<std::vector<std::int64_t>> blocks_of_;
    std::vector<int> owner_;
    std::vector<std::int64_t> slot_;
    std::vector<std::int64_t> positions_, block_at_; // empty where each is its own number
};

} // namespace craton::array
