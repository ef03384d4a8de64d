// Solutions by their residuals, determinants against a serial elimination; of matrices in place and of arrays of any layout.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "dist_array_reference.hpp"

#include <craton/linalg/lu.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

namespace craton::tests::factors {

using namespace craton;
using array::convergent_matrix;
using array::dist_array;
using linalg::form;
using tests::add_dense;
using tests::dense;
using tests::expect_user_error;
using tests::gathered;
using tests::random_source;

class lu_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(lu_test);

// Whole numbers, with a zero where elimination without exchanges would divide first.
dense matrix_of(std::int64_t n) {
    auto a = dense::whole_numbers(n, n, static_cast<unsigned>(100 + n));
    if (n > 1) a(0, 0) = 0;
    for (std::int64_t i = 0; i < n; ++i) a(i, (i + 1) % n) += 10; // far from singular
    return a;
}

// Gaussian elimination with exchanges of rows, in plain loops.
linalg::determinant determinant_of(dense a) {
    linalg::determinant found;
    for (std::int64_t k = 0; k < a.rows; ++k) {
        std::int64_t best = k;
        for (std::int64_t i = k; i < a.rows; ++i)
            if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
        if (best != k) {
            found.sign = -found.sign;
            for (std::int64_t j = 0; j < a.rows; ++j) std::swap(a(k, j), a(best, j));
        }
        if (a(k, k) < 0) found.sign = -found.sign;
        found.logarithm += std::log(std::abs(a(k, k)));
        for (std::int64_t i = k + 1; i < a.rows; ++i) {
            const double factor = a(i, k) / a(k, k);
            for (std::int64_t j = k; j < a.rows; ++j) a(i, j) -= factor * a(k, j);
        }
    }
    return found;
}

void expect_solution(const dense& a, const dense& x, const dense& b, form a_form, double tolerance) {
    const auto residual = (a_form == form::plain ? a : a.transposed()).times(x).combined(1, b, -1);
    for (const double r : residual.values) ASSERT_NEAR(r, 0.0, tolerance * static_cast<double>(a.rows));
}

dense column(const std::vector<double>& values) {
    dense result(std::ssize(values), 1);
    result.values = values;
    return result;
}

template <class Factors> void expect_vector_and_determinant(const Factors& factors, const dense& a, double tolerance) {
    const auto b = dense::whole_numbers(a.rows, 1, 4);
    for (const form each : {form::plain, form::transposed})
        expect_solution(a, column(factors.solve(std::span<const double>(b.values), each)), b, each, tolerance);
    const auto found = factors.determinant();
    const auto wanted = determinant_of(a);
    EXPECT_EQ(found.sign, wanted.sign) << a.rows;
    EXPECT_NEAR(found.logarithm, wanted.logarithm, tolerance * static_cast<double>(a.rows)) << a.rows;
}

template <class T> void expect_factors_of_matrices(runtime::world& world, double tolerance) {
    constexpr std::int64_t n = 101; // not a multiple of the block
    for (const auto& grid : tests::all_grids(world.size())) {
        const auto a = matrix_of(n);
        const auto b = dense::whole_numbers(n, 9, 3);
        convergent_matrix<T> matrix(world, n, n, 8, 8, grid), columns(world, n, 9, 8, 2, grid);
        add_dense(matrix, a);
        add_dense(columns, b);
        const linalg::lu<T> factors(matrix);
        expect_vector_and_determinant(factors, a, tolerance);
        factors.solve(columns);
        expect_solution(a, gathered(columns), b, form::plain, tolerance);
    }
}

TEST_P(lu_test, factors_a_matrix_in_place_in_double) { expect_factors_of_matrices<double>(world(), 1e-12); }
TEST_P(lu_test, factors_a_matrix_in_place_in_float) { expect_factors_of_matrices<float>(world(), 1e-3); }

template <class T> void expect_factors_of_arrays(runtime::world& world, double tolerance) {
    random_source random(5);
    for (const std::int64_t n : {1, 2, 3, 4, 20, 130}) {
        const auto a = matrix_of(n);
        dist_array<T, 2> array(world, tests::any_layout(random, n, n, world.size()));
        set_to(array, a);
        const linalg::lu<T> factors(array);
        expect_vector_and_determinant(factors, a, tolerance);
        for (const std::int64_t cols : {1, 2, 7}) {
            const auto b = dense::whole_numbers(n, cols, 6);
            dist_array<T, 2> columns(world, tests::any_layout(random, n, cols, world.size()));
            for (const form each : {form::plain, form::transposed}) {
                set_to(columns, b);
                factors.solve(columns, each);
                expect_solution(a, gathered(columns), b, each, tolerance);
            }
        }
        const auto as_it_was = gathered(array);
        ASSERT_EQ(as_it_was.values, a.values);
    }
}

TEST_P(lu_test, factors_an_array_of_any_layout_in_double) { expect_factors_of_arrays<double>(world(), 1e-12); }
TEST_P(lu_test, factors_an_array_of_any_layout_in_float) { expect_factors_of_arrays<float>(world(), 1e-3); }

TEST_P(lu_test, refuses_what_has_no_factors) {
    random_source random(7);
    for (const std::int64_t n : {2, 40}) {
        auto a = matrix_of(n);
        for (std::int64_t i = 0; i < n; ++i) a(i, n - 1) = a(i, 0);
        dist_array<double, 2> array(world(), tests::any_layout(random, n, n, world().size()));
        for (auto& each : a.values) each = 0;
        set_to(array, a);
        expect_user_error([&] { const linalg::lu<double> factors(array); }, {"matrix is singular", "column 0", "full rank"});
        a(1, 0) = std::numeric_limits<double>::quiet_NaN();
        set_to(array, a);
        expect_user_error([&] { const linalg::lu<double> factors(array); }, "LU: element (1, 0) of the matrix is nan");
    }
}

TEST_P(lu_test, refuses_shapes_that_do_not_fit) {
    const auto layout = [&](std::int64_t rows, std::int64_t cols) {
        return array::tile_layout<2>::block_cyclic({rows, cols}, {5, 5}, {1, world().size()});
    };
    dist_array<double, 2> oblong(world(), layout(12, 9)), square(world(), layout(12, 12)), other(world(), layout(11, 2));
    expect_user_error([&] { const linalg::lu<double> factors(oblong); }, {"12 x 9", "square"});
    set_to(square, matrix_of(12));
    const linalg::lu<double> factors(square);
    expect_user_error([&] { factors.solve(other); }, {"right-hand side has 11 rows", "allowed: 12"});
    expect_user_error([&] { static_cast<void>(factors.solve(std::vector<double>(13))); }, {"has 13 rows", "allowed: 12"});
    const array::process_grid row{1, world().size()};
    convergent_matrix<double> matrix(world(), 12, 12, 3, 3, row), columns(world(), 12, 12, 2, 3, row),
        flat(world(), 12, 12, 4, 3, row);
    expect_user_error([&] { factors.solve(columns); }, "allowed: a dist_array");
    add_dense(matrix, matrix_of(12));
    const linalg::lu<double> in_place(matrix);
    expect_user_error([&] { in_place.solve(columns); }, {"in blocks of 2 rows", "allowed: 3"});
    expect_user_error([&] { const linalg::lu<double> uneven(flat); }, "square");
    world().quiesce();
}

} // namespace craton::tests::factors
