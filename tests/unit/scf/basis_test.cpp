#include "../../expect_user_error.hpp"

#include <craton/apps/scf/basis.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace craton::scf {
namespace {

using tests::expect_user_error;

const std::vector<nucleus> two{{1, {0, 0, 0}}, {8, {0, 3, 4}}};

// The integral over r of (r sum_p c_p r^l exp(-a_p r^2))^2 by the trapezoidal rule, which is exact to rounding for what decays at
// both ends.
double radial_square(int l, std::span<const double> exponents, std::span<const double> coefficients) {
    constexpr double step = 1e-3, end = 30;
    double sum = 0;
    for (double r = step; r < end; r += step) {
        double value = 0;
        for (std::size_t p = 0; p < exponents.size(); ++p) value += coefficients[p] * std::exp(-exponents[p] * r * r);
        sum += std::pow(std::pow(r, l + 1) * value, 2) * step;
    }
    return sum;
}

TEST(scf_basis, numbers_functions_by_shells) {
    const basis b(two, {{0, 0, {1.0}, {1.0}}, {1, 2, {1.0, 0.3}, {0.5, 0.5, 1.0, 0.0}}, {1, 4, {0.7}, {1.0}}});
    EXPECT_EQ(std::vector<int>(b.first_function().begin(), b.first_function().end()), (std::vector<int>{0, 1, 11, 20}));
    EXPECT_EQ(b.size(), 20);
    EXPECT_EQ(b.shell_count(), 3);
}

TEST(scf_basis, primitive_norm_is_that_of_quadrature) {
    for (int l = 0; l <= basis::largest_l; ++l) {
        const double exponent = 0.4 + 0.3 * l, norm = primitive_norm(l, exponent);
        EXPECT_NEAR(radial_square(l, std::vector{exponent}, std::vector{norm}), 1, 1e-12) << l;
    }
}

TEST(scf_basis, contractions_are_normalised_in_the_library_tables) {
    const basis b(two, {{0, 1, {2.0, 0.5, 0.2}, {0.3, 0.9, 0.0, 5.0, -2.0, 1.0}}});
    constexpr std::size_t exponents_slot = 5, coefficients_slot = 6;
    const auto exponents = b.env().subspan(static_cast<std::size_t>(b.bas()[exponents_slot]), 3);
    for (std::size_t contraction = 0; contraction < 2; ++contraction) {
        const auto coefficients = b.env().subspan(static_cast<std::size_t>(b.bas()[coefficients_slot]) + 3 * contraction, 3);
        EXPECT_NEAR(radial_square(1, exponents, coefficients), 1, 1e-12) << contraction;
    }
}

TEST(scf_basis, nuclei_repel) { EXPECT_DOUBLE_EQ(basis(two, {{0, 0, {1.0}, {1.0}}}).nuclear_repulsion(), 8.0 / 5.0); }

TEST(scf_basis, says_what_is_wrong) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const shell good{0, 0, {1.0}, {1.0}};
    const auto with = [](shell s) { return [s = std::move(s)] { basis(two, {s}); }; };
    expect_user_error([] { basis(two, {}); }, "no shells");
    expect_user_error(with({2, 0, {1.0}, {1.0}}), {"shell 0", "nucleus 2", "0 to 1"});
    expect_user_error(with({0, 7, {1.0}, {1.0}}), {"angular momentum 7", "0 to 6"});
    expect_user_error(with({0, 0, {-1.0}, {1.0}}), {"exponent -1", "positive"});
    expect_user_error(with({0, 0, {}, {}}), "0 primitives");
    expect_user_error(with({0, 0, {1.0, 2.0}, {1.0}}), {"1 coefficients", "allowed: 2"});
    expect_user_error(with({0, 0, {1.0}, {0.0}}), "contraction 0 of shell 0");
    expect_user_error([&] { basis({{1, {nan, 0, 0}}}, {good}); }, {"nucleus 0", "finite"});
    expect_user_error([&] { basis({{1, {0, 0, 0}}, {1, {0, 0, 0.04}}}, {good}); }, {"nuclei 0 and 1", "0.04", "0.05"});
}

} // namespace
} // namespace craton::scf
