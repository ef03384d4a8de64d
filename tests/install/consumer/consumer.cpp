#include <craton/array/convergent_matrix.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/comm/environment.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

// Every rank adds its own number plus one to the whole of a 6 x 6 matrix; every rank reads the sum.
int main() {
    const craton::comm::environment environment;
    craton::runtime::world world(craton::comm::communicator::world());
    craton::array::convergent_matrix<double> matrix(world, 6, 6, 2, 2);

    std::vector<std::int64_t> indices(6);
    std::iota(indices.begin(), indices.end(), 0);
    const std::vector<double> ones(36, world.rank() + 1.0);
    matrix.update(craton::base::row_major(ones.data(), 6, 6), indices, indices);
    matrix.commit();

    const double expected = world.size() * (world.size() + 1) / 2.0;
    int wrong = 0;
    for (const auto i : indices) wrong += matrix.read(i, 5 - i) != expected;
    world.quiesce();
    if (wrong != 0) world.abort("consumer: the sum is wrong", 1);
    if (world.rank() == 0) std::printf("consumer: %d ranks, each element %g\n", world.size(), expected);
    return 0;
}
