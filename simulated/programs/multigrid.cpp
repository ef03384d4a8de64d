// An F-cycle of the multigrid on simulated ranks, of which each has one box (Shan et al. 2015, table I and figure 6). Its numbers
// are computed; the time of a kernel is what its cells take.
//
//   smpirun -np <P> ... multigrid box=32 fold=4 step=4 cell_s=1e-8   steps 0 to 4 of array::exchange_step, 5: packed buffers
//   smpirun -np <P> ... multigrid box=32 fold=4 measure=1            how many cells its kernels go over, and their time here
//
// A box stands for one whose side is longer by the fold. Boxes that eight others were gathered in are as small as those would be.

#include "ends.hpp"
#include "options.hpp"

#include <craton/apps/multigrid/solver.hpp>
#include <craton/array/box_layout.hpp>
#include <craton/comm/environment.hpp>
#include <craton/comm/mailbox.hpp>
#include <craton/comm/work_time.hpp>
#include <craton/runtime/world.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {

using namespace craton;
using simulated::options;

constexpr int packed = 5;              // after the steps of the ladder
constexpr double least_event_s = 1e-6; // the coarse levels' work is not more

comm::measured_work so_far(comm::work what) { return comm::work_so_far()[static_cast<std::size_t>(what)]; }

void run(int argc, char** argv) {
    const options given(argc, argv,
                        {{"step", 4},
                         {"box", 32},
                         {"fold", 1.0},
                         {"cell_s", 0.0},
                         {"measure", 0},
                         {"cycles", 1},
                         {"message_s", 0.0},
                         {"receives", 4},
                         {"bytes_in_flight", 1 << 26}});
    comm::mailbox::receives = static_cast<std::size_t>(given.integer("receives"));
    comm::save_up(least_event_s);
    const comm::environment mpi;
    runtime::world world(comm::communicator::duplicate(MPI_COMM_WORLD),
                         {.ranks_per_node = 1, .max_bytes_in_flight = static_cast<std::size_t>(given.real("bytes_in_flight"))});
    const auto edge = std::llround(std::cbrt(world.size()));
    const array::box_layout layout({.boxes = {edge, edge, edge}, .side = given.integer("box")}, world.size());
    const auto step = static_cast<int>(given.integer("step"));
    const multigrid::exchange_method exchange{
        step == packed ? array::exchange_step::one_wait : static_cast<array::exchange_step>(step), step == packed};
    multigrid::solver solver(world, layout,
                             multigrid::benchmark_problem(multigrid::discretisation::fv2, multigrid::smoother::chebyshev),
                             {.exchange = exchange});
    world.barrier();
    // What came before took no time of the ranks' processors.
    const bool measures = given.integer("measure") != 0;
    comm::set_time_of(comm::work::message, given.real("message_s"));
    const double stands_for = std::pow(given.real("fold"), 3); // cells
    comm::set_time_of(comm::work::sweep, given.real("cell_s") * stands_for);
    comm::set_time_of(comm::work::few, given.real("cell_s"));
    if (measures) comm::measure_work();
    world.barrier();
    const double begin = MPI_Wtime();
    const std::int64_t cycles = given.integer("cycles");
    for (std::int64_t cycle = 0; cycle < cycles; ++cycle) solver.f_cycle();
    world.barrier();
    const auto& all = world.communicator();
    const double seconds = all.maximum(MPI_Wtime() - begin) / static_cast<double>(cycles);
    const auto sweeps = so_far(comm::work::sweep), few = so_far(comm::work::few); // of all ranks
    const double residual = solver.relative_residual();
    if (world.rank() == 0) {
        fmt::print("{{\"ranks\": {}, \"step\": {}, \"levels\": {}, \"seconds\": {:.9f}, \"residual\": {:.17g}, \"cells\": {:.0f}, "
                   "\"work_seconds\": {:.6f}}}\n",
                   world.size(), step, solver.levels(), seconds, residual,
                   static_cast<double>(sweeps.units) * stands_for + static_cast<double>(few.units), sweeps.seconds + few.seconds);
        std::fflush(stdout);
    }
    world.barrier();
}

} // namespace

int main(int argc, char** argv) { return craton::simulated::exit_code_of(run, argc, argv); }
