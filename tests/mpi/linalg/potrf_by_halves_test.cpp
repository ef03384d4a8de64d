// A factor made by halves beside ScaLAPACK's own of the same matrix.

#include "../deliveries.hpp"
#include "potrf_by_halves.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace {

using namespace craton;
using array::convergent_matrix;

class potrf_by_halves_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(potrf_by_halves_test);

// Positive definite, but for the diagonal's element `spoilt`.
void fill(convergent_matrix<double>& matrix, std::int64_t spoilt = -1) {
    const auto& layout = matrix.layout();
    const int me = matrix.ranks().rank();
    for (std::int64_t c = 0; c < layout.local_cols(me); ++c) {
        for (std::int64_t r = 0; r < layout.local_rows(me); ++r) {
            const std::int64_t i = layout.rows.global(layout.process_row(me), r);
            const std::int64_t j = layout.cols.global(layout.process_col(me), c);
            const double ridge = i != j ? 0.0 : i == spoilt ? -100.0 : 0.5;
            matrix.local()[static_cast<std::size_t>(c * layout.leading_dimension(me) + r)] =
                std::exp(-std::abs(static_cast<double>(i - j)) / 5.0) + ridge;
        }
    }
    matrix.ranks().barrier();
}

struct sizes {
    std::int64_t order, block;
    int undivided;
};
constexpr sizes SIZES[] = {{157, 16, 32}, {128, 16, 16}, {150, 40, 50}, {48, 16, 10}}; // blocks for each of four ranks

TEST_P(potrf_by_halves_test, is_the_factor_of_the_whole) {
    for (const auto& [order, block, undivided] : SIZES) {
        for (const char uplo : {'U', 'L'}) {
            convergent_matrix<double> whole_one(world(), order, order, block, block);
            convergent_matrix<double> halved(world(), order, order, block, block);
            fill(whole_one);
            fill(halved);
            const auto context = linalg::context_of(halved);
            EXPECT_EQ(linalg::potrf(uplo, linalg::whole(context, whole_one)), 0);
            EXPECT_EQ(linalg::potrf_by_halves(uplo, linalg::whole(context, halved), undivided), 0);
            for (std::size_t k = 0; k < halved.local().size(); ++k) { // the other triangle is left as it was
                EXPECT_NEAR(halved.local()[k], whole_one.local()[k], 1e-13) << order << uplo << k;
            }
            world().quiesce();
        }
    }
}

TEST_P(potrf_by_halves_test, says_which_minor_is_not_positive) {
    for (const std::int64_t spoilt : {0, 31, 40, 100, 156}) {
        for (const char uplo : {'U', 'L'}) {
            convergent_matrix<double> matrix(world(), 157, 157, 16, 16);
            fill(matrix, spoilt);
            const auto context = linalg::context_of(matrix);
            EXPECT_EQ(linalg::potrf_by_halves(uplo, linalg::whole(context, matrix), 32), spoilt + 1) << uplo;
            world().quiesce();
        }
    }
}

} // namespace
