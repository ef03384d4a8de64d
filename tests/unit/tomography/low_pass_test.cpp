#include <craton/apps/tomography/kernels/low_pass.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

namespace craton::tomography::low_pass_tests {
namespace {

std::vector<double> random_numbers(std::size_t count) {
    std::mt19937_64 generator(11);
    std::normal_distribution<double> normal;
    std::vector<double> values(count);
    for (auto& v : values) v = normal(generator);
    return values;
}

const std::vector<double> TAPS{0.4, 0.25, 0.1, -0.05};

// An impulse shows the taps on both sides, cut off at the window's ends.
TEST(low_pass, spreads_an_impulse_over_its_taps) {
    const std::vector<double> impulse{0, 2, 0, 0, 0, 0, 0};
    std::vector<double> y(impulse.size());
    low_pass(TAPS, impulse, y);
    const std::vector<double> expected{0.5, 0.8, 0.5, 0.2, -0.1, 0, 0};
    for (std::size_t t = 0; t < y.size(); ++t) EXPECT_DOUBLE_EQ(y[t], expected[t]);
}

TEST(low_pass, is_its_own_transpose) {
    for (const std::size_t k : {1U, 3U, 40U}) {
        const auto a = random_numbers(k);
        const auto b = random_numbers(2 * k);
        std::vector<double> fa(k), fb(k);
        low_pass(TAPS, a, fa);
        low_pass(TAPS, std::span(b).last(k), fb);
        double one = 0;
        double other = 0;
        for (std::size_t t = 0; t < k; ++t) {
            one += fa[t] * b[k + t];
            other += a[t] * fb[t];
        }
        EXPECT_NEAR(one, other, 1e-12);
    }
}

TEST(low_pass, filters_panels_column_by_column) {
    constexpr std::size_t k = 17;
    constexpr std::size_t n = 5;
    const auto panel = random_numbers(k * n);
    std::vector<double> found(k * n);
    low_pass_panel<double>(TAPS, panel, n, found);
    for (std::size_t j = 0; j < n; ++j) {
        std::vector<double> column(k), filtered(k);
        for (std::size_t t = 0; t < k; ++t) column[t] = panel[t * n + j];
        low_pass(TAPS, column, filtered);
        for (std::size_t t = 0; t < k; ++t) EXPECT_NEAR(found[t * n + j], filtered[t], 1e-15);
    }
}

TEST(low_pass, without_taps_changes_nothing) {
    const auto x = random_numbers(9);
    std::vector<double> y(x.size());
    low_pass({}, x, y);
    EXPECT_EQ(x, y);
}

} // namespace
} // namespace craton::tomography::low_pass_tests
