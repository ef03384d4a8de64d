#include "update_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace craton::array {

void update_plan::make(const block_cyclic& layout, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols,
                       const trapezoid& taken, bool same_indices, std::int32_t line_elements) {
    layout_ = layout;
    row_indices_ = rows;
    col_indices_ = cols;
    taken_ = taken;
    ascending_order(rows, row_order_);
    if (same_indices) {
        col_order_ = row_order_;
    } else {
        ascending_order(cols, col_order_);
    }
    bin_by_owner(rows, row_order_, layout.rows, row_bins_);
    bin_by_owner(cols, col_order_, layout.cols, col_bins_);
    row_lines_.resize(row_bins_.size());
    lines_side_by_side_.assign(row_bins_.size(), 0);
    for (std::size_t p = 0; p < row_bins_.size(); ++p) {
        row_lines_[p].clear();
        if (!row_bins_[p].distinct) continue;
        lines_side_by_side_[p] = find_lines(row_bins_[p].local, row_bins_[p].position, line_elements, row_lines_[p]) ? 1 : 0;
    }
    rows_taken_.resize(row_bins_.size());
    process_cols_.resize(col_bins_.size());
    std::iota(process_cols_.begin(), process_cols_.end(), std::size_t{0});
    std::shuffle(process_cols_.begin(), process_cols_.end(), random_);
    targets_.clear();
    for (const std::size_t q : process_cols_) {
        if (col_bins_[q].size() == 0) continue;
        const auto first_of_column = std::ssize(targets_);
        for (std::size_t p = 0; p < row_bins_.size(); ++p) {
            if (row_bins_[p].size() == 0) continue;
            targets_.push_back(layout.rank_of(static_cast<std::int64_t>(p), static_cast<std::int64_t>(q)));
        }
        std::shuffle(targets_.begin() + first_of_column, targets_.end(), random_);
    }
}

// Both lists ascend, so the bounds do too: one pass over rows and columns together.
void update_plan::count_rows_taken(const owned_indices& rows, const owned_indices& cols, rows_taken& counted) const {
    const auto all = static_cast<std::int32_t>(rows.size());
    counted.first.assign(cols.size(), 0);
    counted.last.assign(cols.size(), all);
    if (taken_.which == trapezoid::side::all) return;
    const bool upper = taken_.which == trapezoid::side::upper;
    std::int32_t bound = 0;
    for (std::size_t b = 0; b < cols.size(); ++b) {
        const std::int64_t edge = col_indices_[static_cast<std::size_t>(cols.position[b])] + taken_.offset;
        // upper: the first row that is not taken (i > edge); lower: the first that is (i >= edge)
        while (bound < all) {
            const std::int64_t i = row_indices_[static_cast<std::size_t>(rows.position[static_cast<std::size_t>(bound)])];
            if (upper ? i > edge : i >= edge) break;
            ++bound;
        }
        (upper ? counted.last : counted.first)[b] = bound;
    }
}

std::size_t update_plan::most_rows() const {
    std::size_t most = 0;
    for (const auto& bin : row_bins_) most = std::max(most, bin.size());
    return most;
}

target_part update_plan::part(int target) {
    const auto p = static_cast<std::size_t>(layout_.process_row(target));
    const auto q = static_cast<std::size_t>(layout_.process_col(target));
    count_rows_taken(row_bins_[p], col_bins_[q], rows_taken_[p]);
    const scatter_places places{row_bins_[p].local, row_lines_[p], row_bins_[p].distinct, lines_side_by_side_[p] != 0};
    return {target, &row_bins_[p], &col_bins_[q], places, rows_taken_[p].first, rows_taken_[p].last};
}

} // namespace craton::array
