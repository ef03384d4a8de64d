// The halos of a wave run on simulated ranks: velocities and stresses in turn, as the solver exchanges them, and between begin and
// end the time that a half step takes (Cui et al. 2013, figures 5 and 6). Bricks, and bandwidths, are folded alike.
//
//   smpirun -np <2 P> ... waves nx=896 ny=448 nz=112 px=8 py=4 pz=2 step_s=4.0       P ranks and their clocks

#include "ends.hpp"
#include "options.hpp"
#include "ranks_and_clocks.hpp"

#include <craton/array/block_grid.hpp>
#include <craton/array/brick_layout.hpp>
#include <craton/array/halo_exchange.hpp>
#include <craton/comm/environment.hpp>
#include <craton/comm/mailbox.hpp>
#include <craton/comm/wait_for_any.hpp>
#include <craton/comm/work_time.hpp>
#include <craton/runtime/world.hpp>

#include <fmt/format.h>
#include <halo_planes.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace {

using namespace craton;
using simulated::options;

constexpr int fields = 9; // three velocities, six stresses

// The time goes by while the rank answers, as with a progress thread.
class work {
  public:
    work(runtime::world& world, int clock_rank) : world_(&world), clock_(clock_rank) {}
    void operator()(double seconds) {
        clock_.set(seconds);
        world_->wait_until([this] { return clock_.rang(); });
    }

  private:
    runtime::world* world_;
    comm::alarm_clock clock_;
};

// The part of a brick's cells that others need: computed before a half step's exchange begins, two cells deep. Of the brick as it
// is without a fold.
double outer_part(const array::domain& own, double fold) {
    double inner = 1.0;
    for (std::size_t d = 0; d < 3; ++d) {
        const auto extent = fold * static_cast<double>(own.extent(d));
        inner *= std::max(0.0, extent - 4.0) / extent;
    }
    return 1.0 - inner;
}

void run_rank(MPI_Comm ranks, int clock_rank, const options& given) {
    runtime::world world(comm::communicator::duplicate(ranks),
                         {.ranks_per_node = 1, .max_bytes_in_flight = static_cast<std::size_t>(given.real("bytes_in_flight"))});
    const array::brick_layout layout({given.integer("nx"), given.integer("ny"), given.integer("nz")},
                                     {given.integer("px"), given.integer("py"), given.integer("pz")});
    const array::block_grid<float> grid(world, layout, fields, 2);
    const auto turns = std::make_shared<array::halo_turns>();
    array::halo_exchange<float> velocities(grid, waves::halos_of(waves::half_step::velocity), {.turns = turns});
    array::halo_exchange<float> stresses(grid, waves::halos_of(waves::half_step::stress), {.turns = turns});
    const auto own = layout.cells(layout.brick_of(world.rank()));
    const double cells = static_cast<double>(own.extent(0) * own.extent(1) * own.extent(2));
    const double all_cells = given.real("nx") * given.real("ny") * given.real("nz");
    // A brick that has more than its share takes longer.
    const double half_s = 0.5 * given.real("step_s") * cells * world.size() / all_cells;
    const double outer_s = outer_part(own, given.real("fold")) * half_s;
    work compute(world, clock_rank);
    const std::int64_t steps = given.integer("steps");
    double begin = 0.0;
    for (std::int64_t step = 0; step <= steps; ++step) {
        if (step == 1) { // the first one warms up
            world.barrier();
            begin = MPI_Wtime();
        }
        for (auto* exchange : {&velocities, &stresses}) {
            compute(outer_s);
            exchange->begin();
            compute(half_s - outer_s);
            exchange->finish();
        }
    }
    world.barrier();
    const auto& all = world.communicator();
    const double slowest = all.maximum(MPI_Wtime() - begin) / static_cast<double>(steps);
    const auto messages = all.sum(world.statistics().messages_sent), bytes = all.sum(world.statistics().bytes_sent);
    if (world.rank() == 0) {
        fmt::print("{{\"ranks\": {}, \"step_seconds\": {:.6f}, \"messages\": {}, \"bytes\": {}}}\n", world.size(), slowest,
                   messages, bytes);
        std::fflush(stdout);
    }
    world.barrier();
}

void run(int argc, char** argv) {
    const options given(argc, argv,
                        {{"nx", 896},
                         {"ny", 448},
                         {"nz", 112},
                         {"px", 2},
                         {"py", 2},
                         {"pz", 2},
                         {"step_s", 1.0},
                         {"steps", 3},
                         {"fold", 1.0},
                         {"message_s", 0.0},
                         {"receives", 4},
                         {"bytes_in_flight", 1 << 26}});
    const comm::environment mpi;
    simulated::run_ranks_with_clocks(given, [&](MPI_Comm ranks, int clock_rank) { run_rank(ranks, clock_rank, given); });
}

} // namespace

int main(int argc, char** argv) { return craton::simulated::exit_code_of(run, argc, argv); }
