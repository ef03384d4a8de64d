// Tables I and II of French et al. (2015) on simulated ranks: each gets updates at the pace of the paper's team of threads and adds
// them to one convergent matrix. Storage, updates and bandwidths are folded alike (docs/simulation.md).
//
//   smpirun -np <2 P> ... assembly side=24576 update=2400 updates=4 pace_s=8.988 ...      P ranks and their clocks
//   smpirun -np <2 P> ... assembly side=24576 update=2400 updates=1 measure=1     what the work takes on this machine

#include "ends.hpp"
#include "options.hpp"
#include "ranks_and_clocks.hpp"
#include "shared_updates.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/base/matrix_view.hpp>
#include <craton/comm/environment.hpp>
#include <craton/comm/mailbox.hpp>
#include <craton/comm/wait_for_any.hpp>
#include <craton/comm/work_time.hpp>
#include <craton/runtime/world.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

namespace {

using namespace craton;
using simulated::options;
using simulated::shared_updates;

void add(array::convergent_matrix<float>& matrix, const bench::symmetric_update& update) {
    const auto n = std::ssize(update.indices);
    matrix.update_symmetric(base::column_major(update.block.data(), n, n, n), update.indices);
}

// Seconds of a rank.
struct times {
    double in_update = 0.0;   // of all updates
    std::vector<double> late; // between the end of each update's making and its handing on
};

// Updates come from the team of threads at their pace, whatever this rank does meanwhile: it serves the others, and hands them on.
times assemble(array::convergent_matrix<float>& matrix, const shared_updates& updates, int clock_rank, const options& given) {
    auto& world = matrix.ranks();
    comm::alarm_clock team(clock_rank);
    std::mt19937_64 random(static_cast<std::uint64_t>(world.rank()) + 1);
    std::uniform_real_distribution<double> unevenness(-given.real("uneven"), given.real("uneven"));
    double due = MPI_Wtime();
    const auto set_next = [&] {
        due += given.real("pace_s") * (1.0 + unevenness(random));
        team.set(std::max(0.0, due - MPI_Wtime())); // the team went on while this rank was late
    };
    const std::int64_t count = given.integer("updates");
    times found;
    set_next();
    for (std::int64_t k = 0; k < count; ++k) {
        world.wait_until([&] { return team.rang(); });
        const double begin = MPI_Wtime();
        found.late.push_back(begin - due);
        if (k + 1 < count) set_next();
        add(matrix, updates[world.rank() * count + k]);
        found.in_update += MPI_Wtime() - begin;
    }
    matrix.commit();
    return found;
}

void run_rank(MPI_Comm ranks, int clock_rank, const options& given) {
    const bench::workload_shape shape{given.integer("side"), given.integer("update"), bench::unknown_order::lateral_fastest,
                                      simulated::distinct_updates};
    runtime::world world(comm::communicator::duplicate(ranks),
                         {.ranks_per_node = 1, .max_bytes_in_flight = static_cast<std::size_t>(given.real("bytes_in_flight"))});
    array::convergent_matrix<float> matrix(world, shape.matrix_side, shape.matrix_side, given.integer("block"),
                                           given.integer("block"));
    const auto& updates = simulated::updates_of(shape);
    world.barrier();
    const double begin = MPI_Wtime();
    const auto [in_update, late] = assemble(matrix, updates, clock_rank, given);
    const double seconds = MPI_Wtime() - begin;

    const std::int64_t count = given.integer("updates");
    std::int64_t expected = 0;
    for (std::int64_t k = 0; k < count; ++k) expected += updates.sum(world.rank() * count + k);
    const auto& all = world.communicator();
    const bool right = all.sum(simulated::weighted_sum(matrix.layout(), world.rank(), matrix.local().data())) == all.sum(expected);
    const auto statistics = world.statistics();
    const auto messages = all.sum(statistics.messages_sent), bytes = all.sum(statistics.bytes_sent);
    const auto peak = all.maximum(statistics.peak_bytes_in_flight);
    const double mean_in_update = 1e-9 * static_cast<double>(all.sum(static_cast<std::int64_t>(1e9 * in_update))) / world.size();
    const double slowest = all.maximum(seconds), longest_in_update = all.maximum(in_update);
    std::vector<double> latest;
    for (const double one : late) latest.push_back(all.maximum(one));
    if (world.rank() == 0) {
        fmt::print("{{\"ranks\": {}, \"updates_per_rank\": {}, \"seconds\": {:.6f}, \"update_seconds\": {:.6f}, "
                   "\"longest_update_seconds\": {:.6f}, \"latest_seconds\": [{:.3f}], "
                   "\"messages\": {}, \"bytes\": {}, \"peak_bytes_in_flight\": {}, \"sums_right\": {}}}\n",
                   world.size(), count, slowest, mean_in_update, longest_in_update, fmt::join(latest, ", "), messages, bytes, peak,
                   right);
        std::fflush(stdout);
    }
    world.barrier();
}

// Seconds of this machine for each unit of work, over all ranks.
void print_work() {
    const auto work = comm::work_so_far();
    const auto per_unit = [&](comm::work what) {
        const auto& each = work[static_cast<std::size_t>(what)];
        return each.units == 0 ? 0.0 : each.seconds / static_cast<double>(each.units);
    };
    fmt::print("{{\"bin_s\": {:.4g}, \"pack_s\": {:.4g}, \"merge_s\": {:.4g}}}\n", per_unit(comm::work::bin),
               per_unit(comm::work::pack), per_unit(comm::work::merge));
    std::fflush(stdout);
}

void set_costs(const options& given) {
    const double fold = given.real("fold"); // of a side: what is two-dimensional is folded by its square
    comm::set_time_of(comm::work::bin, given.real("bin_s") * fold);
    comm::set_time_of(comm::work::pack, given.real("pack_s") * fold * fold);
    comm::set_time_of(comm::work::merge, given.real("merge_s") * fold * fold);
}

void run(int argc, char** argv) {
    const options given(argc, argv,
                        {{"side", 24576},
                         {"update", 2400},
                         {"updates", 4},
                         {"pace_s", 1.0},
                         {"uneven", 0.01},
                         {"fold", 1.0},
                         {"message_s", 0.0},
                         {"bin_s", 0.0},
                         {"pack_s", 0.0},
                         {"merge_s", 0.0},
                         {"measure", 0},
                         {"save_up_s", 1e-4},
                         {"receives", 1},
                         {"block", 64},
                         {"bytes_in_flight", 1 << 26}});
    const comm::environment mpi;
    simulated::run_ranks_with_clocks(given, [&](MPI_Comm ranks, int clock_rank) {
        set_costs(given);
        comm::save_up(given.real("save_up_s"));
        const bool measured = given.integer("measure") != 0;
        if (measured) comm::measure_work();
        run_rank(ranks, clock_rank, given);
        int rank = 0;
        MPI_Comm_rank(ranks, &rank);
        if (measured && rank == 0) print_work();
    });
}

} // namespace

int main(int argc, char** argv) { return craton::simulated::exit_code_of(run, argc, argv); }
