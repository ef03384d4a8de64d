#pragma once

#include "index_bins.hpp"
#include "scatter_kernels.hpp"

#include <craton/array/block_cyclic.hpp>
#include <craton/array/trapezoid.hpp>

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace craton::array {

/// What one update gives one target: the target's rows and columns, and for each column the part of the rows that is taken.
struct target_part {
    int target = -1;
    const owned_indices* rows = nullptr;
    const owned_indices* cols = nullptr;
    scatter_places places;                     ///< of the rows
    std::span<const std::int32_t> first, last; ///< per column: rows first ... last - 1 of the list

    [[nodiscard]] std::int64_t columns() const { return static_cast<std::int64_t>(cols->size()); }
    [[nodiscard]] std::int64_t taken(std::int64_t b) const {
        return last[static_cast<std::size_t>(b)] - first[static_cast<std::size_t>(b)];
    }
};

/// How one update is cut among its targets. Reused by a thread from update to update, so that nothing is allocated on the way.
class update_plan {
  public:
    /// Deals rows and columns out. The spans must live as long as the plan is used. `line_elements`: elements of storage in 64
    /// bytes.
    void make(const block_cyclic& layout, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols,
              const trapezoid& taken, bool same_indices, std::int32_t line_elements);

    /// The targets that get anything. Those of one process column, which get the same columns of the block, stand side by side;
    /// otherwise in random order: ranks that update at the same pace must not all meet at the same target (French et al. 2015,
    /// III-C2).
    [[nodiscard]] std::span<const int> targets() const { return targets_; }
    /// Rows of the target that has most.
    [[nodiscard]] std::size_t most_rows() const;
    /// A number drawn at random, another one each time.
    [[nodiscard]] std::uint64_t draw() { return random_(); }
    /// Valid until a part of another process column is asked for.
    [[nodiscard]] target_part part(int target);

  private:
    // Per column of a target: which rows are taken, as numbers in the target's row list.
    struct rows_taken {
        std::vector<std::int32_t> first, last;
    };
    void count_rows_taken(const owned_indices& rows, const owned_indices& cols, rows_taken& counted) const;

    block_cyclic layout_;
    std::span<const std::int64_t> row_indices_, col_indices_;
    trapezoid taken_;
    std::vector<std::int32_t> row_order_, col_order_;
    std::vector<owned_indices> row_bins_, col_bins_;
    std::vector<std::vector<place_line>> row_lines_;
    std::vector<char> lines_side_by_side_;
    std::vector<rows_taken> rows_taken_; // by process row
    std::vector<int> targets_;
    std::vector<std::size_t> process_cols_;
    std::minstd_rand random_{std::random_device{}()};
};

} // namespace craton::array
