#pragma once

#include "workload.hpp"

#include <craton/base/memory_rates.hpp>

#include <mpi.h>

#include <string>
#include <vector>

namespace craton::bench {

struct comparison_options {
    workload_shape shape;
    int repeats = 7;
    /// Numbers of ranks to measure, each the first so many of the job while the others sleep.
    std::vector<int> ranks;
    /// Also the MPI-3 RMA and the replicated versions.
    bool peers = true;
};

/// One way to apply the updates and its rates, one per repeat (rank 0 only).
struct contender_rates {
    std::string name;
    int ranks = 0;
    std::vector<double> rates;           ///< million elements per second
    std::vector<double> processor_rates; ///< million elements per processor second of all ranks and threads
    std::string note;                    ///< why there are no rates, or empty
};

struct comparison {
    double mean_run = 0.0;
    double least_bytes = 0.0;   ///< per element (least_bytes_per_element)
    double in_place_gb_s = 0.0; ///< read and written by two threads (base::measure_memory_in_place)
    base::memory_rates one_thread, two_threads;
    std::vector<contender_rates> contenders;
};

/// Collective over `comm`: applies the same updates to a convergent_matrix by direct delivery and by messages, and in turn with
/// them by the plain two-thread loop on rank 0 alone; then by the peers. Every result is checked by weighted_sum after every
/// repeat. Throws user_error for shapes or rank numbers that make no sense and runtime_error when a sum is wrong. Names: "direct",
/// "messages" (two virtual nodes), "messages, a node each" (more than two ranks), "loop, own updates", "loop, own columns", "MPI-3
/// RMA", "replicated".
[[nodiscard]] comparison compare_assembly(MPI_Comm comm, const comparison_options& options);

} // namespace craton::bench
