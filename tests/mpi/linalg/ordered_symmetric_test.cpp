// Bits that do not depend on how many ranks share the work: beside one rank alone, and against the definition.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/linalg/ordered_symmetric.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

namespace ordered_symmetric_tests {
namespace {

using namespace craton;
using array::symmetric_matrix;
using linalg::ordered_symmetric;
using linalg::tile_grid;

class ordered_symmetric_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(ordered_symmetric_test);

TEST(tile_grid, deals_each_tile_once) {
    for (const auto grid : {array::process_grid{1, 1}, {1, 3}, {2, 2}, {2, 3}, {4, 1}, {3, 7}}) {
        for (const std::int64_t count : {1, 2, 5, 40}) {
            const tile_grid tiles(tile_grid::side * count - 3, grid);
            EXPECT_EQ(tiles.count(), count);
            EXPECT_EQ(tiles.extent(count - 1), tile_grid::side - 3);
            std::int64_t all = 0, most = 0;
            for (int rank = 0; rank < grid.rows * grid.cols; ++rank) {
                const auto own = tiles.tiles_of(rank);
                std::set<std::int64_t> slots;
                for (const auto at : own) {
                    EXPECT_EQ(tiles.owner(at.row, at.column), rank);
                    EXPECT_LE(at.row, at.column);
                    EXPECT_TRUE(slots.insert(tiles.slot(at.row, at.column)).second);
                }
                if (!slots.empty()) {
                    EXPECT_LT(*slots.rbegin(), tiles.slots());
                }
                all += std::ssize(own);
                most = std::max(most, std::int64_t{std::ssize(own)});
            }
            EXPECT_EQ(all, count * (count + 1) / 2);
            EXPECT_LE(tiles.slots(), most + count) << count << " on " << grid.rows << " x " << grid.cols; // a tile for each column
        }
    }
}

// Positive definite, without zeros, and rounded in every product.
double element(std::int64_t i, std::int64_t j) {
    const auto size = [](std::int64_t k) { return 1.0 + 0.3 * std::sin(static_cast<double>(k)); };
    return std::exp(-std::abs(static_cast<double>(i - j)) / 40.0) * size(i) * size(j) + (i == j ? 0.1 : 0.0);
}
std::vector<double> example(std::int64_t n) {
    std::vector<double> x(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(1.7 * static_cast<double>(i));
    return x;
}

template <class T> void fill(symmetric_matrix<T>& matrix, std::int64_t spoilt = -1) {
    const std::int64_t n = matrix.order();
    if (matrix.ranks().rank() == 0) {
        constexpr std::int64_t at_once = 100;
        std::vector<std::int64_t> all(static_cast<std::size_t>(n)), cols;
        std::iota(all.begin(), all.end(), 0);
        for (std::int64_t first = 0; first < n; first += at_once) {
            cols.assign(all.begin() + first, all.begin() + std::min(n, first + at_once));
            std::vector<T> values;
            for (const auto j : cols) {
                for (const auto i : all) values.push_back(static_cast<T>(element(i, j) - (i == j && i == spoilt ? 100.0 : 0.0)));
            }
            matrix.update(base::column_major<const T>(values.data(), n, static_cast<std::int64_t>(cols.size()), n), all, cols);
        }
    }
    matrix.commit();
}

template <class T> void expect_the_bits_of_one_rank(runtime::world& world, std::int64_t n, int threads) {
    const auto x = example(n);
    symmetric_matrix<T> matrix(world, n, n < 64 ? 1 : 16);
    fill(matrix);
    ordered_symmetric<T> shared(matrix, threads);
    const auto product = shared.times(x);
    EXPECT_EQ(shared.times(x), product); // strips are used again
    shared.factorise();
    const auto solution = shared.solve(product);
    EXPECT_EQ(shared.solve(product), solution);

    runtime::world alone(comm::communicator::duplicate(MPI_COMM_SELF));
    symmetric_matrix<T> own(alone, n, 64);
    fill(own);
    ordered_symmetric<T> whole(own);
    EXPECT_EQ(whole.times(x), product) << n;
    whole.factorise();
    EXPECT_EQ(whole.solve(product), solution) << n;

    double error = 0, largest = 0;
    for (std::int64_t i = 0; i < n; i += 17) {
        double sum = 0;
        for (std::int64_t j = 0; j < n; ++j) sum += element(i, j) * x[static_cast<std::size_t>(j)];
        error = std::max(error, std::abs(sum - product[static_cast<std::size_t>(i)]));
    }
    const double rounding = std::numeric_limits<T>::epsilon();
    EXPECT_LT(error, 1e3 * rounding);
    for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(solution[i] - x[i]));
    EXPECT_LT(largest, 1e4 * rounding);
}

TEST_P(ordered_symmetric_test, has_the_bits_of_one_rank) {
    expect_the_bits_of_one_rank<double>(world(), 1500, 2); // six rows of tiles, the last one not whole
    expect_the_bits_of_one_rank<float>(world(), 1200, 1);
}

TEST_P(ordered_symmetric_test, may_have_fewer_tiles_than_ranks) {
    for (const std::int64_t n : {8, 256, 257, 300}) expect_the_bits_of_one_rank<double>(world(), n, 1);
}

TEST_P(ordered_symmetric_test, threads_that_there_cannot_be_are_refused_everywhere) {
    symmetric_matrix<double> matrix(world(), 40, 4);
    fill(matrix);
    const int threads = world().rank() == world().size() - 1 ? 0 : 1;
    tests::expect_user_error([&] { ordered_symmetric<double>(matrix, threads); }, {"threads", "0", "allowed"});
}

TEST_P(ordered_symmetric_test, errors_are_raised_everywhere) {
    constexpr std::int64_t n = 600;
    symmetric_matrix<double> matrix(world(), n, 16);
    fill(matrix, 550);
    ordered_symmetric<double> spoilt(matrix);
    const auto x = example(n);
    tests::expect_user_error([&] { static_cast<void>(spoilt.solve(x)); }, {"Cholesky solve", "not factored", "after factorise"});
    tests::expect_user_error([&] { static_cast<void>(spoilt.times(example(3))); }, {"matvec", "3 elements", "allowed: 600"});
    tests::expect_user_error([&] { spoilt.factorise(); }, {"600 x 600 matrix is not positive definite", "order 551"});
    tests::expect_user_error([&] { static_cast<void>(spoilt.times(x)); }, {"lost", "allowed: a new copy"});
    if (world().rank() == 0) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const std::int64_t row = 3, col = 400;
        matrix.update(base::column_major<const double>(&nan, 1, 1, 1), std::span(&row, 1), std::span(&col, 1));
    }
    matrix.commit();
    ordered_symmetric<double> infinite(matrix);
    tests::expect_user_error([&] { infinite.factorise(); }, {"element (3, 400)", "nan", "allowed: finite numbers"});
    symmetric_matrix<double> good(world(), 300, 16);
    fill(good);
    ordered_symmetric<double> factored(good);
    factored.factorise();
    tests::expect_user_error([&] { static_cast<void>(factored.times(example(300))); }, {"is factored", "before factorise"});
    tests::expect_user_error([&] { factored.factorise(); }, {"is factored"});
}

} // namespace
} // namespace ordered_symmetric_tests
