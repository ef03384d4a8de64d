// How fast dist_array::accumulate adds 512 x 512 tiles of doubles to another rank's memory, beside a plain loop over memory of the
// rank's own in the same run, all ranks at once. Both add a block that stays in the cache to as many tiles.
// CRATON_RANKS_PER_NODE=1: by messages. Timed until the last addition's receipt. One JSON object on standard output: GB/s of what
// is added (8 bytes per element), per rank, the slowest rank's, median, least and most of 15.
//
//     mpiexec -n 2 dist_array_benchmark [tiles per rank]

#include <craton/array/dist_array.hpp>
#include <craton/base/aligned_vector.hpp>
#include <craton/base/error.hpp>
#include <craton/base/timer.hpp>
#include <craton/comm/environment.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace {

using namespace craton;

constexpr std::int64_t side = 512;
constexpr std::int64_t elements_per_tile = side * side;
constexpr int repeats = 15;

// Ranks start together; what the slowest has added per second.
template <class Body> double gigabytes_per_second(runtime::world& world, std::int64_t tiles, const Body& body) {
    world.barrier();
    const base::timer clock;
    body();
    const double seconds = clock.seconds();
    world.barrier(); // polls: others may still wait for this rank's handlers
    return static_cast<double>(tiles * elements_per_tile) * sizeof(double) / world.communicator().maximum(seconds) * 1e-9;
}

struct spread {
    double median = 0, least = 0, most = 0;
};

spread spread_of(std::vector<double> values) {
    std::ranges::sort(values);
    return {values[values.size() / 2], values.front(), values.back()};
}

void print(const char* name, const spread& s, const char* end) {
    std::printf("\"%s\": {\"median\": %.3f, \"least\": %.3f, \"most\": %.3f}%s", name, s.median, s.least, s.most, end);
}

void plain_add(double* __restrict to, const double* __restrict from, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

void run(std::int64_t tiles) {
    runtime::world world(comm::communicator::world());
    const int next = (world.rank() + 1) % world.size();
    array::dist_array<double, 2> a(
        world, array::tile_layout<2>::block_cyclic({side, side * tiles * world.size()}, {side, side}, {1, world.size()}));
    a.fill(0);
    const base::aligned_vector<double> block(elements_per_tile, 1.0);
    base::aligned_vector<double> own(static_cast<std::size_t>(tiles * elements_per_tile), 0.0);
    std::vector<double> plain, accumulated, ratio;
    for (int n = 0; n <= repeats; ++n) { // the first is thrown away
        const double locally = gigabytes_per_second(world, tiles, [&] {
            for (std::int64_t t = 0; t < tiles; ++t) plain_add(own.data() + t * elements_per_tile, block.data(), elements_per_tile);
        });
        const double remotely = gigabytes_per_second(world, tiles, [&] {
            std::vector<array::array_handle> under_way;
            for (const auto tile : a.layout().tiles_of(next)) {
                under_way.push_back(a.start_accumulate(a.layout().cells(tile), {block.data(), {side, 1}}));
            }
            for (auto& each : under_way) each.wait();
        });
        if (n == 0) continue;
        plain.push_back(locally);
        accumulated.push_back(remotely);
        ratio.push_back(remotely / locally);
    }
    const double sum = a.one_norm(); // also keeps what was computed
    const double expected = static_cast<double>(repeats + 1) * static_cast<double>(tiles * elements_per_tile * world.size());
    if (sum != expected || own.back() != repeats + 1) throw user_error("dist_array_benchmark: the sums are wrong");
    if (world.rank() > 0) return;
    std::printf("{\"ranks\": %d, \"tiles_per_rank\": %ld, \"delivery\": \"%s\", ", world.size(), static_cast<long>(tiles),
                world.shares_memory_with(next) ? "direct" : "message");
    print("plain_add", spread_of(plain), ", ");
    print("accumulate", spread_of(accumulated), ", ");
    print("ratio", spread_of(ratio), "}\n");
}

} // namespace

int main(int argc, char** argv) {
    const comm::environment environment;
    try {
        const long tiles = argc > 1 ? std::atol(argv[1]) : 16;
        if (argc > 2 || tiles < 1) throw user_error("dist_array_benchmark: allowed: one argument, tiles per rank, 1 or more");
        run(tiles);
        return 0;
    } catch (const std::exception& error) {
        comm::environment::abort(error.what(), exit_user_error);
    }
}
