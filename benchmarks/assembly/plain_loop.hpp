#pragma once

#include "team.hpp"
#include "workload.hpp"

#include <cstdint>
#include <memory>

namespace craton::bench {

/// The obvious thing on one machine: two threads add the same updates to one array in local memory, with no lock and no library.
///   for j, for i <= j: A[ix[i] + ix[j] * N] += block(i, j)
class plain_loop {
  public:
    /// Which half of the work a thread has.
    enum class split {
        updates, ///< every second update: threads may meet at an element and lose a contribution
        columns, ///< every second group of 64 matrix columns of all updates: never the same element
    };

    /// N x N zeros, first touched by both threads.
    explicit plain_loop(std::int64_t side);

    /// From the start of two threads to the end of the later one.
    [[nodiscard]] time_taken time(const update_list& updates, split how);
    void reset();
    /// weighted_sum of the array.
    [[nodiscard]] std::uint64_t sum() const;

  private:
    std::int64_t side_;
    std::unique_ptr<float[]> elements_; // a vector would touch all pages from one thread
};

} // namespace craton::bench
