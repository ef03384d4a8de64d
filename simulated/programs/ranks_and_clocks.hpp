#pragma once

#include "options.hpp"

#include <craton/comm/mailbox.hpp>
#include <craton/comm/wait_for_any.hpp>
#include <craton/comm/work_time.hpp>

#include <mpi.h>

#include <cstddef>

namespace craton::simulated {

/// Of 2 P processes the first P are ranks, and each of the others is a rank's clock. Calls rank_does(communicator of the ranks, the
/// process that is this rank's clock) on the ranks. Options "receives" and "message_s". MPI must be initialised; mailboxes are made
/// within.
template <class Body> void run_ranks_with_clocks(const options& given, const Body& rank_does) {
    comm::mailbox::receives = static_cast<std::size_t>(given.integer("receives"));
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int ranks = size / 2;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : 1, rank, &half);
    if (rank < ranks) {
        comm::set_time_of(comm::work::message, given.real("message_s"));
        rank_does(half, rank + ranks);
    } else {
        comm::alarm_clock::keep_time(rank - ranks);
    }
    MPI_Comm_free(&half);
}

} // namespace craton::simulated
