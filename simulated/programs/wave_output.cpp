// What a wave run's file of strains waits for on simulated ranks: points of all bricks, some samples of each, brought to the ranks
// that write them, as io::series_file does it (Cui et al. 2013, section III-D). Points, and bandwidths, are folded.
//
//   smpirun -np <P> ... wave_output nx=89 ny=44 nz=11 px=8 py=4 pz=2 samples=20

#include "ends.hpp"
#include "options.hpp"

#include <craton/array/brick_layout.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/comm/environment.hpp>

#include <fmt/format.h>
#include <item_gather.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using namespace craton;
using simulated::options;

constexpr std::int64_t strains = 6;

// Exact in a float.
float value_of(std::int64_t point, std::int64_t place) { return static_cast<float>((point * 31 + place) % (1 << 20)); }

void run(int argc, char** argv) {
    const options given(argc, argv,
                        {{"nx", 89}, {"ny", 44}, {"nz", 11}, {"px", 2}, {"py", 2}, {"pz", 2}, {"samples", 20}, {"flushes", 3}});
    const comm::environment mpi;
    const auto all = comm::communicator::world();
    const std::int64_t nx = given.integer("nx"), ny = given.integer("ny"), nz = given.integer("nz");
    const array::brick_layout layout({nx, ny, nz}, {given.integer("px"), given.integer("py"), given.integer("pz")});
    const auto own = layout.cells(layout.brick_of(all.rank()));
    std::vector<std::int64_t> points;
    for (std::int64_t k = own.low[2]; k < own.high[2]; ++k) {
        for (std::int64_t j = own.low[1]; j < own.high[1]; ++j) {
            for (std::int64_t i = own.low[0]; i < own.high[0]; ++i) points.push_back((k * ny + j) * nx + i);
        }
    }
    const std::int64_t floats = strains * given.integer("samples");
    std::vector<float> series;
    for (const std::int64_t point : points) {
        for (std::int64_t place = 0; place < floats; ++place) series.push_back(value_of(point, place));
    }
    io::item_gather gather(all, points, nx * ny * nz, 1, nx * ny * nz, all.size());
    std::int64_t wrong = 0;
    double begin = 0.0;
    const std::int64_t flushes = given.integer("flushes");
    for (std::int64_t flush = 0; flush <= flushes; ++flush) {
        if (flush == 1) { // the first one warms up
            all.barrier();
            begin = MPI_Wtime();
        }
        for (std::int64_t round = 0; round < gather.rounds(); ++round) {
            const auto mine = gather.received_in(round);
            const auto whole = gather.gather(all, round, series, floats);
            for (std::int64_t n = 0; n < mine.count() * floats; ++n)
                wrong += whole[static_cast<std::size_t>(n)] != value_of(mine.first + n / floats, n % floats);
        }
    }
    all.barrier();
    const double seconds = all.maximum(MPI_Wtime() - begin) / static_cast<double>(flushes);
    const auto wrong_in_all = all.sum(wrong);
    if (all.rank() == 0) {
        fmt::print("{{\"ranks\": {}, \"seconds\": {:.9f}, \"bytes\": {}, \"all_right\": {}}}\n", all.size(), seconds,
                   nx * ny * nz * floats * static_cast<std::int64_t>(sizeof(float)), wrong_in_all == 0);
        std::fflush(stdout);
    }
    all.barrier();
}

} // namespace

int main(int argc, char** argv) { return craton::simulated::exit_code_of(run, argc, argv); }
