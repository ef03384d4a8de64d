// The heap of a rank that sends one small update to every rank: an element of a vector at each. What grows with the number of ranks
// shows here long before there are so many.
//
//   smpirun -np <P> ... small_updates bytes_in_flight=1048576

#include "counted_heap.hpp"
#include "ends.hpp"
#include "options.hpp"

#include <craton/array/convergent_vector.hpp>
#include <craton/comm/environment.hpp>
#include <craton/comm/mailbox.hpp>
#include <craton/runtime/world.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

namespace {

using namespace craton;
using simulated::options;

void run(int argc, char** argv) {
    const options given(argc, argv, {{"bytes_in_flight", 1 << 20}});
    const comm::environment mpi;
    const auto before = simulated::heap_of_this_rank();
    runtime::world world(comm::communicator::duplicate(MPI_COMM_WORLD),
                         {.ranks_per_node = 1, .max_bytes_in_flight = static_cast<std::size_t>(given.real("bytes_in_flight"))});
    const int ranks = world.size();
    array::convergent_vector<std::int64_t> vector(world, ranks, 1);
    world.barrier();
    const auto made = simulated::heap_of_this_rank();
    {
        std::vector<std::int64_t> everywhere(static_cast<std::size_t>(ranks));
        std::iota(everywhere.begin(), everywhere.end(), 0);
        const std::vector<std::int64_t> values(everywhere.size(), world.rank() + 1);
        vector.update(values, everywhere);
        vector.commit();
    }
    const auto after = simulated::heap_of_this_rank();
    const auto& all = world.communicator();
    const bool right = all.minimum(std::int64_t{vector.local().front() == std::int64_t{ranks} * (ranks + 1) / 2}) == 1;
    // Simulated ranks alone keep receives posted.
    const auto mailbox = static_cast<std::int64_t>(comm::mailbox::receives * comm::mailbox::longest_message);
    const auto setup = all.maximum(made.bytes - before.bytes - mailbox);
    const auto peak = all.maximum(after.peak - before.bytes - mailbox);
    const auto in_flight = all.maximum(world.statistics().peak_bytes_in_flight);
    const auto messages = all.sum(world.statistics().messages_sent);
    if (world.rank() == 0) {
        fmt::print("{{\"ranks\": {}, \"setup_bytes\": {}, \"peak_bytes\": {}, \"peak_bytes_in_flight\": {}, \"messages\": {}, "
                   "\"sums_right\": {}}}\n",
                   ranks, setup, peak, in_flight, messages, right);
        std::fflush(stdout);
    }
    world.barrier();
    simulated::stop_counting();
}

} // namespace

int main(int argc, char** argv) { return craton::simulated::exit_code_of(run, argc, argv); }
