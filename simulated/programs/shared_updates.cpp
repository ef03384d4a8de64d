#include "shared_updates.hpp"

namespace craton::simulated {

namespace {

// Of each element, the product of small weights of its row and column.
std::int64_t weight(std::int64_t index) { return 1 + index * 2654435761 % 4294967296 % 7; }

std::int64_t weighted_sum(const bench::symmetric_update& update) {
    const auto n = std::ssize(update.indices);
    std::int64_t sum = 0;
    for (std::int64_t b = 0; b < n; ++b) {
        std::int64_t column = 0;
        for (std::int64_t a = 0; a <= b; ++a) {
            column += weight(update.indices[static_cast<std::size_t>(a)]) *
                      static_cast<std::int64_t>(update.block[static_cast<std::size_t>(a + b * n)]);
        }
        sum += column * weight(update.indices[static_cast<std::size_t>(b)]);
    }
    return sum;
}

} // namespace

shared_updates::shared_updates(const bench::workload_shape& shape) {
    for (std::int64_t number = 0; number < shape.updates; ++number) {
        all_.push_back(bench::make_update(shape, number));
        sums_.push_back(weighted_sum(all_.back()));
    }
}

const shared_updates& updates_of(const bench::workload_shape& shape) {
    static const shared_updates all(shape);
    return all;
}

std::int64_t weighted_sum(const array::block_cyclic& layout, int rank, const float* storage) {
    const std::int64_t lld = layout.leading_dimension(rank);
    std::vector<std::int64_t> row_weight;
    for (std::int64_t i = 0; i < layout.local_rows(rank); ++i)
        row_weight.push_back(weight(layout.rows.global(layout.process_row(rank), i)));
    std::int64_t sum = 0;
    for (std::int64_t j = 0; j < layout.local_cols(rank); ++j) {
        const float* const column = storage + j * lld;
        std::int64_t of_column = 0;
        for (std::size_t i = 0; i < row_weight.size(); ++i) of_column += row_weight[i] * static_cast<std::int64_t>(column[i]);
        sum += of_column * weight(layout.cols.global(layout.process_col(rank), j));
    }
    return sum;
}

} // namespace craton::simulated
