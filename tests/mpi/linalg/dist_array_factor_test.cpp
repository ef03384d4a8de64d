// Eigenvalues against a closed form, eigenpairs, factors and inverses against their definitions by plain loops; by one rank and by
// all.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "dist_array_reference.hpp"

#include <craton/linalg/dist_array_factor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace {

using namespace craton;
using array::dist_array;
using array::tile_layout;
using linalg::workers;
using tests::dense;
using tests::expect_user_error;
using tests::gathered;
using tests::random_source;

class dist_array_factor_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(dist_array_factor_test);

constexpr std::array everyone{workers::automatic, workers::one_rank, workers::all_ranks};
constexpr double rubbish = 1e30; // where nothing may be read

// Second differences: eigenvalues 2 - 2 cos(k pi / (n + 1)), k = 1 ... n.
dense second_differences(std::int64_t n) {
    dense a(n, n);
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) a(i, j) = rubbish;
        a(i, i) = 2;
        if (i + 1 < n) a(i, i + 1) = -1;
    }
    return a;
}

// Whole numbers, symmetric, and with `strong` positive definite; in the upper triangle.
dense upper_of(std::int64_t n, bool strong) {
    auto a = dense::whole_numbers(n, n, static_cast<unsigned>(n));
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) a(i, j) = rubbish;
        if (strong) a(i, i) = 5 * static_cast<double>(n);
    }
    return a;
}

template <class T> class pair_of_arrays {
  public:
    pair_of_arrays(runtime::world& world, const dense& values, unsigned seed)
        : random(seed), matrix(world, tests::any_layout(random, values.rows, values.cols, world.size())),
          result(world, tests::any_layout(random, values.rows, values.cols, world.size())) {
        set_to(matrix, values);
        result.fill(static_cast<T>(7)); // is lost
    }
    random_source random;
    dist_array<T, 2> matrix, result;
};

template <class T> void expect_known_eigenvalues(runtime::world& world, double tolerance) {
    for (const std::int64_t n : {1, 2, 3, 5, 64, 101}) {
        for (const workers who : everyone) {
            pair_of_arrays<T> arrays(world, second_differences(n), 3);
            for (const bool with_vectors : {false, true}) {
                const auto values = with_vectors ? linalg::symmetric_eigenproblem(arrays.matrix, arrays.result, who)
                                                 : linalg::symmetric_eigenvalues(arrays.matrix, who);
                ASSERT_EQ(std::ssize(values), n);
                for (std::int64_t k = 0; k < n; ++k) {
                    const double angle = std::numbers::pi * static_cast<double>(k + 1) / static_cast<double>(n + 1);
                    ASSERT_NEAR(values[static_cast<std::size_t>(k)], 2 - 2 * std::cos(angle), tolerance);
                }
            }
            ASSERT_EQ(gathered(arrays.matrix)(n - 1, 0), n == 1 ? 2.0 : static_cast<double>(static_cast<T>(rubbish))); // as it was
        }
    }
}

TEST_P(dist_array_factor_test, known_eigenvalues_in_double) { expect_known_eigenvalues<double>(world(), 1e-12); }
TEST_P(dist_array_factor_test, known_eigenvalues_in_float) { expect_known_eigenvalues<float>(world(), 1e-5); }

template <class T> void expect_eigenpairs(runtime::world& world, std::int64_t n, double tolerance) {
    for (const workers who : everyone) {
        const auto upper = upper_of(n, false);
        const auto a = upper.symmetric();
        pair_of_arrays<T> arrays(world, upper, 5);
        const auto values = linalg::symmetric_eigenproblem(arrays.matrix, arrays.result, who);
        ASSERT_TRUE(std::ranges::is_sorted(values));
        const auto v = gathered(arrays.result);
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

TEST_P(dist_array_factor_test, eigenvectors_satisfy_the_definition) {
    for (const std::int64_t n : {1, 2, 3, 17, 75, 150}) expect_eigenpairs<double>(world(), n, 1e-13);
    expect_eigenpairs<float>(world(), 75, 1e-5);
}

template <class T> void expect_cholesky_factors(runtime::world& world, double tolerance) {
    for (const std::int64_t n : {1, 2, 3, 40, 133}) {
        for (const workers who : everyone) {
            const auto upper = upper_of(n, true);
            const auto a = upper.symmetric();
            pair_of_arrays<T> arrays(world, upper, 6);
            linalg::cholesky_factor(arrays.matrix, arrays.result, who);
            const auto l = gathered(arrays.result);
            const auto back = l.times(l.transposed());
            for (std::int64_t i = 0; i < n; ++i) {
                for (std::int64_t j = 0; j < n; ++j) {
                    ASSERT_NEAR(back(i, j), a(i, j), tolerance * static_cast<double>(n));
                    if (i < j) {
                        ASSERT_EQ(l(i, j), 0.0);
                    }
                }
                ASSERT_GT(l(i, i), 0.0);
            }
            auto with_rubbish = l; // what is not the triangle's must not be read
            for (std::int64_t i = 0; i < n; ++i) {
                for (std::int64_t j = i + 1; j < n; ++j) with_rubbish(i, j) = rubbish;
            }
            set_to(arrays.result, with_rubbish);
            linalg::lower_triangular_inverse(arrays.result, arrays.matrix, who);
            const auto inverse = gathered(arrays.matrix);
            const auto unit = l.times(inverse);
            for (std::int64_t i = 0; i < n; ++i) {
                for (std::int64_t j = 0; j < n; ++j) {
                    ASSERT_NEAR(unit(i, j), i == j ? 1.0 : 0.0, tolerance);
                    if (i < j) {
                        ASSERT_EQ(inverse(i, j), 0.0);
                    }
                }
            }
        }
    }
}

TEST_P(dist_array_factor_test, cholesky_factors_and_their_inverses_in_double) { expect_cholesky_factors<double>(world(), 1e-12); }
TEST_P(dist_array_factor_test, cholesky_factors_and_their_inverses_in_float) { expect_cholesky_factors<float>(world(), 1e-4); }

TEST_P(dist_array_factor_test, refuse_what_has_no_factor) {
    const std::int64_t n = 40;
    for (const workers who : everyone) {
        auto upper = upper_of(n, true);
        upper(30, 30) = -1;
        pair_of_arrays<double> arrays(world(), upper, 8);
        expect_user_error([&] { linalg::cholesky_factor(arrays.matrix, arrays.result, who); },
                          {"40 x 40 matrix is not positive definite", "leading minor of order 31"});
        upper(3, 17) = std::numeric_limits<double>::quiet_NaN();
        set_to(arrays.matrix, upper);
        expect_user_error([&] { linalg::cholesky_factor(arrays.matrix, arrays.result, who); }, "element (3, 17) of the matrix is");
        expect_user_error([&] { static_cast<void>(linalg::symmetric_eigenvalues(arrays.matrix, who)); }, "element (3, 17)");
        expect_user_error([&] { static_cast<void>(linalg::symmetric_eigenproblem(arrays.matrix, arrays.result, who)); },
                          "element (3, 17)");
        dense lower = upper_of(n, true).transposed();
        lower(12, 12) = 0;
        set_to(arrays.matrix, lower);
        expect_user_error([&] { linalg::lower_triangular_inverse(arrays.matrix, arrays.result, who); },
                          {"element (12, 12) of the 40 x 40 matrix is zero", "no zero"});
        lower(20, 4) = std::numeric_limits<double>::infinity();
        set_to(arrays.matrix, lower);
        expect_user_error([&] { linalg::lower_triangular_inverse(arrays.matrix, arrays.result, who); }, "element (20, 4)");
    }
}

TEST_P(dist_array_factor_test, refuse_shapes_worlds_and_results_that_are_operands) {
    const auto layout = [&](std::int64_t rows, std::int64_t cols) {
        return tile_layout<2>::block_cyclic({rows, cols}, {5, 5}, {1, world().size()});
    };
    dist_array<double, 2> oblong(world(), layout(12, 9)), a(world(), layout(12, 12)), small(world(), layout(9, 9));
    runtime::world second(comm::communicator::world(), runtime::world_options{GetParam()});
    dist_array<double, 2> elsewhere(second, layout(12, 12));
    expect_user_error([&] { static_cast<void>(linalg::symmetric_eigenvalues(oblong)); },
                      {"symmetric_eigenvalues", "12 x 9", "square"});
    const auto expect_refused = [&](auto call) {
        expect_user_error([&] { call(oblong, a); }, {"12 x 9", "square"});
        expect_user_error([&] { call(a, oblong); }, {"12 x 9", "square"});
        expect_user_error([&] { call(a, small); }, {"the array is 12 x 12, the result 9 x 9", "same shape"});
        expect_user_error([&] { call(a, a); }, "the result is the array itself");
        expect_user_error([&] { call(a, elsewhere); }, "different worlds");
    };
    expect_refused([](auto& x, auto& y) { static_cast<void>(linalg::symmetric_eigenproblem(x, y)); });
    expect_refused([](auto& x, auto& y) { linalg::cholesky_factor(x, y); });
    expect_refused([](auto& x, auto& y) { linalg::lower_triangular_inverse(x, y); });
    world().quiesce();
    second.quiesce();
}

} // namespace
