#include "gram_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace craton;

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// n x k, column major: samples whose energy falls by `decay` from one direction to the next, mixed by random directions.
template <class T> std::vector<T> decaying_panel(std::int64_t n, std::int64_t k, double decay) {
    std::mt19937 random(17);
    std::normal_distribution<double> normal;
    std::vector<double> sum(at(n * k), 0.0);
    std::vector<double> left(at(n));
    std::vector<double> right(at(k));
    double size = 1;
    for (std::int64_t r = 0; r < k; ++r, size *= std::sqrt(decay)) {
        for (auto& x : left) x = size * normal(random);
        for (auto& x : right) x = normal(random);
        for (std::int64_t t = 0; t < k; ++t) {
            for (std::int64_t b = 0; b < n; ++b) sum[at(b + t * n)] += left[at(b)] * right[at(t)];
        }
    }
    return {sum.begin(), sum.end()};
}

template <class T> double energy(const std::vector<T>& values) {
    double sum = 0;
    for (const auto x : values) sum += static_cast<double>(x) * static_cast<double>(x);
    return sum;
}

// The trace norm of g g^T - h h^T where h = g Q: its trace, since the difference has no negative eigenvalue.
template <class T> void keeps_its_promise(double decay, double tolerance) {
    constexpr std::int64_t n = 1300; // more than two pieces of 512
    constexpr std::int64_t k = 40;
    SCOPED_TRACE("decay " + std::to_string(decay) + ", tolerance " + std::to_string(1e9 * tolerance) + "e-9");
    const auto panel = decaying_panel<T>(n, k, decay);
    auto compressed = panel;
    const std::int64_t rank = linalg::compress(n, k, tolerance, compressed);
    ASSERT_EQ(compressed.size(), at(n * rank));
    // Projecting in T moves the trace by less than this part of it.
    const double rounding = std::is_same_v<T, float> ? 1e-7 : 1e-15;
    EXPECT_LE(energy(panel) - energy(compressed), (tolerance + rounding) * energy(panel));
    // Not more rows than the energy asks for, with a margin for what a pivoted factor may miss: one decade of energy.
    const double needed = 1 + std::log(tolerance / 10) / std::log(decay);
    EXPECT_LE(static_cast<double>(rank), std::min<double>(k, needed + 3));
}

TEST(compression_test, what_is_lost_stays_within_the_tolerance) {
    for (const double decay : {0.9, 0.5, 0.1}) {
        for (const double tolerance : {1e-2, 1e-4, 1e-6, 9e-7, 7e-7, 1e-8}) {
            keeps_its_promise<float>(decay, tolerance);
            keeps_its_promise<double>(decay, tolerance);
        }
    }
}

TEST(compression_test, a_panel_of_zeros_has_rank_zero_and_a_full_one_stays) {
    std::vector<float> zeros(600, 0.0F);
    EXPECT_EQ(linalg::compress(60, 10, 1e-6, zeros), 0);
    const auto full = decaying_panel<float>(60, 10, 1.0);
    auto same = full;
    EXPECT_EQ(linalg::compress(60, 10, 1e-6, same), 10);
    EXPECT_EQ(same, full);
    same[3] = std::nanf("");
    EXPECT_EQ(linalg::compress(60, 10, 1e-6, same), 10);
}

} // namespace
