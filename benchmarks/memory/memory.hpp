#pragma once

#include "samples.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace craton::bench {

struct memory_options {
    std::int64_t matrix_side = 4096;
    std::int64_t update_side = 256;
    int updates = 1000; ///< of each rank
    std::size_t max_bytes_in_flight = std::size_t{16} << 20;
    int ranks_per_node = 0;
};

/// Collective over `comm`: all ranks add blocks to elements of rank 0 alone, as fast as they can; the sums are checked. One value
/// per rank, bytes: "before" (resident before the world was made), "peak" (the kernel's high-water mark of the resident set since
/// then, or the largest that was seen where it cannot be reset), "peak anonymous", "peak shared" (the largest seen, a look every
/// millisecond; shared are the pages of matrix storage that a rank has touched, its neighbours' too), "own storage", "node storage"
/// (of all matrix parts that are mapped here), "bound", "in flight" (the world's own peak). And "seconds".
[[nodiscard]] samples measure_memory_bound(MPI_Comm comm, const memory_options& options);

} // namespace craton::bench
