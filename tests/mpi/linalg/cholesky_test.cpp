// Solutions against the definition: the residual of A x = b, with A formed serially on every rank.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/base/error.hpp>
#include <craton/linalg/cholesky.hpp>
#include <craton/linalg/kronecker.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace craton;
using array::convergent_matrix;

class cholesky_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(cholesky_test);

// exp(-|i - j| / 5) + a ridge: symmetric positive definite.
double element(std::int64_t i, std::int64_t j) {
    return std::exp(-std::abs(static_cast<double>(i - j)) / 5.0) + (i == j ? 0.5 : 0.0);
}

template <class T> void add_reference_matrix(convergent_matrix<T>& matrix) {
    const std::int64_t n = matrix.layout().rows.extent;
    std::vector<std::int64_t> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    std::vector<T> block(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) block[static_cast<std::size_t>(i * n + j)] = static_cast<T>(element(i, j));
    }
    if (matrix.ranks().rank() == 0) matrix.update_symmetric(base::row_major<const T>(block.data(), n, n), all);
    matrix.commit();
}

double largest_residual(const std::vector<double>& x, const std::vector<double>& b) {
    double largest = 0;
    const auto n = static_cast<std::int64_t>(b.size());
    for (std::int64_t i = 0; i < n; ++i) {
        double sum = -b[static_cast<std::size_t>(i)];
        for (std::int64_t j = 0; j < n; ++j) sum += element(i, j) * x[static_cast<std::size_t>(j)];
        largest = std::max(largest, std::abs(sum));
    }
    return largest;
}

template <class T> void expect_solves(runtime::world& world, double tolerance) {
    constexpr std::int64_t n = 157; // not a multiple of the block
    convergent_matrix<T> matrix(world, n, n, 16, 16);
    add_reference_matrix(matrix);
    const linalg::cholesky<T> factor(matrix);
    for (const double phase : {0.0, 1.0}) { // one factorisation, several right-hand sides
        std::vector<double> b(n);
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(static_cast<double>(i) + phase);
        EXPECT_LT(largest_residual(factor.solve(b), b), tolerance);
    }
    EXPECT_THROW(static_cast<void>(factor.solve(std::vector<double>(n - 1))), user_error);
    world.quiesce();
}

TEST_P(cholesky_test, solves_in_double) { expect_solves<double>(world(), 1e-12); }
TEST_P(cholesky_test, solves_in_float) { expect_solves<float>(world(), 2e-5); }

TEST_P(cholesky_test, two_factorisations_live_side_by_side) {
    convergent_matrix<double> a(world(), 80, 80, 16, 16);
    convergent_matrix<double> b(world(), 80, 80, 8, 8);
    add_reference_matrix(a);
    add_reference_matrix(b);
    const auto residual = [](const linalg::cholesky<double>& factor) {
        const std::vector<double> rhs(80, 1.0);
        return largest_residual(factor.solve(rhs), rhs);
    };
    const linalg::cholesky<double> first(a);
    {
        const linalg::cholesky<double> second(b);
        EXPECT_LT(residual(second), 1e-12);
    }
    EXPECT_LT(residual(first), 1e-12);
    world().quiesce();
}

TEST_P(cholesky_test, says_which_minor_is_not_positive) {
    convergent_matrix<double> matrix(world(), 100, 100, 16, 16);
    add_reference_matrix(matrix);
    const std::vector<std::int64_t> at{40};
    const double minus = -100;
    if (world().rank() == 0) matrix.update_symmetric(base::row_major<const double>(&minus, 1, 1), at);
    matrix.commit();
    tests::expect_user_error([&] { const linalg::cholesky<double> factor(matrix); }, "leading minor of order 41");
    world().quiesce();
}

TEST_P(cholesky_test, refuses_matrices_that_are_not_square) {
    convergent_matrix<double> oblong(world(), 100, 90, 16, 16);
    EXPECT_THROW(linalg::cholesky<double>{oblong}, user_error);
    convergent_matrix<double> blocks(world(), 100, 100, 16, 8);
    EXPECT_THROW(linalg::cholesky<double>{blocks}, user_error);
    world().quiesce();
}

TEST_P(cholesky_test, kronecker_product_is_added_to_the_upper_triangle) {
    constexpr std::int64_t outer = 9;
    constexpr std::int64_t inner = 5;
    std::vector<double> a(outer * outer);
    std::vector<double> b(inner * inner);
    std::iota(a.begin(), a.end(), 1.0);
    std::iota(b.begin(), b.end(), -3.0);
    convergent_matrix<double> matrix(world(), outer * inner, outer * inner, 4, 4);
    linalg::add_kronecker(matrix, base::row_major<const double>(a.data(), outer, outer),
                          base::row_major<const double>(b.data(), inner, inner), 2.0);
    world().barrier();
    for (std::int64_t i = 0; i < outer * inner; ++i) {
        for (std::int64_t j = 0; j < outer * inner; j += 3) {
            const double product = 2.0 * a[static_cast<std::size_t>(i / inner * outer + j / inner)] *
                                   b[static_cast<std::size_t>(i % inner * inner + j % inner)];
            ASSERT_EQ(matrix.read(i, j), i <= j ? product : 0.0);
        }
    }
    EXPECT_THROW(linalg::add_kronecker(matrix, base::row_major<const double>(a.data(), outer, outer),
                                       base::row_major<const double>(a.data(), outer, outer), 1.0),
                 user_error);
    world().quiesce();
}

TEST_P(cholesky_test, copies_elements_into_double) {
    convergent_matrix<float> from(world(), 70, 70, 16, 16);
    convergent_matrix<double> to(world(), 70, 70, 16, 16);
    convergent_matrix<double> other(world(), 70, 70, 8, 8);
    add_reference_matrix(from);
    linalg::copy_elements(from, to);
    for (std::size_t e = 0; e < from.local().size(); ++e) ASSERT_EQ(to.local()[e], static_cast<double>(from.local()[e]));
    EXPECT_THROW(linalg::copy_elements(from, other), user_error);
    world().quiesce();
}

} // namespace
