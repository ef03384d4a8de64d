// Eigenvalues against a closed form, eigenpairs against the definition A v = lambda v.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "dense_reference.hpp"

#include <craton/linalg/eigenproblem.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace eigenproblem_tests {
namespace {

using namespace craton;
using array::convergent_matrix;
using tests::dense;
using tests::expect_user_error;
using tests::gathered;

class eigenproblem_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(eigenproblem_test);

// Second differences: eigenvalues 2 - 2 cos(k pi / (n + 1)), k = 1 ... n. Rubbish below the diagonal must not be read.
dense second_differences(std::int64_t n) {
    dense a(n, n);
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) a(i, j) = 1000;
        a(i, i) = 2;
        if (i + 1 < n) a(i, i + 1) = -1;
    }
    return a;
}

template <class T> void expect_known_eigenvalues(runtime::world& world, double tolerance) {
    for (const auto grid : tests::all_grids(world.size())) {
        for (const std::int64_t n : {std::int64_t{world.size() * 5}, std::int64_t{64}, std::int64_t{101}}) {
            for (const bool with_vectors : {false, true}) {
                convergent_matrix<T> matrix(world, n, n, 5, 5, grid);
                convergent_matrix<T> vectors(world, n, n, 5, 5, grid);
                add_dense(matrix, second_differences(n));
                const auto values =
                    with_vectors ? linalg::symmetric_eigenproblem(matrix, vectors) : linalg::symmetric_eigenvalues(matrix);
                ASSERT_EQ(static_cast<std::int64_t>(values.size()), n);
                for (std::int64_t k = 0; k < n; ++k) {
                    const double angle = std::numbers::pi * static_cast<double>(k + 1) / static_cast<double>(n + 1);
                    ASSERT_NEAR(values[static_cast<std::size_t>(k)], 2 - 2 * std::cos(angle), tolerance);
                }
                world.quiesce();
            }
        }
    }
}

TEST_P(eigenproblem_test, known_eigenvalues_in_double) { expect_known_eigenvalues<double>(world(), 1e-12); }
TEST_P(eigenproblem_test, known_eigenvalues_in_float) { expect_known_eigenvalues<float>(world(), 1e-5); }

template <class T> void expect_eigenpairs(runtime::world& world, std::int64_t n, std::int64_t block, double tolerance) {
    for (const auto grid : tests::all_grids(world.size())) {
        if (std::max(grid.rows, grid.cols) > (n + block - 1) / block) continue;
        const auto upper = dense::whole_numbers(n, n, 9);
        const auto a = upper.symmetric();
        convergent_matrix<T> matrix(world, n, n, block, block, grid);
        convergent_matrix<T> vectors(world, n, n, block, block, grid);
        add_dense(matrix, upper);
        add_dense(vectors, upper); // what was there is lost
        const auto values = linalg::symmetric_eigenproblem(matrix, vectors);
        ASSERT_TRUE(std::ranges::is_sorted(values));
        const auto v = gathered(vectors);
        const auto av = a.times(v);
        const auto gram = v.transposed().times(v);
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t k = 0; k < n; ++k) {
                ASSERT_NEAR(av(i, k), values[static_cast<std::size_t>(k)] * v(i, k), tolerance * static_cast<double>(n));
                ASSERT_NEAR(gram(i, k), i == k ? 1.0 : 0.0, tolerance * 10);
            }
        }
    }
}

TEST_P(eigenproblem_test, vectors_satisfy_the_definition) {
    expect_eigenpairs<double>(world(), 1, 4, 1e-14);
    for (const std::int64_t n : {2, 9, 15, 16, 17, 31}) expect_eigenpairs<double>(world(), n, 16, 1e-13); // about one block
    expect_eigenpairs<double>(world(), 75, 8, 1e-13);
    expect_eigenpairs<double>(world(), 64, 16, 1e-13);
    expect_eigenpairs<float>(world(), 75, 8, 1e-5);
}

TEST_P(eigenproblem_test, refuses_shapes_layouts_and_what_is_not_finite) {
    convergent_matrix<double> oblong(world(), 40, 30, 5, 5);
    convergent_matrix<double> matrix(world(), 40, 40, 5, 5);
    convergent_matrix<double> other(world(), 40, 40, 4, 4);
    convergent_matrix<double> vectors(world(), 40, 40, 5, 5);
    expect_user_error([&] { static_cast<void>(linalg::symmetric_eigenvalues(oblong)); },
                      {"symmetric_eigenvalues", "40 x 30", "square"});
    expect_user_error([&] { static_cast<void>(linalg::symmetric_eigenproblem(matrix, matrix)); },
                      "the vectors are the matrix itself");
    expect_user_error([&] { static_cast<void>(linalg::symmetric_eigenproblem(matrix, other)); },
                      {"blocks of 5", "4 x 4", "same layout"});
    auto a = second_differences(40);
    a(11, 29) = std::numeric_limits<double>::quiet_NaN();
    add_dense(matrix, a);
    expect_user_error([&] { static_cast<void>(linalg::symmetric_eigenvalues(matrix)); }, "element (11, 29) of the matrix is nan");
    expect_user_error([&] { static_cast<void>(linalg::symmetric_eigenproblem(matrix, vectors)); },
                      "element (11, 29) of the matrix is nan");
    world().quiesce();
}

} // namespace

} // namespace eigenproblem_tests
