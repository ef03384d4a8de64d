#pragma once

#include <craton/array/domain.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <ranges>
#include <vector>

namespace craton::array {

/// A structured grid cut into rectangular blocks by planes that go through all of it, each block owned by one rank: pure
/// arithmetic, no communication. box_layout cuts it into cubic boxes, many per rank; brick_layout into one brick per rank.
///
/// Blocks are dealt to ranks in an order: the rank that owns one is floor(ranks * turn / number of blocks), its turn being that in
/// the order. Copies of a layout share its tables: 8 bytes a block where the order is not that of the numbers, and as many where
/// blocks do not stand in the order of their numbers.
class grid_layout {
    // A block by its turn.
    struct block_in_turn {
        const std::int32_t* order; // null: its number
        [[nodiscard]] std::int64_t operator()(std::int64_t turn) const noexcept { return order == nullptr ? turn : order[turn]; }
    };

  public:
    /// The blocks of a rank: as a span.
    using block_list = std::ranges::transform_view<std::ranges::iota_view<std::int64_t, std::int64_t>, block_in_turn>;
    /// The first cell of every block along each dimension, then the number of cells.
    using boundaries = std::array<std::vector<std::int64_t>, 3>;

    /// Cells of the grid are 0 <= c < high along each dimension.
    [[nodiscard]] domain grid() const noexcept { return {{0, 0, 0}, {cuts(0).back(), cuts(1).back(), cuts(2).back()}}; }
    /// Blocks along each dimension.
    [[nodiscard]] index3 blocks_along() const noexcept;
    [[nodiscard]] std::int64_t blocks() const noexcept { return blocks_; }
    [[nodiscard]] int ranks() const noexcept { return ranks_; }
    [[nodiscard]] const std::array<bool, 3>& periodic() const noexcept { return periodic_; }

    /// Where a block stands: counted along x first, then y, then z; in blocks along each dimension; and which block stands there.
    [[nodiscard]] std::int64_t position(std::int64_t block) const noexcept { return place_in(shared_->positions, block); }
    [[nodiscard]] index3 place(std::int64_t block) const noexcept;
    [[nodiscard]] std::int64_t block_at(const index3& place) const noexcept;
    [[nodiscard]] domain cells(std::int64_t block) const noexcept;
    /// The block that has a cell of the grid.
    [[nodiscard]] std::int64_t block_of(const index3& cell) const noexcept;
    [[nodiscard]] int owner(std::int64_t block) const noexcept {
        return static_cast<int>(ranks_ * place_in(shared_->turns, block) / blocks_);
    }
    /// The blocks of a rank in the order of their storage, and where one stands among its owner's.
    [[nodiscard]] block_list blocks_of(int rank) const {
        return {std::views::iota(first_turn(rank), first_turn(rank + 1)),
                {shared_->order.empty() ? nullptr : shared_->order.data()}};
    }
    [[nodiscard]] std::int64_t slot(std::int64_t block) const noexcept {
        return place_in(shared_->turns, block) - first_turn(owner(block));
    }
    /// Cells of the thinnest block, along any dimension; and whether all blocks are as large.
    [[nodiscard]] std::int64_t thinnest() const noexcept;
    [[nodiscard]] bool uniform() const noexcept;

    /// What lies on one side of a block.
    struct neighbour {
        std::int64_t block = -1; ///< -1: outside the grid
        index3 shift{}; ///< the neighbour's cells, moved by this, lie beside the block (zero unless round a periodic boundary)
    };
    /// What lies on a side of a block: -1, 0 or 1 along each dimension.
    [[nodiscard]] neighbour beside(std::int64_t block, const index3& side) const noexcept;

    friend bool operator==(const grid_layout& a, const grid_layout& b) {
        return a.ranks_ == b.ranks_ && a.periodic_ == b.periodic_ && (a.shared_ == b.shared_ || *a.shared_ == *b.shared_);
    }

  protected:
    /// `order`: of blocks, as they are dealt; `positions`: of each block; empty: their numbers.
    grid_layout(boundaries cuts, const std::array<bool, 3>& periodic, int ranks, std::vector<std::int32_t> order = {},
                std::vector<std::int32_t> positions = {});

  private:
    // Empty where it would be 0, 1, 2, ...
    using numbers = std::vector<std::int32_t>;
    struct tables {
        boundaries cuts;
        numbers order, turns;        // which block has a turn, and the turn of each
        numbers positions, block_at; // where each stands, and which one stands there
        friend bool operator==(const tables&, const tables&) = default;
    };
    [[nodiscard]] const std::vector<std::int64_t>& cuts(std::size_t dimension) const noexcept { return shared_->cuts[dimension]; }
    [[nodiscard]] static std::int64_t place_in(const numbers& of, std::int64_t n) noexcept {
        return of.empty() ? n : of[static_cast<std::size_t>(n)];
    }
    [[nodiscard]] std::int64_t first_turn(int rank) const noexcept { return (blocks_ * rank + ranks_ - 1) / ranks_; }

    std::shared_ptr<const tables> shared_;
    std::array<bool, 3> periodic_{};
    std::int64_t blocks_ = 0;
    int ranks_ = 0;
};

} // namespace craton::array
