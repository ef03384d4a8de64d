#pragma once

#include "samples.hpp"

#include <mpi.h>

#include <cstdint>

namespace craton::bench {

/// Who applies the updates of the synthetic benchmark.
enum class applied_by : int { direct = 0, messages = 1, rma = 2 };

struct scaling_options {
    std::int64_t matrix_side = 4096;
    std::int64_t update_side = 512;
    std::int64_t updates = 256; ///< of all ranks together
    int ranks = 1;              ///< the first so many of the job; the others sleep
    int producers = 2;          ///< threads of each rank that make updates
    double making_s = 0.02;     ///< seconds that a producer takes for one update
    applied_by by = applied_by::direct;
};

/// The synthetic benchmark of French et al. (2015, IV-A). Collective over `comm`. On each of the first `ranks` ranks a team of
/// threads makes updates of the assembly workload at a uniform rate, all in step, which is the worst case for whoever moves them:
/// each thread waits for making_s, as one that computes on a core of its own would, and calls update. It uses no core meanwhile, so
/// that more ranks than this machine has cores for show how updates scale, not how the machine does. Rank 0 has the figures:
/// "seconds": from the start of the teams until commit has returned; one value. One value per rank, summed over its threads:
/// "updates", "update" (seconds in update calls), and for convergent matrices its parts "binning", "waiting" and "copying". Empty,
/// but for "fails", where MPI has no windows.
[[nodiscard]] samples measure_scaling(MPI_Comm comm, const scaling_options& options);

} // namespace craton::bench
