// Products and triangular inverses against plain loops. Whole numbers, so that products are exact in either precision.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "dense_reference.hpp"

#include <craton/linalg/products.hpp>
#include <craton/linalg/triangle.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

using namespace craton;
using array::convergent_matrix;
using array::symmetric_matrix;
using linalg::form;
using linalg::side;
using tests::dense;
using tests::expect_user_error;
using tests::gathered;

class products_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(products_test);

std::vector<double> times(const dense& a, const std::vector<double>& x) {
    std::vector<double> y(static_cast<std::size_t>(a.rows), 0.0);
    for (std::int64_t i = 0; i < a.rows; ++i) {
        for (std::int64_t j = 0; j < a.cols; ++j) y[static_cast<std::size_t>(i)] += a(i, j) * x[static_cast<std::size_t>(j)];
    }
    return y;
}

std::vector<double> vector_of(std::int64_t n) {
    std::vector<double> x(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 7 % 11) - 5;
    return x;
}

template <class T> void expect_vector_products(runtime::world& world) {
    for (const auto grid : tests::all_grids(world.size())) {
        const auto a = dense::whole_numbers(61, 43, 1);
        convergent_matrix<T> matrix(world, a.rows, a.cols, 8, 5, grid);
        add_dense(matrix, a);
        EXPECT_EQ(linalg::product(matrix, vector_of(43)), times(a, vector_of(43)));
        EXPECT_EQ(linalg::product(matrix, vector_of(61), form::transposed), times(a.transposed(), vector_of(61)));
        world.quiesce();
        for (const std::int64_t n : {40, 61, 72}) {
            const auto square = dense::whole_numbers(n, n, 2); // what lies below the diagonal is not read
            const auto expected = times(square.symmetric(), vector_of(n));
            convergent_matrix<T> full(world, n, n, 8, 8, grid);
            symmetric_matrix<T> half(world, n, 8, grid.cols > 3 ? array::process_grid{grid.cols, grid.rows} : grid);
            add_dense(full, square);
            add_dense(half, square);
            EXPECT_EQ(linalg::symmetric_product(full, vector_of(n)), expected);
            EXPECT_EQ(linalg::symmetric_product(half, vector_of(n)), expected);
            world.quiesce();
        }
    }
}

TEST_P(products_test, with_vectors_in_double) { expect_vector_products<double>(world()); }
TEST_P(products_test, with_vectors_in_float) { expect_vector_products<float>(world()); }

// 1 + 2^-24 is 1 in float, and so would be the sum of 1 and many 2^-25.
TEST_P(products_test, of_float_symmetric_matrices_have_vector_and_sums_in_double) {
    constexpr std::int64_t n = 70;
    for (const auto grid : tests::all_grids(world().size())) {
        symmetric_matrix<float> half(world(), n, 8, grid.cols > 3 ? array::process_grid{grid.cols, grid.rows} : grid);
        auto a = dense::whole_numbers(n, n, 2);
        for (auto& value : a.values) value = static_cast<double>(static_cast<float>(value / 3));
        add_dense(half, a);
        std::vector<double> x(n);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1 + std::ldexp(static_cast<double>(i), -30);
        const auto expected = times(a.symmetric(), x);
        const auto found = linalg::symmetric_product(half, x);
        for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12);
        world().quiesce();
    }
}

template <class T> void expect_matrix_products(runtime::world& world) {
    for (const auto grid : tests::all_grids(world.size())) {
        const auto a = dense::whole_numbers(45, 37, 1);
        const auto b = dense::whole_numbers(37, 52, 2);
        const auto c = dense::whole_numbers(45, 52, 3);
        const auto expected = a.times(b).combined(2, c, -3);
        for (const form fa : {form::plain, form::transposed}) {
            for (const form fb : {form::plain, form::transposed}) {
                const auto stored_a = fa == form::plain ? a : a.transposed();
                const auto stored_b = fb == form::plain ? b : b.transposed();
                convergent_matrix<T> ma(world, stored_a.rows, stored_a.cols, 8, 8, grid);
                convergent_matrix<T> mb(world, stored_b.rows, stored_b.cols, 8, 8, grid);
                convergent_matrix<T> mc(world, 45, 52, 5, 7, grid); // other blocks
                add_dense(ma, stored_a);
                add_dense(mb, stored_b);
                add_dense(mc, c);
                linalg::product(T{2}, ma, fa, mb, fb, T{-3}, mc);
                EXPECT_EQ(gathered(mc).values, expected.values);
            }
        }
    }
}

TEST_P(products_test, with_matrices_in_double) { expect_matrix_products<double>(world()); }
TEST_P(products_test, with_matrices_in_float) { expect_matrix_products<float>(world()); }

template <class T> void expect_symmetric_products(runtime::world& world) {
    for (const auto grid : tests::all_grids(world.size())) {
        for (const std::int64_t n : {56, 61, 64}) {
            const auto a = dense::whole_numbers(n, n, 1);
            for (const side where : {side::left, side::right}) {
                const std::int64_t rows = where == side::left ? n : 35;
                const std::int64_t cols = where == side::left ? 35 : n;
                const auto b = dense::whole_numbers(rows, cols, 2);
                const auto c = dense::whole_numbers(rows, cols, 3);
                const auto product = where == side::left ? a.symmetric().times(b) : b.times(a.symmetric());
                convergent_matrix<T> full(world, n, n, 8, 8, grid);
                symmetric_matrix<T> half(world, n, 8, grid);
                convergent_matrix<T> mb(world, rows, cols, 8, 8, grid);
                convergent_matrix<T> mc(world, rows, cols, 8, 8, grid);
                add_dense(full, a);
                add_dense(half, a);
                add_dense(mb, b);
                add_dense(mc, c);
                linalg::symmetric_product(where, T{1}, full, mb, T{-1}, mc);
                EXPECT_EQ(gathered(mc).values, product.combined(1, c, -1).values);
                linalg::symmetric_product(where, T{2}, half, mb, T{1}, mc);
                EXPECT_EQ(gathered(mc).values, product.combined(3, c, -1).values);
            }
        }
    }
}

TEST_P(products_test, with_symmetric_matrices_in_double) { expect_symmetric_products<double>(world()); }
TEST_P(products_test, with_symmetric_matrices_in_float) { expect_symmetric_products<float>(world()); }

TEST_P(products_test, refuse_shapes_grids_and_results_that_are_factors) {
    convergent_matrix<double> a(world(), 40, 30, 5, 5);
    convergent_matrix<double> b(world(), 30, 20, 5, 5);
    convergent_matrix<double> c(world(), 40, 20, 5, 5);
    convergent_matrix<double> square(world(), 40, 40, 5, 5);
    symmetric_matrix<double> half(world(), 40, 5);
    const auto multiply = [&](auto& x, auto& y, auto& z) { linalg::product(1.0, x, form::plain, y, form::plain, 0.0, z); };
    expect_user_error([&] { static_cast<void>(linalg::product(a, vector_of(40))); }, {"product", "40 elements", "allowed: 30"});
    expect_user_error([&] { static_cast<void>(linalg::symmetric_product(a, vector_of(40))); }, {"40 x 30", "square"});
    expect_user_error([&] { static_cast<void>(linalg::symmetric_product(half, vector_of(41))); }, {"41 elements", "allowed: 40"});
    expect_user_error([&] { multiply(b, a, c); }, {"(30 x 20) times (40 x 30) into (40 x 20)"});
    expect_user_error([&] { linalg::symmetric_product(side::right, 1.0, half, c, 0.0, c); }, "(40 x 20) times (40 x 40)");
    expect_user_error([&] { linalg::symmetric_product(side::left, 1.0, square, c, 0.0, c); }, "result is one of the factors");
    expect_user_error([&] { multiply(square, square, square); }, "result is one of the factors");
    if (world().size() > 1) {
        convergent_matrix<double> other(world(), 40, 20, 5, 5, {world().size(), 1});
        expect_user_error([&] { multiply(a, b, other); }, "process grids");
    }
    runtime::world second(world().communicator());
    convergent_matrix<double> elsewhere(second, 40, 20, 5, 5);
    expect_user_error([&] { multiply(a, b, elsewhere); }, "different worlds");
    world().quiesce();
    second.quiesce();
}

// A triangle with a strong diagonal, and rubbish that must not be read on the other side of it.
dense triangular(std::int64_t n, bool upper) {
    auto t = dense::whole_numbers(n, n, 5);
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            if (i == j) t(i, j) = 20 + static_cast<double>(i % 3);
            if (upper ? i > j : i < j) t(i, j) = 1e30;
        }
    }
    return t;
}

template <class T> void expect_triangular_inverse(runtime::world& world, double tolerance) {
    for (const auto grid : tests::all_grids(world.size())) {
        for (const bool upper : {true, false}) {
            const std::int64_t n = 45;
            const auto t = triangular(n, upper);
            convergent_matrix<T> matrix(world, n, n, 8, 8, grid);
            add_dense(matrix, t);
            linalg::invert_triangle(matrix, upper ? linalg::triangle::upper : linalg::triangle::lower);
            const auto inverse = gathered(matrix);
            for (std::int64_t i = 0; i < n; ++i) {
                for (std::int64_t j = 0; j < n; ++j) {
                    if (upper ? i > j : i < j) {
                        ASSERT_EQ(inverse(i, j), static_cast<double>(static_cast<T>(1e30))); // not touched
                        continue;
                    }
                    double sum = 0; // of the triangle with its inverse
                    for (std::int64_t k = std::min(i, j); k <= std::max(i, j); ++k) sum += t(i, k) * inverse(k, j);
                    ASSERT_NEAR(sum, i == j ? 1.0 : 0.0, tolerance);
                }
            }
        }
    }
}

TEST_P(products_test, triangles_are_inverted_in_place) {
    expect_triangular_inverse<double>(world(), 1e-13);
    expect_triangular_inverse<float>(world(), 1e-5);
}

TEST_P(products_test, refuse_triangles_without_an_inverse) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const bool upper : {true, false}) {
        const auto which = upper ? linalg::triangle::upper : linalg::triangle::lower;
        auto t = triangular(45, upper);
        t(30, 30) = 0;
        convergent_matrix<double> singular(world(), 45, 45, 8, 8);
        add_dense(singular, t);
        expect_user_error([&] { linalg::invert_triangle(singular, which); }, "element (30, 30) of the 45 x 45 matrix is zero");
        t = triangular(45, upper);
        t(upper ? 3 : 17, upper ? 17 : 3) = nan;
        convergent_matrix<double> not_finite(world(), 45, 45, 8, 8);
        add_dense(not_finite, t);
        expect_user_error([&] { linalg::invert_triangle(not_finite, which); }, upper ? "element (3, 17)" : "element (17, 3)");
        world().quiesce();
    }
    convergent_matrix<double> oblong(world(), 45, 40, 8, 8);
    expect_user_error([&] { linalg::invert_triangle(oblong, linalg::triangle::upper); }, {"invert_triangle", "45 x 40", "square"});
    world().quiesce();
}

} // namespace
