// Solutions against the definition: the residual of A x = b, with A formed serially on every rank.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/base/error.hpp>
#include <craton/linalg/cholesky.hpp>
#include <craton/linalg/kronecker.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
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

template <class T, class Matrix> void add_elements(Matrix& matrix, std::int64_t n) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    std::vector<T> block(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) block[static_cast<std::size_t>(i * n + j)] = static_cast<T>(element(i, j));
    }
    if (matrix.ranks().rank() == 0) matrix.update_symmetric(base::row_major<const T>(block.data(), n, n), all);
    matrix.commit();
}

template <class T> void add_reference_matrix(convergent_matrix<T>& matrix) { add_elements<T>(matrix, matrix.layout().rows.extent); }

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

// ------------------------------------------------------------------------------------------- upper-only storage, inverses

struct sizes {
    std::int64_t order, block;
};
constexpr sizes many_sizes[] = {{1, 1},   {7, 3},    {12, 3},   {60, 16}, {64, 16}, {96, 16},
                                {80, 16}, {157, 16}, {150, 16}, {40, 64}, {90, 64}};

constexpr sizes some_sizes[] = {{1, 1}, {37, 8}, {48, 8}, {40, 64}};

bool deals_to_all(const sizes& s, array::process_grid grid) {
    const array::symmetric_packing packing{s.order, s.block};
    const auto blocks = [&](std::int64_t extent) { return (extent + s.block - 1) / s.block; };
    return grid.rows <= blocks(s.order) && grid.cols <= blocks(packing.packed_cols());
}

// Runs action(size, grid) for every size on every grid that deals something to each process.
template <class Action> void for_every_grid(runtime::world& world, std::span<const sizes> all, Action action) {
    for (const auto& s : all) {
        for (int r = 1; r <= world.size(); ++r) {
            const array::process_grid grid{r, world.size() / r};
            if (r * grid.cols != world.size() || !deals_to_all(s, grid)) continue;
            action(s, grid); // quiesces before its matrices go
        }
    }
}

// A^-1 by Gauss-Jordan elimination without pivoting (A is positive definite), row major, and A's determinant.
struct plain_inverse {
    std::vector<double> elements;
    double log_determinant = 0;
    std::size_t n;

    explicit plain_inverse(std::int64_t order) : n(static_cast<std::size_t>(order)) {
        std::vector<double> a(n * n);
        elements.assign(n * n, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            elements[i * n + i] = 1;
            for (std::size_t j = 0; j < n; ++j) a[i * n + j] = element(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
        }
        for (std::size_t k = 0; k < n; ++k) {
            const double pivot = a[k * n + k];
            log_determinant += std::log(pivot);
            for (std::size_t j = 0; j < n; ++j) a[k * n + j] /= pivot;
            for (std::size_t j = 0; j < n; ++j) elements[k * n + j] /= pivot;
            for (std::size_t i = 0; i < n; ++i) {
                const double factor = a[i * n + k];
                if (i == k || factor == 0) continue;
                for (std::size_t j = 0; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
                for (std::size_t j = 0; j < n; ++j) elements[i * n + j] -= factor * elements[k * n + j];
            }
        }
    }
    [[nodiscard]] double operator()(std::int64_t i, std::int64_t j) const {
        return elements[static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j)];
    }
};

std::vector<double> right_hand_side(std::int64_t n, double phase) {
    std::vector<double> b(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(static_cast<double>(i) + phase);
    return b;
}

TEST_P(cholesky_test, upper_only_storage_gives_the_solution_of_full_storage) {
    for_every_grid(world(), many_sizes, [&](const sizes& s, array::process_grid grid) {
        array::symmetric_matrix<double> half(world(), s.order, s.block, grid);
        convergent_matrix<double> full(world(), s.order, s.order, s.block, s.block, grid);
        add_elements<double>(half, s.order);
        add_elements<double>(full, s.order);
        const linalg::cholesky<double> half_factor(half);
        const linalg::cholesky<double> full_factor(full);
        const auto b = right_hand_side(s.order, 0.5);
        const auto x = half_factor.solve(b);
        const auto y = full_factor.solve(b);
        EXPECT_LT(largest_residual(x, b), 1e-12) << s.order << " in blocks of " << s.block;
        for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-12);
        // The factors are the same one.
        std::vector<std::int64_t> all(static_cast<std::size_t>(s.order));
        std::iota(all.begin(), all.end(), 0);
        world().quiesce();
        const auto u = half.read_slice(all, all);
        const auto v = full.read_slice(all, all);
        for (std::int64_t i = 0; i < s.order; ++i) {
            for (std::int64_t j = i; j < s.order; ++j) {
                const auto at = static_cast<std::size_t>(i * s.order + j);
                ASSERT_NEAR(u[at], v[at], 1e-13) << i << ", " << j;
            }
        }
        world().quiesce();
    });
}

TEST_P(cholesky_test, upper_only_storage_solves_in_float) {
    array::symmetric_matrix<float> matrix(world(), 157, 16);
    add_elements<float>(matrix, 157);
    const linalg::cholesky<float> factor(matrix);
    const auto b = right_hand_side(157, 0.0);
    EXPECT_LT(largest_residual(factor.solve(b), b), 2e-5);
    EXPECT_THROW(static_cast<void>(factor.solve(std::vector<double>(158))), user_error);
    world().quiesce();
}

TEST_P(cholesky_test, solves_for_many_columns_in_place) {
    constexpr std::int64_t n = 90;
    constexpr std::int64_t columns = 21;
    array::symmetric_matrix<double> half(world(), n, 8);
    convergent_matrix<double> full(world(), n, n, 8, 8);
    add_elements<double>(half, n);
    add_elements<double>(full, n);
    std::vector<std::int64_t> rows(n);
    std::vector<std::int64_t> cols(columns);
    std::iota(rows.begin(), rows.end(), 0);
    std::iota(cols.begin(), cols.end(), 0);
    for (const bool packed : {true, false}) {
        convergent_matrix<double> b(world(), n, columns, 7, 4); // other blocks than the matrix's
        for (std::int64_t j = 0; j < columns; ++j) {
            const auto column = right_hand_side(n, static_cast<double>(j));
            if (world().rank() == 0) {
                b.update(base::column_major<const double>(column.data(), n, 1, n), rows,
                         std::span(cols).subspan(static_cast<std::size_t>(j), 1));
            }
        }
        b.commit();
        if (packed) {
            linalg::cholesky<double>(half).solve(b);
        } else {
            linalg::cholesky<double>(full).solve(b);
        }
        const auto x = b.read_slice(rows, cols);
        for (std::int64_t j = 0; j < columns; ++j) {
            std::vector<double> column(n);
            for (std::int64_t i = 0; i < n; ++i) column[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(i * columns + j)];
            ASSERT_LT(largest_residual(column, right_hand_side(n, static_cast<double>(j))), 1e-12);
        }
        world().quiesce();
    }
    convergent_matrix<double> wrong(world(), n + 1, columns, 8, 4);
    array::symmetric_matrix<double> again(world(), n, 8);
    add_elements<double>(again, n);
    const linalg::cholesky<double> factor(again);
    tests::expect_user_error([&] { factor.solve(wrong); }, {"91 rows", "allowed: 90"});
    if (world().size() > 1) {
        convergent_matrix<double> elsewhere(world(), n, columns, 8, 4, {world().size(), 1});
        tests::expect_user_error([&] { factor.solve(elsewhere); }, "process grids");
    }
    world().quiesce();
}

template <class T> void expect_inverse(runtime::world& world, double tolerance) {
    for_every_grid(world, some_sizes, [&](const sizes& s, array::process_grid grid) {
        const plain_inverse expected(s.order);
        array::symmetric_matrix<T> half(world, s.order, s.block, grid);
        convergent_matrix<T> full(world, s.order, s.order, s.block, s.block, grid);
        add_elements<T>(half, s.order);
        add_elements<T>(full, s.order);
        const auto check = [&](auto& matrix, bool by_way_of_the_diagonal) {
            linalg::cholesky<T> factor(matrix);
            EXPECT_NEAR(factor.log_determinant(), expected.log_determinant, tolerance * static_cast<double>(s.order));
            const auto expect_diagonal = [&] {
                const auto diagonal = factor.inverse_diagonal();
                ASSERT_EQ(static_cast<std::int64_t>(diagonal.size()), s.order);
                for (std::int64_t i = 0; i < s.order; ++i)
                    ASSERT_NEAR(diagonal[static_cast<std::size_t>(i)], expected(i, i), tolerance);
            };
            if (by_way_of_the_diagonal) expect_diagonal();
            factor.invert();
            factor.invert(); // changes nothing
            expect_diagonal();
            tests::expect_user_error([&] { static_cast<void>(factor.solve(std::vector<double>(expected.n))); },
                                     "overwritten by the inverse");
            std::vector<std::int64_t> all(expected.n);
            std::iota(all.begin(), all.end(), 0);
            const auto values = matrix.read_slice(all, all);
            for (std::int64_t i = 0; i < s.order; ++i) {
                for (std::int64_t j = i; j < s.order; ++j) {
                    ASSERT_NEAR(values[static_cast<std::size_t>(i * s.order + j)], expected(i, j), tolerance) << i << ", " << j;
                }
            }
            world.quiesce();
        };
        check(half, s.order % 2 == 0);
        check(full, s.order % 2 == 1);
    });
}

TEST_P(cholesky_test, inverts_in_either_storage) { expect_inverse<double>(world(), 1e-12); }
TEST_P(cholesky_test, inverts_in_float) { expect_inverse<float>(world(), 2e-5); }

TEST_P(cholesky_test, refuses_what_needs_the_factor_when_it_is_overwritten) {
    convergent_matrix<double> matrix(world(), 40, 40, 8, 8);
    add_elements<double>(matrix, 40);
    linalg::cholesky<double> factor(matrix);
    static_cast<void>(factor.inverse_diagonal());
    tests::expect_user_error([&] { static_cast<void>(factor.log_determinant()); },
                             {"log_determinant", "overwritten by its inverse"});
    tests::expect_user_error([&] { factor.solve(matrix); }, {"solve", "overwritten by its inverse"});
    world().quiesce();
}

TEST_P(cholesky_test, says_which_minor_is_not_positive_in_upper_only_storage) {
    for (const std::int64_t at : {40, 0, 90, 99}) { // in A11 and in A22
        array::symmetric_matrix<double> matrix(world(), 100, 16);
        add_elements<double>(matrix, 100);
        const double minus = -100;
        if (world().rank() == 0) matrix.update_symmetric(base::row_major<const double>(&minus, 1, 1), std::span(&at, 1));
        matrix.commit();
        tests::expect_user_error([&] { const linalg::cholesky<double> factor(matrix); },
                                 {"100 x 100", "leading minor of order " + std::to_string(at + 1)});
        world().quiesce();
    }
}

// LAPACK factors such a matrix, and the solutions are not numbers.
TEST_P(cholesky_test, refuses_pivots_below_the_normal_numbers) {
    for (const std::int64_t at : {3, 60}) { // in A11 and in A22
        array::symmetric_matrix<double> half(world(), 100, 16);
        convergent_matrix<double> full(world(), 100, 100, 16, 16);
        std::vector<std::int64_t> all(100);
        std::iota(all.begin(), all.end(), 0);
        for (const auto i : all) {
            const double pivot = i == at ? 1e-310 : 2.0;
            if (i % world().size() != world().rank()) continue;
            half.update_symmetric(base::row_major<const double>(&pivot, 1, 1), std::span(&i, 1));
            full.update_symmetric(base::row_major<const double>(&pivot, 1, 1), std::span(&i, 1));
        }
        half.commit();
        full.commit();
        const std::string where = "pivot " + std::to_string(at + 1) + " of the 100 x 100 matrix is 1e-310; allowed: 2.23e-308";
        tests::expect_user_error([&] { const linalg::cholesky<double> factor(half); }, where);
        tests::expect_user_error([&] { const linalg::cholesky<double> factor(full); }, where);
        world().quiesce();
    }
}

TEST_P(cholesky_test, refuses_elements_that_are_not_finite) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinite = std::numeric_limits<double>::infinity();
    for (const bool in_first : {true, false}) {
        const std::vector<std::int64_t> row{in_first ? 7 : 60};
        const std::vector<std::int64_t> col{in_first ? 30 : 93};
        array::symmetric_matrix<double> half(world(), 100, 16);
        convergent_matrix<double> full(world(), 100, 100, 16, 16);
        add_elements<double>(half, 100);
        add_elements<double>(full, 100);
        if (world().rank() == world().size() - 1) {
            half.update(base::row_major<const double>(in_first ? &nan : &infinite, 1, 1), row, col);
            full.update(base::row_major<const double>(in_first ? &nan : &infinite, 1, 1), row, col);
        }
        half.commit();
        full.commit();
        const std::string where = in_first ? "element (7, 30) of the matrix is nan" : "element (60, 93) of the matrix is inf";
        tests::expect_user_error([&] { const linalg::cholesky<double> factor(half); }, {where, "finite"});
        tests::expect_user_error([&] { const linalg::cholesky<double> factor(full); }, {where, "finite"});
        world().quiesce();
    }
    // What the lower triangle holds is no matter.
    convergent_matrix<double> full(world(), 50, 50, 16, 16);
    add_elements<double>(full, 50);
    const std::vector<std::int64_t> row{49};
    const std::vector<std::int64_t> col{3};
    if (world().rank() == 0) full.update(base::row_major<const double>(&nan, 1, 1), row, col);
    full.commit();
    const auto b = right_hand_side(50, 0.0);
    EXPECT_LT(largest_residual(linalg::cholesky<double>(full).solve(b), b), 1e-12);
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

// A factor that is dealt over the ranks gives the bits of the same one on every rank, whatever the blocks of either.
template <class T> void expect_the_same_kronecker_product(runtime::world& world) {
    constexpr std::int64_t outer = 13;
    constexpr std::int64_t inner = 5;
    constexpr std::int64_t order = 80;
    std::vector<double> a(outer * outer);
    std::vector<double> b(inner * inner);
    array::symmetric_matrix<double> dealt(world, outer, 2);
    for (std::int64_t i = 0; i < outer; ++i) {
        for (std::int64_t j = 0; j < outer; ++j) {
            const double value = 1.0 / (1.0 + static_cast<double>(i + j)) + (i == j ? 2.0 : 0.0);
            a[static_cast<std::size_t>(i * outer + j)] = value;
            const std::vector<std::int64_t> row{i}, col{j};
            if (i <= j && world.rank() == 0) dealt.update(base::row_major<const double>(&value, 1, 1), row, col);
        }
    }
    for (std::size_t e = 0; e < b.size(); ++e) b[e] = std::sin(static_cast<double>(e));
    dealt.commit();
    const auto radial = base::row_major<const double>(b.data(), inner, inner);
    for (const std::int64_t offset : {0, 7, 15}) {
        array::symmetric_matrix<T> expected(world, order, 4), found(world, order, 4);
        linalg::add_kronecker(expected, base::row_major<const double>(a.data(), outer, outer), radial, 0.7, offset);
        linalg::add_kronecker(found, dealt, radial, 0.7, offset);
        const auto wanted = expected.packed().local();
        const auto got = found.packed().local();
        ASSERT_TRUE(std::ranges::equal(wanted, got)) << "at " << offset;
        ASSERT_TRUE(wanted.empty() || std::ranges::any_of(wanted, [](T value) { return value != 0; }));
    }
    array::symmetric_matrix<T> small(world, 60, 4);
    EXPECT_THROW(linalg::add_kronecker(small, dealt, radial, 1.0), user_error);
    world.quiesce();
}

TEST_P(cholesky_test, kronecker_product_with_a_distributed_factor) {
    expect_the_same_kronecker_product<double>(world());
    expect_the_same_kronecker_product<float>(world());
}

TEST_P(cholesky_test, kronecker_product_is_added_to_a_diagonal_block) {
    constexpr std::int64_t outer = 4;
    constexpr std::int64_t inner = 5;
    constexpr std::int64_t order = 31;
    std::vector<double> a(outer * outer);
    std::vector<double> b(inner * inner);
    std::iota(a.begin(), a.end(), 1.0);
    std::iota(b.begin(), b.end(), -3.0);
    const auto lateral = base::row_major<const double>(a.data(), outer, outer);
    const auto radial = base::row_major<const double>(b.data(), inner, inner);
    for (const std::int64_t offset : {0, 7, 11}) {
        convergent_matrix<double> matrix(world(), order, order, 4, 4);
        linalg::add_kronecker(matrix, lateral, radial, 1.0, offset);
        array::symmetric_matrix<double> half(world(), order, 4);
        linalg::add_kronecker(half, lateral, radial, 1.0, offset);
        world().barrier();
        for (std::int64_t i = 0; i < order; ++i) {
            for (std::int64_t j = 0; j < order; ++j) {
                const auto p = i - offset;
                const auto q = j - offset;
                const bool inside = i <= j && p >= 0 && q < outer * inner;
                const double product = inside ? a[static_cast<std::size_t>(p / inner * outer + q / inner)] *
                                                    b[static_cast<std::size_t>(p % inner * inner + q % inner)]
                                              : 0.0;
                ASSERT_EQ(matrix.read(i, j), product) << i << ", " << j << " at " << offset;
                if (i > j) continue;
                ASSERT_EQ(half.read(i, j), product) << i << ", " << j << " at " << offset << ", packed";
            }
        }
        tests::expect_user_error([&] { linalg::add_kronecker(matrix, lateral, radial, 1.0, 12); }, "at 12 of a 31 x 31 matrix");
        tests::expect_user_error([&] { linalg::add_kronecker(matrix, lateral, radial, 1.0, -1); }, "at -1 of a 31 x 31 matrix");
        tests::expect_user_error([&] { linalg::add_kronecker(half, lateral, radial, 1.0, 12); }, "at 12 of a 31 x 31 matrix");
        world().quiesce();
    }
}

// y = U^-T b has y . y = b . A^-1 b, and U^-1 y is the solution: with z for y, U^-1 z is what has covariance A^-1.
template <class Matrix> void expect_halves(runtime::world& world) {
    constexpr std::int64_t n = 90;
    Matrix matrix = [&] {
        if constexpr (std::is_same_v<Matrix, array::symmetric_matrix<double>>) {
            return Matrix(world, n, 8);
        } else {
            return Matrix(world, n, n, 8, 8);
        }
    }();
    add_elements<double>(matrix, n);
    const linalg::cholesky<double> factor(matrix);
    const plain_inverse inverse(n);
    const auto b = right_hand_side(n, 0.3);
    const auto y = factor.solve_transposed_factor(b);
    double square = 0;
    double wanted = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        square += y[i] * y[i];
        for (std::size_t j = 0; j < b.size(); ++j) {
            wanted += b[i] * inverse(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)) * b[j];
        }
    }
    EXPECT_NEAR(square, wanted, 1e-11 * wanted);
    EXPECT_LT(largest_residual(factor.solve_factor(y), b), 1e-12);

    // All columns of the identity: U^-1 is upper triangular, and U^-1 U^-T = A^-1.
    convergent_matrix<double> columns(world, n, n, 7, 4);
    std::vector<std::int64_t> all(n);
    std::iota(all.begin(), all.end(), 0);
    const double one = 1;
    for (std::size_t i = 0; world.rank() == 0 && i < n; ++i) {
        columns.update(base::row_major<const double>(&one, 1, 1), std::span(all).subspan(i, 1), std::span(all).subspan(i, 1));
    }
    columns.commit();
    factor.solve_factor(columns);
    const auto v = columns.read_slice(all, all);
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k < n; ++k)
                sum += v[static_cast<std::size_t>(i * n + k)] * v[static_cast<std::size_t>(j * n + k)];
            ASSERT_NEAR(sum, inverse(i, j), 1e-11);
            if (i > j) {
                ASSERT_NEAR(v[static_cast<std::size_t>(i * n + j)], 0.0, 1e-12);
            }
        }
    }
    world.quiesce();
    factor.solve_transposed_factor(columns); // U^-T U^-1 of the identity
    EXPECT_THROW(static_cast<void>(factor.solve_factor(std::vector<double>(n + 1))), user_error);
    world.quiesce();
}

TEST_P(cholesky_test, half_solutions_of_full_storage) { expect_halves<convergent_matrix<double>>(world()); }
TEST_P(cholesky_test, half_solutions_of_upper_only_storage) { expect_halves<array::symmetric_matrix<double>>(world()); }

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
