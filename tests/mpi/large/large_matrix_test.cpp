// A matrix of 50,000 x 50,000 floats on one rank: 2.5e9 elements, 10 GB. Updates, a factorisation, solutions.

#include "needs_memory.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/linalg/cholesky.hpp>
#include <craton/runtime/world.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using namespace craton;

// D + V V^T with a diagonal D and few columns in V: its product with a vector is known without the matrix.
TEST(large_matrix, of_order_50000_is_assembled_factored_and_solved_on_one_rank) {
    constexpr std::int64_t order = 50000;
    constexpr std::int64_t width = 4;
    const auto ranks = comm::communicator::world();
    CRATON_NEEDS_MEMORY(ranks, 12);
    runtime::world world(ranks);
    array::convergent_matrix<float> matrix(world, order, order, 512, 512);
    std::mt19937_64 random(5);
    std::uniform_real_distribution<float> values(-1.0F, 1.0F);
    std::vector<float> v(static_cast<std::size_t>(order * width));
    for (auto& each : v) each = values(random);
    const auto row_of = [&](std::int64_t i) { return v.data() + i * width; };
    const auto diagonal = [](std::int64_t i) { return 50.0F + static_cast<float>(i % 97); };

    // Updates of blocks in any order, as an assembly makes them.
    constexpr std::int64_t side = 2500;
    std::vector<float> block(static_cast<std::size_t>(side * side));
    std::vector<std::int64_t> rows(static_cast<std::size_t>(side)), cols(static_cast<std::size_t>(side));
    for (std::int64_t first_col = order - side; first_col >= 0; first_col -= side) {
        for (std::int64_t first_row = 0; first_row <= first_col; first_row += side) {
            for (std::int64_t j = 0; j < side; ++j) {
                for (std::int64_t i = 0; i < side; ++i) {
                    const auto* const a = row_of(first_row + i);
                    const auto* const b = row_of(first_col + j);
                    float sum = first_row + i == first_col + j ? diagonal(first_row + i) : 0.0F;
                    for (std::int64_t k = 0; k < width; ++k) sum += a[k] * b[k];
                    block[static_cast<std::size_t>(i + j * side)] = sum;
                }
            }
            for (std::int64_t a = 0; a < side; ++a) {
                rows[static_cast<std::size_t>(a)] = first_row + a;
                cols[static_cast<std::size_t>(a)] = first_col + a;
            }
            matrix.update(base::column_major<const float>(block.data(), side, side, side), rows, cols);
        }
    }
    matrix.commit();
    const std::int64_t last = order - 1;
    float expected = diagonal(last);
    for (std::int64_t k = 0; k < width; ++k) expected += row_of(last)[k] * row_of(last)[k];
    EXPECT_FLOAT_EQ(matrix.read(last, last), expected); // element 2.5e9 - 1 of the storage

    std::vector<double> wanted(static_cast<std::size_t>(order)), rhs(static_cast<std::size_t>(order));
    for (auto& each : wanted) each = static_cast<double>(values(random));
    std::vector<double> projected(static_cast<std::size_t>(width), 0.0);
    for (std::int64_t i = 0; i < order; ++i) {
        for (std::int64_t k = 0; k < width; ++k)
            projected[static_cast<std::size_t>(k)] += static_cast<double>(row_of(i)[k]) * wanted[static_cast<std::size_t>(i)];
    }
    for (std::int64_t i = 0; i < order; ++i) {
        double sum = static_cast<double>(diagonal(i)) * wanted[static_cast<std::size_t>(i)];
        for (std::int64_t k = 0; k < width; ++k) sum += static_cast<double>(row_of(i)[k]) * projected[static_cast<std::size_t>(k)];
        rhs[static_cast<std::size_t>(i)] = sum;
    }

    const linalg::cholesky<float> factor(matrix);
    const auto found = factor.solve(rhs);
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        error += (found[i] - wanted[i]) * (found[i] - wanted[i]);
        norm += wanted[i] * wanted[i];
    }
    // In single precision, of a condition number of about 350 (V V^T has eigenvalues near 16,700, D of 50 to 146).
    EXPECT_LT(std::sqrt(error / norm), 1e-3);
}

} // namespace
