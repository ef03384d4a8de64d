// A flood of increments on simulated ranks: each asks for one after the other, of its own counter or of one drawn at random (Ozog
// et al. 2016, figure 5). Off the node craton's counters are asked by a message, and so they are here.
//
//   smpirun -np <P> ... counters calls=1000

#include "ends.hpp"
#include "options.hpp"

#include <craton/comm/environment.hpp>
#include <craton/comm/mailbox.hpp>
#include <craton/comm/work_time.hpp>
#include <craton/runtime/counter.hpp>
#include <craton/runtime/world.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace craton;
using simulated::options;

void run(int argc, char** argv) {
    const options given(argc, argv, {{"calls", 1000}, {"counters", 16}, {"message_s", 0.0}, {"receives", 4}});
    comm::mailbox::receives = static_cast<std::size_t>(given.integer("receives"));
    comm::set_time_of(comm::work::message, given.real("message_s"));
    comm::save_up(given.real("message_s"));
    const comm::environment mpi;
    runtime::world world(comm::communicator::duplicate(MPI_COMM_WORLD), {.ranks_per_node = 1});
    // One at each rank would take a segment of every rank for each: so many are enough to share the load of all.
    const int ranks = world.size();
    const auto count = std::min(static_cast<int>(given.integer("counters")), ranks);
    std::vector<std::unique_ptr<runtime::counter>> counters;
    for (int each = 0; each < count; ++each) counters.push_back(std::make_unique<runtime::counter>(world, each * ranks / count));
    world.barrier();
    const double begin = MPI_Wtime();
    std::mt19937_64 random(static_cast<std::uint64_t>(world.rank()));
    const std::int64_t calls = given.integer("calls");
    for (std::int64_t call = 0; call < calls; ++call) counters[random() % counters.size()]->fetch_add();
    const double own = MPI_Wtime() - begin;
    world.barrier();
    std::int64_t reached = 0;
    if (world.rank() == 0) {
        for (const auto& each : counters) reached += each->read();
    }
    world.barrier();
    const auto& all = world.communicator();
    const double slowest = all.maximum(own) / static_cast<double>(calls);
    if (world.rank() == 0) {
        fmt::print("{{\"ranks\": {}, \"call_seconds\": {:.9f}, \"all_counted\": {}}}\n", ranks, slowest, reached == calls * ranks);
        std::fflush(stdout);
    }
    world.barrier();
}

} // namespace

int main(int argc, char** argv) { return craton::simulated::exit_code_of(run, argc, argv); }
