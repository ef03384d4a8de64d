#pragma once

#include "samples.hpp"

#include <mpi.h>

#include <cstdint>

namespace craton::bench {

struct flood_options {
    std::int64_t increments = 1'000'000; ///< of each rank and repeat
    int repeats = 5;
    int ranks_per_node = 0; ///< of the world of counters: 1 for messages
};

/// Collective over `comm`: each rank has a counter, and fetches and adds one at a time (the flood of Ozog et al. 2016, figure 5).
/// Million increments per second of one rank, the slowest, one value per repeat: "own" of each rank's own counter, "others" of
/// random other ranks' (without it on one rank), "plain" an atomic addition to memory that nobody else looks at. "MPI own" and "MPI
/// others": MPI_Fetch_and_op and MPI_Win_flush on a window, absent where MPI has no windows. Sums are checked: an error throws
/// std::runtime_error on every rank.
[[nodiscard]] samples measure_flood(MPI_Comm comm, const flood_options& options);

} // namespace craton::bench
