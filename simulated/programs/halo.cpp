// The ladder of Shan et al. (2015), figure 6, on simulated ranks: halos of boxes, by copies from box to box in five steps, and by
// buffers that are packed by hand.
//
//   smpirun -np <P> ... halo step=0 box=32 rounds=3       steps 0 to 4 of array::exchange_step, 5: packed

#include "ends.hpp"
#include "options.hpp"

#include <craton/array/block_grid.hpp>
#include <craton/array/box_layout.hpp>
#include <craton/array/halo_exchange.hpp>
#include <craton/comm/environment.hpp>
#include <craton/comm/mailbox.hpp>
#include <craton/comm/work_time.hpp>
#include <craton/runtime/world.hpp>

#include <bulk_exchange.hpp>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>

namespace {

using namespace craton;
using array::index3;
using simulated::options;

constexpr int packed = 5;

// Different for every cell and round; the same for a cell and its periodic images.
double value_of(const array::domain& grid, index3 cell, std::int64_t round) {
    double value = static_cast<double>(round);
    for (std::size_t d = 0; d < 3; ++d)
        value = value * static_cast<double>(grid.extent(d)) + static_cast<double>((cell[d] + grid.extent(d)) % grid.extent(d));
    return value;
}

// Calls what(cell of the grid, its value) for a box's own cells, or for those off it in one dimension.
template <class What> void for_cells(const array::block_grid<double>& grid, std::int64_t box, bool ghosts, const What& what) {
    const auto view = grid.view(box, 0);
    const index3 low = grid.layout().cells(box).low;
    const std::int64_t n = view.extents.nx;
    for (std::int64_t k = -1; k <= n; ++k) {
        for (std::int64_t j = -1; j <= n; ++j) {
            for (std::int64_t i = -1; i <= n; ++i) {
                const int off = (i < 0 || i == n) + (j < 0 || j == n) + (k < 0 || k == n);
                if (off == (ghosts ? 1 : 0)) what(index3{low[0] + i, low[1] + j, low[2] + k}, view.at(i, j, k));
            }
        }
    }
}

void run(int argc, char** argv) {
    const options given(
        argc, argv, {{"step", 4}, {"box", 32}, {"rounds", 3}, {"message_s", 0.0}, {"receives", 4}, {"bytes_in_flight", 1 << 24}});
    comm::mailbox::receives = static_cast<std::size_t>(given.integer("receives"));
    comm::set_time_of(comm::work::message, given.real("message_s"));
    const comm::environment mpi;
    runtime::world world(comm::communicator::duplicate(MPI_COMM_WORLD),
                         {.ranks_per_node = 1, .max_bytes_in_flight = static_cast<std::size_t>(given.real("bytes_in_flight"))});
    const auto edge = std::llround(std::cbrt(world.size()));
    const std::int64_t box = given.integer("box"), rounds = given.integer("rounds");
    const array::box_layout layout({.boxes = {edge, edge, edge}, .side = box, .periodic = {true, true, true}}, world.size());
    const array::block_grid<double> grid(world, layout, 1, 1);
    const auto step = static_cast<int>(given.integer("step"));
    std::optional<array::halo_exchange<double>> copies;
    std::optional<multigrid::bulk_exchange> buffers;
    if (step == packed) {
        buffers.emplace(grid, array::halo_reach::faces, 1);
    } else {
        copies.emplace(grid, array::halo_reach::faces, 1, array::exchange_options{.step = static_cast<array::exchange_step>(step)});
    }
    std::int64_t wrong = 0;
    double spent = 0.0;
    for (std::int64_t round = 0; round <= rounds; ++round) { // the first one warms up
        for (const auto each : layout.blocks_of(world.rank()))
            for_cells(grid, each, false, [&](const index3& cell, double& value) { value = value_of(layout.grid(), cell, round); });
        world.barrier();
        const double begin = MPI_Wtime();
        if (copies) {
            (*copies)(0);
        } else {
            (*buffers)(0);
        }
        if (round > 0) spent += MPI_Wtime() - begin;
        for (const auto each : layout.blocks_of(world.rank())) {
            for_cells(grid, each, true, [&](const index3& cell, const double& value) {
                if (value != value_of(layout.grid(), cell, round)) ++wrong;
            });
        }
        world.barrier(); // before anybody writes the next
    }
    const auto& all = world.communicator();
    const double slowest = all.maximum(spent) / static_cast<double>(rounds);
    const auto messages = all.sum(world.statistics().messages_sent);
    const auto found_wrong = all.sum(wrong);
    if (world.rank() == 0) {
        fmt::print("{{\"ranks\": {}, \"step\": {}, \"seconds\": {:.9f}, \"messages\": {}, \"all_right\": {}}}\n", world.size(),
                   step, slowest, messages, found_wrong == 0);
        std::fflush(stdout);
    }
    world.barrier();
}

} // namespace

int main(int argc, char** argv) { return craton::simulated::exit_code_of(run, argc, argv); }
