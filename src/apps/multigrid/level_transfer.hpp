#pragma once

#include "level.hpp"

#include <craton/apps/multigrid/kernels/uneven_levels.hpp>
#include <craton/runtime/neighbour_sync.hpp>
#include <craton/runtime/notified_copies.hpp>

#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace craton::multigrid {

/// Between a level and the next coarser one, of half the cells along some dimensions, rounded up. Where that one's boxes are
/// gathered, mostly eight into one, a grid of the fine boxes' coarse halves stands in between, and its boxes are copied to and from
/// the octants of the coarse level's.
class level_transfer {
  public:
    /// Collective. Both must outlive this.
    level_transfer(level& fine, level& coarse);

    /// Coarse cells become the means of their 8 fine cells, or of those that they lie upon where a number of cells is odd or a
    /// dimension is not halved. Collective.
    void restrict_cells(int fine_vector, int coarse_vector);
    /// Beta of the coarse level from the fine one's, all three dimensions, and alpha, if there is one; the fine one's have
    /// their ghosts, and beta is not yet that of Robin sides. Collective.
    void restrict_coefficients();
    /// Whether a dimension has an odd number of fine cells, so that cells of the two levels do not nest, or is not halved.
    [[nodiscard]] bool uneven() const noexcept { return !pairs_.empty(); }
    /// fine = keep fine + P coarse, after the coarse ghosts that the formula wants are filled. Collective.
    void prolong(int coarse_vector, const prolongation_formula& formula, double keep, int fine_vector);

  private:
    [[nodiscard]] double* half(std::int64_t fine_box, int coarse_vector) const;
    [[nodiscard]] box_shape half_shape(std::int64_t fine_box) const;
    // Along a dimension: the coarse cell that begins with a fine box.
    [[nodiscard]] std::int64_t first_coarse(std::int64_t fine_box, std::size_t dimension) const;
    // A box's entries of the tables of the whole grid.
    [[nodiscard]] along_box<std::array<double, 3>> shares_of(std::int64_t fine_box) const;
    [[nodiscard]] const std::array<child_weights, 3>& weights_for(const prolongation_formula& formula);
    [[nodiscard]] std::int64_t coarse_box_of(std::int64_t fine_box) const;
    // Cells of a fine box's half that travel, with `faces` as below.
    [[nodiscard]] array::domain octant(std::int64_t fine_box, const array::index3& faces) const;
    // `faces`: per dimension 1 where the boundary's last layer is wanted too.
    void gather(int coarse_vector, const array::index3& faces);
    void spread(int coarse_vector, int reach);

    level* fine_;
    level* coarse_;
    std::unique_ptr<array::block_grid<double>> halves_; // null where boxes shrink in place
    std::array<bool, 3> halved_;                        // per dimension: else both levels have the same cells
    std::vector<uneven_pair> pairs_;                    // per dimension; empty where all cells nest, eight by eight
    // By the formula's reach and order of ghosts, when first wanted.
    std::map<std::pair<int, int>, std::array<child_weights, 3>> weights_;
    // Octants travel by copies that notify their target; both ways are rounds of the same object.
    std::vector<int> up_, down_; // other ranks that own coarse boxes of this rank's fine ones, and fine boxes of its coarse ones
    std::unique_ptr<runtime::notified_copies> copies_;
    std::unique_ptr<runtime::neighbour_sync> sync_;
    std::vector<int> near_up_, near_down_;  // those of them that share memory
    std::vector<std::int64_t> from_coarse_; // fine boxes, of any rank, that lie in this rank's coarse boxes
    bool gathered_since_spread_ = false;
};

} // namespace craton::multigrid
