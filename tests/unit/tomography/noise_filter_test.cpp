#include <craton/apps/tomography/kernels/noise_filter.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace craton::tomography::noise_filter_tests {
namespace {

std::vector<double> random_numbers(std::size_t count) {
    std::mt19937_64 generator(7);
    std::normal_distribution<double> normal;
    std::vector<double> values(count);
    for (auto& v : values) v = normal(generator);
    return values;
}

// W^T W times the covariance's own definition is the identity.
TEST(noise_filter, is_a_root_of_the_inverse_covariance) {
    constexpr std::size_t k = 23;
    for (const noise_filter noise : {noise_filter{0.3, 0.0}, noise_filter{2.0, 0.5}, noise_filter{1e-5, 0.97}}) {
        for (std::size_t u = 0; u < k; ++u) {
            std::vector<double> column(k);
            for (std::size_t t = 0; t < k; ++t) {
                const double lag = std::abs(static_cast<double>(t) - static_cast<double>(u));
                column[t] = noise.sigma * noise.sigma * (lag == 0 ? 1.0 : std::pow(noise.correlation, lag));
            }
            whiten(noise, column, column);
            whiten_transposed(noise, column, column);
            for (std::size_t t = 0; t < k; ++t) EXPECT_NEAR(column[t], t == u ? 1.0 : 0.0, 1e-12);
        }
    }
}

TEST(noise_filter, transposed_is_the_transposed) {
    const noise_filter noise{0.7, 0.8};
    for (const std::size_t k : {1U, 2U, 40U}) {
        const auto a = random_numbers(k);
        const auto b = random_numbers(2 * k);
        std::vector<double> wa(k), wb(k);
        whiten(noise, a, wa);
        whiten_transposed(noise, std::span(b).last(k), wb);
        double one = 0;
        double other = 0;
        for (std::size_t t = 0; t < k; ++t) {
            one += wa[t] * b[k + t];
            other += a[t] * wb[t];
        }
        EXPECT_NEAR(one, other, 1e-12);
    }
}

TEST(noise_filter, panels_are_whitened_column_by_column) {
    constexpr std::size_t k = 12;
    constexpr std::size_t n = 5;
    const auto numbers = random_numbers(k * n);
    const std::vector<float> panel(numbers.begin(), numbers.end());
    for (const double correlation : {0.0, 0.9}) {
        const noise_filter noise{0.2, correlation};
        std::vector<double> white(k * n);
        whiten_panel<double>(noise, panel, n, white);
        for (std::size_t j = 0; j < n; ++j) {
            std::vector<double> column(k);
            for (std::size_t t = 0; t < k; ++t) column[t] = static_cast<double>(panel[t * n + j]);
            whiten(noise, column, column);
            for (std::size_t t = 0; t < k; ++t) EXPECT_DOUBLE_EQ(white[t * n + j], column[t]);
        }
    }
}

} // namespace
} // namespace craton::tomography::noise_filter_tests
