#include "replicated_matrix.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace craton::bench {

replicated_matrix::replicated_matrix(MPI_Comm comm, std::int64_t side)
    : comm_(comm), side_(side), elements_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count()))) {
    MPI_Comm_rank(comm, &rank_);
    reset();
}

void replicated_matrix::update_symmetric(const symmetric_update& update) {
    const auto n = std::ssize(update.indices);
    const std::int64_t* const ix = update.indices.data();
    for (std::int64_t j = 0; j < n; ++j) {
        float* const to = column(ix[j]);
        const float* const from = update.block.data() + j * n;
        for (std::int64_t i = 0; i <= j; ++i) to[ix[i]] += from[i];
    }
}

void replicated_matrix::commit() {
    constexpr std::int64_t piece = std::int64_t{1} << 22; // MPI counts in 32 bits, and its buffers should stay small
    for (std::int64_t first = 0; first < count(); first += piece) {
        const auto length = static_cast<int>(std::min(piece, count() - first));
        float* const at = elements_.get() + first;
        MPI_Reduce(rank_ == 0 ? MPI_IN_PLACE : at, rank_ == 0 ? at : nullptr, length, MPI_FLOAT, MPI_SUM, 0, comm_);
    }
    MPI_Barrier(comm_);
}

void replicated_matrix::reset() { std::fill_n(elements_.get(), count(), 0.0F); }

std::uint64_t replicated_matrix::sum() const {
    std::uint64_t total = 0;
    for (std::int64_t j = 0; rank_ == 0 && j < side_; ++j) {
        std::uint64_t in_column = 0;
        for (std::int64_t i = 0; i <= j; ++i) in_column += weighted_sum::residue(column(j)[i]) * weighted_sum::row_weight(i);
        total += in_column * weighted_sum::column_weight(j);
    }
    return total;
}

} // namespace craton::bench
