// The assembly of assembly.cpp with MPI-3's one-sided operations in place of Craton's runtime, as French et al. (2015, IV-B) have
// them: an exclusive lock and an MPI_Accumulate of an indexed type for each target. The lock is held while elements are added.
//
//   smpirun -np <P> ... rma_assembly side=8144 update=800 updates=1 pace_s=8.988 ...

#include "ends.hpp"
#include "options.hpp"
#include "shared_updates.hpp"

#include "assembly/rma_matrix.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/comm/environment.hpp>
#include <craton/comm/work_time.hpp>

#include <fmt/format.h>

#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>

namespace {

using namespace craton;
using simulated::options;

void run(int argc, char** argv) {
    const options given(argc, argv,
                        {{"side", 8144},
                         {"update", 800},
                         {"updates", 1},
                         {"pace_s", 1.0},
                         {"uneven", 0.01},
                         {"fold", 1.0},
                         {"bin_s", 0.0},
                         {"pack_s", 0.0},
                         {"merge_s", 0.0},
                         {"block", 64}});
    const comm::environment mpi;
    const auto all = comm::communicator::duplicate(MPI_COMM_WORLD);
    const bench::workload_shape shape{given.integer("side"), given.integer("update"), bench::unknown_order::lateral_fastest,
                                      simulated::distinct_updates};
    bench::rma_matrix matrix(MPI_COMM_WORLD, shape.matrix_side, given.integer("block"));
    if (!matrix.works()) throw user_error(matrix.why());
    const auto& updates = simulated::updates_of(shape);
    const double fold = given.real("fold"); // of a side: what is two-dimensional is folded by its square
    comm::set_time_of(comm::work::bin, given.real("bin_s") * fold);
    comm::set_time_of(comm::work::pack, given.real("pack_s") * fold * fold);
    comm::set_time_of(comm::work::merge, given.real("merge_s") * fold * fold);
    std::mt19937_64 random(static_cast<std::uint64_t>(all.rank()) + 1);
    std::uniform_real_distribution<double> unevenness(-given.real("uneven"), given.real("uneven"));
    const std::int64_t count = given.integer("updates");
    matrix.commit();

    const double begin = MPI_Wtime();
    double due = begin, in_update = 0.0, late = 0.0;
    for (std::int64_t k = 0; k < count; ++k) {
        due += given.real("pace_s") * (1.0 + unevenness(random));
        if (due > MPI_Wtime()) simgrid::s4u::this_actor::sleep_for(due - MPI_Wtime());
        const double handed = MPI_Wtime();
        late = std::max(late, handed - due);
        matrix.update_symmetric(updates[all.rank() * count + k]);
        in_update += MPI_Wtime() - handed;
    }
    matrix.commit();
    const double seconds = all.maximum(MPI_Wtime() - begin);

    std::int64_t expected = 0;
    for (std::int64_t k = 0; k < count; ++k) expected += updates.sum(all.rank() * count + k);
    const bool right = all.sum(simulated::weighted_sum(matrix.layout(), all.rank(), matrix.local())) == all.sum(expected);
    const double mean = 1e-9 * static_cast<double>(all.sum(static_cast<std::int64_t>(1e9 * in_update))) / all.size();
    const double longest = all.maximum(in_update), latest = all.maximum(late);
    if (all.rank() == 0) {
        fmt::print("{{\"ranks\": {}, \"updates_per_rank\": {}, \"seconds\": {:.6f}, \"update_seconds\": {:.6f}, "
                   "\"longest_update_seconds\": {:.6f}, \"latest_seconds\": [{:.3f}], \"sums_right\": {}}}\n",
                   all.size(), count, seconds, mean, longest, latest, right);
        std::fflush(stdout);
    }
    matrix.commit();
}

} // namespace

int main(int argc, char** argv) { return craton::simulated::exit_code_of(run, argc, argv); }
