// A distributed array in C++, for who comes from Global Arrays or from windows of MPI: docs/distributed_arrays.md has the names.
//
// The overlap of n normal distributions is computed block by block. Ranks take blocks from a counter that lies in an array, whoever
// is free. Then S x = b is solved by LU factors, and some elements are fetched from anywhere.

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <craton/array/dist_array.hpp>
#include <craton/base/error.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/linalg/lu.hpp>
#include <craton/runtime/world.hpp>

namespace {

using craton::array::dist_array;
using craton::array::place;
using craton::array::rectangle;
using craton::array::tile_layout;

constexpr std::int64_t n = 200, block = 25, blocks = n / block;

double overlap(std::int64_t i, std::int64_t j) { return std::exp(-0.5 * std::pow(static_cast<double>(i - j) / 1.5, 2)); }

// The largest element of S x - b.
double solve(craton::runtime::world& world) {
    dist_array<double, 2> matrix(world, tile_layout<2>::block_cyclic({n, n}, {block, block}, {world.size(), 1})); // ga_create
    dist_array<std::int64_t, 1> taken(world, tile_layout<1>::block_cyclic({1}, {1}, {world.size()}));
    for (std::int64_t task; (task = taken.fetch_add({0}, 1)) < blocks * blocks;) { // nga_read_inc
        const place<2> low{task / blocks * block, task % blocks * block};
        std::vector<double> values;
        for (std::int64_t i = low[0]; i < low[0] + block; ++i)
            for (std::int64_t j = low[1]; j < low[1] + block; ++j) values.push_back(overlap(i, j));
        matrix.accumulate({low, {low[0] + block, low[1] + block}}, values); // nga_acc, one-sided
    }
    matrix.sync(); // ga_sync

    dist_array<double, 2> x(world, tile_layout<2>::regular({n, 1}, {world.size(), 1}));
    x.fill(1.0);                                 // the right-hand side
    craton::linalg::lu<double>(matrix).solve(x); // ga_lu_solve: x becomes the solution
    std::vector<double> solution(n), row(n);
    x.get(x.layout().whole(), solution); // nga_get
    double worst = 0;
    for (std::int64_t i = world.rank(); i < n; i += world.size()) {
        std::vector<place<2>> places;
        for (std::int64_t j = 0; j < n; ++j) places.push_back({i, j});
        matrix.get_elements(places, row); // nga_gather
        double sum = -1;
        for (std::int64_t j = 0; j < n; ++j) sum += row[static_cast<std::size_t>(j)] * solution[static_cast<std::size_t>(j)];
        worst = std::max(worst, std::abs(sum));
    }
    matrix.sync();
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); // every rank is here: nobody needs to poll
    return worst;
}

} // namespace

int main(int argc, char** argv) {
    int given = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    int code = 0;
    try {
        craton::runtime::world world(craton::comm::communicator::duplicate(MPI_COMM_WORLD));
        const double worst = solve(world);
        if (world.rank() == 0) std::printf("S x = b to %.1e on %d ranks\n", worst, world.size());
        code = worst < 1e-9 ? 0 : 1;
    } catch (const craton::user_error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return code;
}
