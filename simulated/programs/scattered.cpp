// Small updates to targets drawn at random, straight or in two hops (runtime::world_options::ranks_per_row).
//
//   smpirun -np <P> ... scattered updates=1000 bytes=64 row=16

#include "ends.hpp"
#include "options.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/environment.hpp>
#include <craton/comm/mailbox.hpp>
#include <craton/comm/work_time.hpp>
#include <craton/runtime/world.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>

namespace {

using namespace craton;
using simulated::options;

void run(int argc, char** argv) {
    const options given(argc, argv,
                        {{"updates", 1000},
                         {"bytes", 64},
                         {"row", 1},
                         {"bytes_in_flight", 1 << 20},
                         {"message_s", 0.0},
                         {"transfer_s", 0.0},
                         {"hand_on_s", 0.0},
                         {"receives", 4}});
    comm::mailbox::receives = static_cast<std::size_t>(given.integer("receives"));
    comm::set_time_of(comm::work::message, given.real("message_s"));
    comm::set_time_of(comm::work::transfer, given.real("transfer_s"));
    comm::set_time_of(comm::work::hand_on, given.real("hand_on_s"));
    comm::save_up(given.real("transfer_s"));
    const comm::environment mpi;
    runtime::world world(comm::communicator::duplicate(MPI_COMM_WORLD),
                         {.ranks_per_node = 1,
                          .max_bytes_in_flight = static_cast<std::size_t>(given.real("bytes_in_flight")),
                          .ranks_per_row = static_cast<int>(given.integer("row"))});
    if (world.size() < 2) throw user_error("scattered: 1 rank; allowed: 2 or more");
    std::int64_t got = 0;
    const auto id = world.register_handler(
        [&](const runtime::incoming_message& message) {
            std::int64_t value = 0;
            std::memcpy(&value, message.payload.data(), sizeof(value));
            got += value;
        },
        runtime::travel::in_two_hops);
    world.barrier();
    const double begin = MPI_Wtime();
    const auto before = world.statistics();
    std::mt19937_64 random(static_cast<std::uint64_t>(world.rank()));
    const auto bytes = static_cast<std::size_t>(given.integer("bytes"));
    std::int64_t gave = 0;
    for (std::int64_t update = 0; update < given.integer("updates"); ++update) {
        const auto drawn = static_cast<int>(random() % static_cast<std::uint64_t>(world.size() - 1));
        const int target = drawn < world.rank() ? drawn : drawn + 1;
        auto message = world.prepare(target, id, bytes);
        const std::int64_t value = 1000 * update + target;
        std::memcpy(message.payload().data(), &value, sizeof(value));
        world.send(std::move(message));
        gave += value;
    }
    world.quiesce();
    const auto& all = world.communicator();
    const double seconds = all.maximum(MPI_Wtime() - begin);
    const auto now = world.statistics();
    const auto transfers = all.sum(now.transfers_sent - before.transfers_sent);
    const auto handed_on = all.sum(now.messages_handed_on - before.messages_handed_on);
    const auto peak = all.maximum(now.peak_bytes_in_flight);
    const bool right = all.sum(got) == all.sum(gave);
    if (world.rank() == 0) {
        fmt::print("{{\"ranks\": {}, \"seconds\": {:.9f}, \"transfers\": {}, \"handed_on\": {}, \"peak_bytes_in_flight\": {}, "
                   "\"sums_right\": {}}}\n",
                   world.size(), seconds, transfers, handed_on, peak, right);
        std::fflush(stdout);
    }
    world.barrier();
}

} // namespace

int main(int argc, char** argv) { return craton::simulated::exit_code_of(run, argc, argv); }
