#pragma once

#include "samples.hpp"

#include <mpi.h>

#include <cstdint>

namespace craton::bench {

struct overlap_options {
    std::int64_t matrix_side = 8192;
    std::int64_t update_side = 512;
    int periods = 30;
    double period_s = 0.1;
    double computing =
        0.95; ///< fraction of a period that a producer computes; it rests for the others, as one that waits for data does
    int repeats = 5;
    int ranks_per_node = 0; ///< 0 direct where memory is shared, 1 messages
};

/// Collective over `comm`. Every rank is one producer. In each period it computes (busy_work), and then rests: with updates it
/// first adds one symmetric update of the assembly workload, polls for the others' while it rests, and commits at the end of all
/// periods. "alone" and "with updates": seconds of all periods without and with updates, in turn, one value per repeat. "alone, no
/// rest" and "with updates, no rest": the same for producers that never rest, so that every instruction of an update must add to
/// the total. "processor alone" and so on: processor seconds of all ranks. "update, ms": the median call of update_symmetric per
/// repeat.
[[nodiscard]] samples measure_overlap(MPI_Comm comm, const overlap_options& options);

struct busy_target_options {
    double busy_s = 1.0;
    int updates = 80;
    std::int64_t update_side = 256;
    int repeats = 3;
    int ranks_per_node = 0;
    std::size_t max_bytes_in_flight = std::size_t{64} << 20;
};

/// Collective over `comm` (2 ranks or more): rank 0 adds square blocks to elements of rank 1 only, which computes all the time and
/// never polls. Throws user_error when the blocks together exceed the bound on bytes in flight: then update() must wait, and says
/// nothing. "longest update, ms", "median update, ms" and "all updates, ms" per repeat: of rank 0. "applied, s": until commit
/// returned.
[[nodiscard]] samples measure_busy_target(MPI_Comm comm, const busy_target_options& options);

} // namespace craton::bench
