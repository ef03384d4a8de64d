// A factor made by halves beside ScaLAPACK's own of the same matrix.

#include "../deliveries.hpp"
#include "potrf_by_halves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace potrf_by_halves_tests {
namespace {

using namespace craton;
using array::convergent_matrix;

class potrf_by_halves_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(potrf_by_halves_test);

// From (first_row, first_col) on, positive definite but for the diagonal's element `spoilt`.
template <class T>
void fill(convergent_matrix<T>& matrix, std::int64_t first_row = 0, std::int64_t first_col = 0, std::int64_t spoilt = -1) {
    const auto& layout = matrix.layout();
    const int me = matrix.ranks().rank();
    for (std::int64_t c = 0; c < layout.local_cols(me); ++c) {
        for (std::int64_t r = 0; r < layout.local_rows(me); ++r) {
            const std::int64_t i = layout.rows.global(layout.process_row(me), r) - first_row;
            const std::int64_t j = layout.cols.global(layout.process_col(me), c) - first_col;
            const double ridge = i != j ? 0.0 : i == spoilt ? -100.0 : 0.5;
            matrix.local()[static_cast<std::size_t>(c * layout.leading_dimension(me) + r)] =
                static_cast<T>(std::exp(-std::abs(static_cast<double>(i - j)) / 5.0) + ridge);
        }
    }
    matrix.ranks().barrier();
}

struct sizes {
    std::int64_t order, block;
    int undivided;
    int first_row = 0, first_col = 0; // of the part that is factorised: where blocks begin
};
constexpr sizes SIZES[] = {
    {157, 16, 32}, {128, 16, 16}, {150, 40, 50}, {48, 16, 10}, {157, 16, 20, 32, 16}}; // a block for each of four ranks

template <class T> void expect_the_factor_of_the_whole(runtime::world& world, double tolerance) {
    for (const auto& [order, block, undivided, first_row, first_col] : SIZES) {
        for (const char uplo : {'U', 'L'}) {
            convergent_matrix<T> undivided_one(world, order, order, block, block);
            convergent_matrix<T> halved(world, order, order, block, block);
            fill(undivided_one, first_row, first_col);
            fill(halved, first_row, first_col);
            const auto context = linalg::context_of(halved);
            const int rows = static_cast<int>(order) - std::max(first_row, first_col);
            const auto part_of = [&](convergent_matrix<T>& matrix) {
                return linalg::whole(context, matrix).within(first_row, rows, first_col, rows);
            };
            EXPECT_EQ(linalg::potrf(uplo, part_of(undivided_one)), 0);
            EXPECT_EQ(linalg::potrf_by_halves(uplo, part_of(halved), undivided), 0);
            for (std::size_t k = 0; k < halved.local().size(); ++k) { // what is not of the triangle is left as it was
                EXPECT_NEAR(halved.local()[k], undivided_one.local()[k], tolerance) << order << uplo << k;
            }
            world.quiesce();
        }
    }
}

TEST_P(potrf_by_halves_test, is_the_factor_of_the_whole_in_double) { expect_the_factor_of_the_whole<double>(world(), 1e-13); }
TEST_P(potrf_by_halves_test, is_the_factor_of_the_whole_in_float) { expect_the_factor_of_the_whole<float>(world(), 2e-6); }

TEST_P(potrf_by_halves_test, says_which_minor_is_not_positive) {
    for (const std::int64_t spoilt : {0, 31, 40, 100, 156}) {
        for (const char uplo : {'U', 'L'}) {
            convergent_matrix<double> matrix(world(), 157, 157, 16, 16);
            fill(matrix, 0, 0, spoilt);
            const auto context = linalg::context_of(matrix);
            EXPECT_EQ(linalg::potrf_by_halves(uplo, linalg::whole(context, matrix), 32), spoilt + 1) << uplo;
            world().quiesce();
        }
    }
}

} // namespace

} // namespace potrf_by_halves_tests
