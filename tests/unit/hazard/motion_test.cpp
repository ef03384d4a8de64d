#include <craton/apps/hazard/kernels/motion.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace craton::hazard {
namespace {

TEST(differentiate, is_exact_for_polynomials_of_degree_six) {
    std::vector<float> v;
    for (int t = 0; t < 20; ++t) v.push_back(static_cast<float>(std::pow(t - 10, 6))); // whole numbers that a float holds
    std::vector<double> a(v.size());
    differentiate(v, 0.5, a);
    for (int t = 3; t < 17; ++t) EXPECT_NEAR(a[static_cast<std::size_t>(t)], 2 * 6 * std::pow(t - 10, 5), 1e-6) << t;
}

TEST(differentiate, takes_the_velocity_to_stay_as_it_is_at_the_ends) {
    const std::vector<float> v{1, 2, 4, 7, 11, 16, 22, 29};
    std::vector<float> longer(3, v.front());
    longer.insert(longer.end(), v.begin(), v.end());
    longer.insert(longer.end(), 3, v.back());
    std::vector<double> a(v.size()), of_longer(longer.size());
    differentiate(v, 0.1, a);
    differentiate(longer, 0.1, of_longer);
    for (std::size_t t = 0; t < v.size(); ++t) EXPECT_DOUBLE_EQ(a[t], of_longer[t + 3]);
}

TEST(differentiate, takes_series_that_are_shorter_than_its_differences) {
    for (std::size_t n = 0; n < 7; ++n) {
        std::vector<float> v(n);
        for (std::size_t t = 0; t < n; ++t) v[t] = static_cast<float>(t * t);
        std::vector<double> a(n, -1);
        differentiate(v, 1, a);
        const auto at = [&](int t) {
            return static_cast<double>(v[static_cast<std::size_t>(std::min(std::max(t, 0), static_cast<int>(n) - 1))]);
        };
        for (int t = 0; t < static_cast<int>(n); ++t)
            EXPECT_NEAR(a[static_cast<std::size_t>(t)],
                        (45 * (at(t + 1) - at(t - 1)) - 9 * (at(t + 2) - at(t - 2)) + at(t + 3) - at(t - 3)) / 60, 1e-12);
    }
}

TEST(significant_duration, of_steady_shaking_is_a_part_of_its_length) {
    const std::vector<double> a(101, 2.0);
    EXPECT_NEAR(significant_duration(a, 0.1, 0.05, 0.75), 7.0, 1e-12);
    EXPECT_NEAR(significant_duration(a, 0.1, 0.05, 0.95), 9.0, 1e-12);
    EXPECT_NEAR(significant_duration(a, 0.1, 0.0, 1.0), 10.0, 1e-9);
}

TEST(significant_duration, does_not_see_rest_before_and_after) {
    std::vector<double> a(1000, 0.0);
    for (std::size_t t = 400; t <= 500; ++t) a[t] = std::sin(0.1 * static_cast<double>(t - 400));
    const std::vector<double> cut(a.begin() + 399, a.begin() + 502);
    EXPECT_NEAR(significant_duration(a, 0.01, 0.05, 0.95), significant_duration(cut, 0.01, 0.05, 0.95), 1e-12);
    EXPECT_GT(significant_duration(a, 0.01, 0.05, 0.95), 0.6);
    EXPECT_LT(significant_duration(a, 0.01, 0.05, 0.95), 1.0);
}

TEST(significant_duration, of_no_motion_is_none) {
    EXPECT_EQ(significant_duration(std::vector<double>(10, 0.0), 0.1, 0.05, 0.95), 0);
    EXPECT_EQ(significant_duration(std::vector<double>{}, 0.1, 0.05, 0.95), 0);
}

} // namespace
} // namespace craton::hazard
