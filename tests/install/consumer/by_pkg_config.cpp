#include <craton/craton.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

// Every rank adds its part of a diagonally dominant matrix; all solve with it.
int main() {
    const craton::comm::environment environment;
    craton::runtime::world world(craton::comm::communicator::world());
    constexpr std::int64_t n = 20;
    craton::array::convergent_matrix<double> matrix(world, n, n, 4, 4); // in blocks of 4 x 4
    const std::vector<double> ones(n * n, 1.0);
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < n; ++i) {
        all.push_back(i);
        if (i % world.size() == world.rank()) matrix.update(craton::base::row_major(ones.data(), 1, 1), {{i}}, {{i}});
    }
    if (world.rank() == 0) matrix.update(craton::base::row_major(ones.data(), n, n), all, all);
    matrix.commit();
    craton::linalg::cholesky<double> factor(matrix);
    const auto x = factor.solve(std::vector<double>(n, 1.0)); // (I + 1 1^T) x = 1
    double wrong = 0;
    for (const double value : x) wrong += (value - 1.0 / (n + 1)) * (value - 1.0 / (n + 1));
    if (wrong > 1e-20) world.abort("by_pkg_config: the solution is wrong", 1);
    if (world.rank() == 0) std::printf("by_pkg_config: %d ranks\n", world.size());
    return 0;
}
