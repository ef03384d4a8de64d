#pragma once

#include "part.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace craton::linalg {

/// A vector that every rank knows, dealt to the first process column of a matrix's grid for ScaLAPACK, and gathered again.
template <class T> class replicated_column {
  public:
    /// Zeros. Rows are dealt in blocks as the rows of `matrix` are.
    replicated_column(const process_context& context, const array::convergent_matrix<T>& matrix, std::int64_t length)
        : ranks_(&matrix.ranks()), layout_{{length, matrix.layout().rows.block, matrix.layout().rows.processes},
                                           {1, matrix.layout().cols.block, matrix.layout().cols.processes}},
          mine_(static_cast<std::size_t>(layout_.leading_dimension(ranks_->rank()))),
          description_(context.descriptor(layout_, ranks_->rank())), alone_(context.alone()) {}

    replicated_column(const process_context& context, const array::convergent_matrix<T>& matrix, std::span<const double> values)
        : replicated_column(context, matrix, static_cast<std::int64_t>(values.size())) {
        for_each_mine([&](std::size_t i, T& value) { value = static_cast<T>(values[i]); });
    }

    [[nodiscard]] part<T> whole() { return {mine_.data(), description_, 1, 1, description_[2], 1, alone_}; }

    /// Collective, blocking: the vector on every rank.
    [[nodiscard]] std::vector<double> gather() {
        std::vector<double> result(static_cast<std::size_t>(layout_.rows.extent), 0.0);
        for_each_mine([&](std::size_t i, T& value) { result[i] = static_cast<double>(value); });
        ranks_->communicator().sum_in_place(std::span(result));
        return result;
    }

  private:
    template <class Visit> void for_each_mine(Visit&& visit) {
        const int me = ranks_->rank();
        if (layout_.process_col(me) != 0) return;
        for (std::int64_t i = 0; i < layout_.local_rows(me); ++i) {
            visit(static_cast<std::size_t>(layout_.rows.global(layout_.process_row(me), i)), mine_[static_cast<std::size_t>(i)]);
        }
    }

    runtime::world* ranks_;
    array::block_cyclic layout_;
    std::vector<T> mine_;
    descriptor description_;
    bool alone_;
};

} // namespace craton::linalg
