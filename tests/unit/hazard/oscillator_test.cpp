#include <craton/apps/hazard/kernels/oscillator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

namespace craton::hazard {
namespace {

constexpr auto lanes = static_cast<std::size_t>(oscillator_lanes);

// The oscillator's equation by small Runge-Kutta steps, with straight lines between samples of the acceleration.
std::vector<double> integrated(const std::vector<double>& a, double dt, double period, double damping, int substeps) {
    const double w = 2 * std::numbers::pi / period, h = dt / substeps;
    double x = 0, v = 0;
    std::vector<double> found{0.0};
    for (std::size_t t = 0; t + 1 < a.size(); ++t) {
        for (int n = 0; n < substeps; ++n) {
            const auto force = [&](double part) { return a[t] + (a[t + 1] - a[t]) * (n + part) / substeps; };
            const auto pull = [&](double part, double at, double speed) {
                return -force(part) - 2 * damping * w * speed - w * w * at;
            };
            const double k1 = v, l1 = pull(0, x, v);
            const double k2 = v + h / 2 * l1, l2 = pull(0.5, x + h / 2 * k1, k2);
            const double k3 = v + h / 2 * l2, l3 = pull(0.5, x + h / 2 * k2, k3);
            const double k4 = v + h * l3, l4 = pull(1, x + h * k3, k4);
            x += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
            v += h / 6 * (l1 + 2 * l2 + 2 * l3 + l4);
        }
        found.push_back(x);
    }
    return found;
}

TEST(oscillator, is_exact_for_straight_lines_between_samples) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    constexpr std::size_t samples = 150;
    std::vector<double> series(samples * lanes);
    for (auto& a : series) a = normal(random);
    for (const double damping : {0.001, 0.05, 0.7, 0.99}) {
        for (const double period : {0.15, 1.0, 8.0}) {
            std::vector<double> moved(series.size()), peaks(lanes), peaks_alone(lanes);
            const auto step = step_of_oscillator(period, damping, 0.1);
            respond(step, series, moved, peaks);
            respond(step, series, {}, peaks_alone);
            EXPECT_EQ(peaks, peaks_alone);
            for (const std::size_t lane : {std::size_t{0}, std::size_t{5}, lanes - 1}) {
                std::vector<double> one(samples);
                for (std::size_t t = 0; t < samples; ++t) one[t] = series[t * lanes + lane];
                const auto wanted = integrated(one, 0.1, period, damping, 1000);
                double most = 0;
                for (std::size_t t = 0; t < samples; ++t) most = std::max(most, std::abs(wanted[t]));
                for (std::size_t t = 0; t < samples; ++t)
                    ASSERT_NEAR(moved[t * lanes + lane], wanted[t], 1e-8 * most) << period << ' ' << t;
                EXPECT_NEAR(peaks[lane], most, 1e-8 * most);
            }
        }
    }
}

TEST(oscillator, overshoots_a_step_as_analysis_says) {
    // 1 + exp(-pi z / sqrt(1 - z^2)), half a damped period after the step
    const double z = 0.05, period = 2;
    constexpr std::size_t samples = 4000;
    std::vector<double> series(samples * lanes, 1.0), peaks(lanes);
    respond(step_of_oscillator(period, z, 0.001), series, {}, peaks);
    const double w = 2 * std::numbers::pi / period;
    for (const double peak : peaks) {
        EXPECT_NEAR(w * w * peak, 1 + std::exp(-std::numbers::pi * z / std::sqrt(1 - z * z)), 2e-6);
        EXPECT_NEAR(w * w * peak, 1.854468, 2e-6);
    }
}

TEST(oscillator, keeps_its_digits_when_steps_are_much_shorter_than_the_period) {
    // under a steady acceleration from rest x = -a t^2 / 2 while t is far below the period
    constexpr std::size_t samples = 1001;
    std::vector<double> series(samples * lanes, 1.0), peaks(lanes);
    respond(step_of_oscillator(1e4, 0.05, 1e-3), series, {}, peaks);
    EXPECT_NEAR(peaks[0], 0.5, 1e-4);
}

} // namespace
} // namespace craton::hazard
