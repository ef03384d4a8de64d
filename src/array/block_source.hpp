#pragma once

#include "scatter_kernels.hpp"
#include "update_plan.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/base/matrix_view.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace craton::array {

/// The columns of an update for one target, from a block in the caller's memory. prepare(part, b, e) makes columns b ... e - 1
/// ready; column(b) then points to what would be place 0 of the target's row list (only the places taken are there).
template <class T> class block_source {
  public:
    explicit block_source(base::matrix_view<const T> block) : block_(block) {}

    /// The most columns that one prepare() should be asked for.
    [[nodiscard]] std::int64_t widest(const target_part& part) const {
        return as_it_lies(part) ? std::numeric_limits<std::int64_t>::max() : packed_columns;
    }

    static void set_destination(const T*, std::int64_t) {}

    /// As prepare(), for copy_column() only.
    void prepare_copy(const target_part& part, std::int64_t b, std::int64_t e) {
        if (as_it_lies(part) || block_.row_stride != 1) return prepare(part, b, e);
        base_ = nullptr;
    }

    void prepare(const target_part& part, std::int64_t b, std::int64_t e) {
        first_column_ = b;
        if (as_it_lies(part)) {
            base_ = block_.data + part.rows->position.front();
            col_position_ = part.cols->position.data();
            return;
        }
        base_ = nullptr;
        const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
        stride_ = static_cast<std::int64_t>(part.rows->size());
        const std::int64_t lowest = part.first[at(b)];
        const std::int64_t highest = part.last[at(e - 1)];
        auto& tile = this_thread_tile();
        if (tile.size() < at(stride_ * (e - b))) tile.resize(at(stride_ * (e - b)));
        // Sixteen rows at a time: in a row-major block the columns of a tile share the cache lines of those rows, and what is
        // written is contiguous. Nothing is read but what is taken.
        constexpr std::int64_t rows_at_a_time = 16;
        const std::int32_t* const row_position = part.rows->position.data();
        for (std::int64_t a = lowest; a < highest; a += rows_at_a_time) {
            for (std::int64_t c = b; c < e; ++c) {
                const T* const from = block_.data + part.cols->position[at(c)] * block_.col_stride;
                T* const to = tile.data() + (c - b) * stride_;
                const std::int64_t begin = std::max<std::int64_t>(a, part.first[at(c)]);
                const std::int64_t end = std::min<std::int64_t>(a + rows_at_a_time, part.last[at(c)]);
                for (std::int64_t r = begin; r < end; ++r) to[r] = from[row_position[r] * block_.row_stride];
            }
        }
        tile_ = tile.data();
    }

    /// True where a sum can be taken straight from the caller's block although its rows are dealt to several processes: the block's
    /// columns are contiguous, and so are the elements of each line.
    [[nodiscard]] bool can_be_added_as_it_lies(const target_part& part) const {
        return block_.row_stride == 1 && !part.places.lines.empty() && part.places.lines_side_by_side;
    }
    /// Row 0 of the block in the column of the target's column b.
    [[nodiscard]] const T* block_column(const target_part& part, std::int64_t b) const {
        return block_.data + part.cols->position[static_cast<std::size_t>(b)] * block_.col_stride;
    }
    /// Copies the rows taken of column b, made ready if need be, to `to`; returns where they end.
    T* copy_column(const target_part& part, std::int64_t b, T* to) const {
        const auto first = part.first[static_cast<std::size_t>(b)];
        const auto last = part.last[static_cast<std::size_t>(b)];
        if (base_ != nullptr || block_.row_stride != 1) return std::copy(column(b) + first, column(b) + last, to);
        const T* const from = block_column(part, b);
        if (can_be_added_as_it_lies(part) && part.places.many_per_line()) {
            return copy_lines(to, from, part.places.lines, first, last, block_column(part, std::min(b + 1, part.columns() - 1)));
        }
        const std::int32_t* const position = part.rows->position.data();
        for (std::int32_t a = first; a < last; ++a) *to++ = from[position[a]];
        return to;
    }

    [[nodiscard]] const T* column(std::int64_t b) const {
        if (base_ != nullptr) return base_ + col_position_[b] * block_.col_stride;
        return tile_ + (b - first_column_) * stride_;
    }

  private:
    static constexpr std::int64_t packed_columns = 16;
    static std::vector<T>& this_thread_tile() {
        thread_local std::vector<T> tile;
        return tile;
    }
    [[nodiscard]] bool as_it_lies(const target_part& part) const { return block_.row_stride == 1 && part.rows->contiguous; }

    base::matrix_view<const T> block_;
    const T* base_ = nullptr; // where columns are read as they lie
    const std::int32_t* col_position_ = nullptr;
    const T* tile_ = nullptr; // where they were packed
    std::int64_t first_column_ = 0;
    std::int64_t stride_ = 0;
};

/// The same from a function that computes tiles.
template <class T, class Fill> class tile_source_columns {
  public:
    explicit tile_source_columns(const Fill& fill) : fill_(fill) {}

    // Wide enough that a product spends its time multiplying, small enough that a tile is still in a cache when it is merged.
    [[nodiscard]] std::int64_t widest(const target_part& part) const {
        constexpr std::int64_t elements = std::int64_t{512} * 1024 / static_cast<std::int64_t>(sizeof(T));
        constexpr std::int64_t narrowest = 8;
        const std::int64_t fitting = elements / static_cast<std::int64_t>(part.rows->size());
        return std::clamp(fitting / narrowest * narrowest, narrowest, widest_of_all);
    }

    void prepare(const target_part& part, std::int64_t b, std::int64_t e) {
        const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
        first_column_ = b;
        lowest_ = part.first[at(b)];
        stride_ = part.last[at(e - 1)] - lowest_;
        thread_local std::vector<T> tile;
        if (tile.size() < at(stride_ * (e - b))) tile.resize(at(stride_ * (e - b)));
        tile_ = tile.data();
        if (stride_ == 0) return; // the triangle ends before these columns
        part_ = &part;
        first_of_tile_ = b;
        const tile_ahead ahead{base_ == nullptr || part.places.lines.empty() ? nullptr : &fetch, this};
        fill_(std::span(part.rows->position).subspan(at(lowest_), at(stride_)),
              std::span(part.cols->position).subspan(at(b), at(e - b)), tile.data(), stride_, ahead);
    }

    [[nodiscard]] const T* column(std::int64_t b) const { return tile_ + (b - first_column_) * stride_ - lowest_; }

    /// Storage that the tiles are merged into; null (as at first) where they are sent.
    void set_destination(const T* base, std::int64_t leading_dimension) {
        base_ = base;
        lld_ = leading_dimension;
    }

    [[nodiscard]] static bool can_be_added_as_it_lies(const target_part&) { return false; }
    [[nodiscard]] static const T* block_column(const target_part&, std::int64_t) { return nullptr; }
    void prepare_copy(const target_part& part, std::int64_t b, std::int64_t e) { prepare(part, b, e); }
    T* copy_column(const target_part& part, std::int64_t b, T* to) const {
        const auto at = static_cast<std::size_t>(b);
        return std::copy(column(b) + part.first[at], column(b) + part.last[at], to);
    }

  private:
    static constexpr std::int64_t widest_of_all = 32;
    // To the second-level cache: a whole tile's worth of lines is asked for before the first is needed.
    static void fetch(const void* where, std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) {
        const auto& self = *static_cast<const tile_source_columns*>(where);
        std::array<const T*, widest_of_all> columns{};
        for (std::int64_t c = 0; c < cols; ++c) {
            const auto b = static_cast<std::size_t>(self.first_of_tile_ + col + c);
            columns[static_cast<std::size_t>(c)] = self.base_ + self.part_->cols->local[b] * self.lld_;
        }
        const auto& lines = self.part_->places.lines;
        const std::int64_t first = self.lowest_ + row;
        // A line that begins in the rows above was asked for with them.
        auto line = std::partition_point(lines.begin(), lines.end(), [&](const place_line& l) {
            return row > 0 ? l.first < first : l.first + l.count <= first;
        });
        for (; line != lines.end() && line->first < first + rows; ++line) {
            for (std::int64_t c = 0; c < cols; ++c) __builtin_prefetch(columns[static_cast<std::size_t>(c)] + line->local, 0, 2);
        }
    }

    const T* base_ = nullptr;
    std::int64_t lld_ = 0, first_of_tile_ = 0;
    const target_part* part_ = nullptr;
    const Fill& fill_;
    const T* tile_ = nullptr;
    std::int64_t first_column_ = 0, lowest_ = 0, stride_ = 0;
};

} // namespace craton::array
