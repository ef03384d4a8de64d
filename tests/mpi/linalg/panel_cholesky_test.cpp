// The factor by panels beside plain loops, in both storages; what lies beyond the triangle is left as it was.

#include "../deliveries.hpp"
#include "dense_reference.hpp"
#include "panel_cholesky.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace panel_cholesky_tests {
namespace {

using namespace craton;
using array::convergent_matrix;
using array::symmetric_packing;

class panel_cholesky_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(panel_cholesky_test);

// Positive definite but for the diagonal's element `spoilt`.
tests::dense example(std::int64_t n, std::int64_t spoilt = -1) {
    tests::dense a(n, n);
    const auto size = [](std::int64_t i) { return 1 + 0.3 * std::sin(static_cast<double>(i)); };
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) a(i, j) = std::exp(-std::abs(static_cast<double>(i - j)) / 5.0) * size(i) * size(j);
        a(i, i) += i == spoilt ? -100.0 : 0.5;
    }
    return a;
}

tests::dense plain_factor(tests::dense a) {
    for (std::int64_t k = 0; k < a.rows; ++k) {
        a(k, k) = std::sqrt(a(k, k));
        for (std::int64_t j = k + 1; j < a.cols; ++j) a(k, j) /= a(k, k);
        for (std::int64_t i = k + 1; i < a.rows; ++i) {
            for (std::int64_t j = i; j < a.cols; ++j) a(i, j) -= a(k, i) * a(k, j);
        }
    }
    return a;
}

constexpr double ELSEWHERE = 7;

// What is to lie at a place of the storage: an element of the upper triangle, or ELSEWHERE.
double at_place(const tests::dense& a, const symmetric_packing& packing, bool packed, std::int64_t row, std::int64_t col) {
    const std::int64_t n = packing.order;
    if (!packed || packing.first() == 0) return row <= col ? a(row, col) : ELSEWHERE;
    const std::int64_t i = row - packing.first_row();
    if (i >= col && i < packing.first() && col < packing.first()) return a(col, i);
    return col + packing.first() < n && row <= col + packing.first() ? a(row, col + packing.first()) : ELSEWHERE;
}

template <class T, class Visit> void for_each_place(convergent_matrix<T>& storage, Visit&& visit) {
    const auto& layout = storage.layout();
    const int me = storage.ranks().rank();
    for (std::int64_t c = 0; c < layout.local_cols(me); ++c) {
        for (std::int64_t r = 0; r < layout.local_rows(me); ++r) {
            visit(storage.local()[static_cast<std::size_t>(c * layout.leading_dimension(me) + r)],
                  layout.rows.global(layout.process_row(me), r), layout.cols.global(layout.process_col(me), c));
        }
    }
}

struct sizes {
    std::int64_t order, block, panel_rows;
};
// Panels that end with a triangle and before it, of one block and of several, of more rows than the matrix; a short last block.
constexpr sizes SIZES[] = {{157, 16, 32}, {128, 16, 1}, {150, 20, 50}, {97, 12, 256}};

template <class T> void expect_the_factor(runtime::world& world, double tolerance) {
    for (const auto& [order, block, panel_rows] : SIZES) {
        const symmetric_packing packing{order, block};
        const auto a = example(order);
        const auto expected = plain_factor(a);
        for (const auto grid : tests::all_grids(world.size())) {
            for (const bool packed : {false, true}) {
                convergent_matrix<T> storage(world, packed ? packing.packed_rows() : order, packed ? packing.packed_cols() : order,
                                             block, block, grid);
                for_each_place(storage, [&](T& value, std::int64_t row, std::int64_t col) {
                    value = static_cast<T>(at_place(a, packing, packed, row, col));
                });
                world.barrier();
                const auto triangles = packed ? linalg::storage_of(packing) : linalg::storage_of_upper_triangle(order);
                EXPECT_EQ(linalg::factor_by_panels(storage, triangles, panel_rows), 0);
                for_each_place(storage, [&](T& value, std::int64_t row, std::int64_t col) {
                    ASSERT_NEAR(value, at_place(expected, packing, packed, row, col), tolerance)
                        << order << " " << packed << " (" << row << ", " << col << ")";
                });
                world.quiesce();
            }
        }
    }
}

TEST_P(panel_cholesky_test, is_that_of_plain_loops_in_double) { expect_the_factor<double>(world(), 1e-13); }
TEST_P(panel_cholesky_test, is_that_of_plain_loops_in_float) { expect_the_factor<float>(world(), 2e-5); }

TEST_P(panel_cholesky_test, says_which_minor_is_not_positive) {
    for (const std::int64_t spoilt : {0, 31, 40, 100, 156}) {
        const auto a = example(157, spoilt);
        convergent_matrix<double> matrix(world(), 157, 157, 16, 16);
        for_each_place(matrix, [&](double& value, std::int64_t row, std::int64_t col) { value = a(row, col); });
        world().barrier();
        EXPECT_EQ(linalg::factor_by_panels(matrix, linalg::storage_of_upper_triangle(157), 32), spoilt + 1);
        world().quiesce();
    }
}

} // namespace

} // namespace panel_cholesky_tests
