#pragma once

#include "assembly/workload.hpp"

#include <craton/array/block_cyclic.hpp>

#include <cstdint>
#include <vector>

namespace craton::simulated {

inline constexpr std::int64_t distinct_updates = 64; // of all ranks, which lie in one process and read the same

/// All updates that there are, and what each adds to the weighted sum of the matrix. Weights tell where an element is; sums stay
/// exact.
class shared_updates {
  public:
    explicit shared_updates(const bench::workload_shape& shape);
    [[nodiscard]] const bench::symmetric_update& operator[](std::int64_t number) const {
        return all_[static_cast<std::size_t>(number) % all_.size()];
    }
    [[nodiscard]] std::int64_t sum(std::int64_t number) const { return sums_[static_cast<std::size_t>(number) % sums_.size()]; }

  private:
    std::vector<bench::symmetric_update> all_;
    std::vector<std::int64_t> sums_;
};

/// Made by the first rank that comes; making them takes no simulated time.
[[nodiscard]] const shared_updates& updates_of(const bench::workload_shape& shape);

/// The weighted sum of a rank's part of a matrix.
[[nodiscard]] std::int64_t weighted_sum(const array::block_cyclic& layout, int rank, const float* storage);

} // namespace craton::simulated
