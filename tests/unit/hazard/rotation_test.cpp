#include <craton/apps/hazard/kernels/rotation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

namespace craton::hazard {
namespace {

std::array<double, rotations> by_every_sample(const std::vector<double>& x, const std::vector<double>& y) {
    std::array<double, rotations> peaks{};
    for (std::size_t degree = 0; degree < rotations; ++degree) {
        const double angle = static_cast<double>(degree) * std::numbers::pi / 180;
        for (std::size_t t = 0; t < x.size(); ++t)
            peaks[degree] = std::max(peaks[degree], std::abs(x[t] * std::cos(angle) + y[t] * std::sin(angle)));
    }
    return peaks;
}

void expect_the_same(const std::vector<double>& x, const std::vector<double>& y, const char* what) {
    std::array<double, rotations> found{};
    found.fill(-1);
    rotated_peaks(x, y, found);
    const auto wanted = by_every_sample(x, y);
    const double scale = *std::max_element(wanted.begin(), wanted.end());
    for (std::size_t degree = 0; degree < rotations; ++degree)
        ASSERT_NEAR(found[degree], wanted[degree], 1e-13 * scale) << what << ' ' << degree;
}

TEST(rotated_peaks, are_those_of_every_sample_turned_by_every_degree) {
    std::mt19937 random(11);
    std::normal_distribution<double> normal;
    const std::vector<std::pair<const char*, std::function<std::array<double, 2>(double)>>> motions{
        {"random", [&](double) { return std::array{normal(random), normal(random)}; }},
        {"flat", [&](double) { return std::array{normal(random), 1e-6 * normal(random)}; }},
        {"line",
         [&](double) {
             const double a = normal(random);
             return std::array{0.3 * a, -0.7 * a};
         }},
        {"along x", [&](double) { return std::array{normal(random), 0.0}; }},
        {"circle", [](double t) { return std::array{std::cos(t), std::sin(t)}; }},
        {"ellipse", [](double t) { return std::array{5 * std::cos(t) + std::sin(t), std::sin(t)}; }},
        {"one place", [](double) { return std::array{-2.0, 1.0}; }},
        {"rest", [](double) { return std::array{0.0, 0.0}; }},
        {"one sample moves", [](double t) { return t == 3 ? std::array{-1.0, 4.0} : std::array{0.0, 0.0}; }},
        {"small", [&](double) { return std::array{1e-150 * normal(random), 1e-150 * normal(random)}; }},
    };
    for (const auto& [what, motion] : motions) {
        for (const int samples : {0, 1, 2, 7, 8, 9, 500, 1003}) {
            std::vector<double> x, y;
            for (int t = 0; t < samples; ++t) {
                const auto [a, b] = motion(t);
                x.push_back(a);
                y.push_back(b);
            }
            expect_the_same(x, y, what);
        }
    }
}

TEST(rotated_measures, are_the_median_and_the_largest) {
    std::array<double, rotations> peaks{};
    for (std::size_t n = 0; n < rotations; ++n)
        peaks[n * 7 % rotations] = static_cast<double>(n); // 7 and 180 have no common factor
    const auto found = measures_of(peaks);
    EXPECT_DOUBLE_EQ(found.median, 89.5);
    EXPECT_DOUBLE_EQ(found.largest, 179);
}

TEST(rotated_measures, of_motion_along_a_line_are_known) {
    // of |cos| at 180 angles half are below cos 45, which is there twice, in the middle
    std::vector<double> x{0, 3, -1}, y{0, 0, 0};
    std::array<double, rotations> peaks{};
    rotated_peaks(x, y, peaks);
    const auto found = measures_of(peaks);
    EXPECT_NEAR(found.largest, 3, 1e-14);
    const double degree = std::numbers::pi / 180;
    EXPECT_NEAR(found.median, 3 * 0.5 * (std::cos(45 * degree) + std::cos(45 * degree)), 1e-12);
}

} // namespace
} // namespace craton::hazard
