#include <craton/apps/tomography/kernels/window_misfit.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace craton::tomography::window_misfit_tests {
namespace {

constexpr std::size_t samples = 120;

std::vector<double> random_numbers(std::size_t count, unsigned seed) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<double> values(count);
    for (auto& v : values) v = normal(generator);
    return values;
}

double bell(double t) { return 20.0 * std::exp(-0.5 * std::pow((t - 60.0) / 12.0, 2)); }

// A wave packet with a period of nine samples, which comes `late` samples later.
std::vector<double> packet(double late, bool quadrature = false) {
    std::vector<double> x(samples);
    for (std::size_t t = 0; t < samples; ++t) {
        const double at = static_cast<double>(t) - late;
        x[t] = bell(at) * (quadrature ? std::sin(0.7 * at) : std::cos(0.7 * at));
    }
    return x;
}

double dot(std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (std::size_t t = 0; t < a.size(); ++t) sum += a[t] * b[t];
    return sum;
}

std::vector<double> residual(misfit_kind kind, std::span<const double> d, std::span<const double> g) {
    std::vector<double> e(static_cast<std::size_t>(window_misfit::residuals(kind, static_cast<std::int64_t>(g.size()))));
    window_misfit(kind, g).residual(d, 20, e);
    return e;
}

std::vector<double> derivative(misfit_kind kind, std::span<const double> g, std::span<const double> x) {
    std::vector<double> out(static_cast<std::size_t>(window_misfit::residuals(kind, static_cast<std::int64_t>(g.size()))));
    window_misfit(kind, g).derivative(x, 1, std::span(out));
    return out;
}

TEST(window_misfit, delays_are_found_between_samples) {
    for (const double late : {0.0, 0.3, -2.5, 7.8, -11.1}) EXPECT_NEAR(delay(packet(late), packet(0), 15), late, 0.01);
    EXPECT_LE(std::abs(delay(packet(11.0), packet(0), 5)), 5.5); // no farther than it is told to look
    for (const double late : {0.5, 1.0, 4.0, -7.5}) {            // a wave that fills the window
        std::vector<double> d(samples), g(samples);
        for (std::size_t t = 0; t < samples; ++t) {
            g[t] = std::cos(0.2 * static_cast<double>(t));
            d[t] = std::cos(0.2 * (static_cast<double>(t) - late));
        }
        EXPECT_NEAR(delay(d, g, 15), late, 0.1 + 0.03 * std::abs(late));
    }
    const std::vector<double> zero(samples, 0.0);
    EXPECT_EQ(delay(zero, packet(0), 10), 0.0);
    EXPECT_EQ(delay(packet(0), zero, 10), 0.0);
    EXPECT_EQ(delay(std::vector<double>{3.0}, std::vector<double>{2.0}, 10), 0.0);
}

TEST(window_misfit, the_hilbert_transform_of_a_cosine_is_a_sine) {
    std::vector<double> out(samples);
    hilbert_transform(packet(0), out);
    const auto expected = packet(0, true);
    for (std::size_t t = 0; t < samples; ++t) EXPECT_NEAR(out[t], expected[t], 1e-3);
}

TEST(window_misfit, an_envelope_is_the_bell_of_a_packet_above_the_noise) {
    // Against no prediction the residual is the data's envelope, less that of noise alone.
    const auto e = residual(misfit_kind::envelope, packet(3.0), std::vector<double>(samples, 0.0));
    for (std::size_t t = 0; t < samples; ++t) {
        EXPECT_NEAR(e[t], std::hypot(bell(static_cast<double>(t) - 3.0), 1.0) - 1.0, 2e-3);
    }
}

TEST(window_misfit, waveforms_are_differences) {
    const auto d = random_numbers(samples, 1);
    const auto g = random_numbers(samples, 2);
    const auto e = residual(misfit_kind::waveform, d, g);
    for (std::size_t t = 0; t < samples; ++t) EXPECT_EQ(e[t], d[t] - g[t]);
    EXPECT_EQ(derivative(misfit_kind::waveform, g, d), d);
}

TEST(window_misfit, the_derivative_of_envelopes_equals_central_differences) {
    const auto d = random_numbers(samples, 1);
    const auto g = random_numbers(samples, 2);
    const auto x = random_numbers(samples, 3);
    constexpr double step = 1e-5;
    std::vector<double> up(g);
    std::vector<double> down(g);
    for (std::size_t t = 0; t < samples; ++t) {
        up[t] += step * x[t];
        down[t] -= step * x[t];
    }
    const auto after = residual(misfit_kind::envelope, d, up);
    const auto before = residual(misfit_kind::envelope, d, down);
    const auto found = derivative(misfit_kind::envelope, g, x);
    for (std::size_t t = 0; t < samples; ++t) EXPECT_NEAR(found[t], (before[t] - after[t]) / (2 * step), 1e-7);
}

// At d = g the waves' derivative is that of the cross-correlation's maximum: Luo & Schuster (1991).
TEST(window_misfit, the_derivative_of_arrival_times_equals_central_differences) {
    const auto g = packet(0);
    constexpr double step = 1e-4;
    for (const auto& x : {packet(2.0), packet(-1.0), packet(0, true)}) {
        std::vector<double> up(g);
        std::vector<double> down(g);
        for (std::size_t t = 0; t < samples; ++t) {
            up[t] += step * x[t];
            down[t] -= step * x[t];
        }
        const double difference =
            (residual(misfit_kind::arrival_time, g, down)[0] - residual(misfit_kind::arrival_time, g, up)[0]) / (2 * step);
        const double found = derivative(misfit_kind::arrival_time, g, x)[0];
        EXPECT_GT(std::abs(found), 1.0);
        EXPECT_NEAR(found, difference, 0.02 * std::abs(difference));
    }
}

// What waves that are late by t leave is R times what shifting the prediction by t would change, as a wave of any size does.
TEST(window_misfit, the_residual_of_late_waves_is_what_a_shift_would_change) {
    const auto g = packet(0);
    std::vector<double> shifted(packet(1e-3));
    for (std::size_t t = 0; t < samples; ++t) shifted[t] = (shifted[t] - g[t]) / 1e-3;
    const double per_sample = derivative(misfit_kind::arrival_time, g, shifted)[0];
    for (const double late : {0.5, 4.0, 9.0}) {
        EXPECT_NEAR(residual(misfit_kind::arrival_time, packet(late), g)[0], late * per_sample, 0.02 * late * std::abs(per_sample));
    }
    EXPECT_EQ(residual(misfit_kind::arrival_time, g, std::vector<double>(samples, 0.0))[0], 0.0);
}

TEST(window_misfit, transposes_are_transposes_and_panels_are_columns) {
    const auto g = random_numbers(samples, 5);
    for (const misfit_kind kind : {misfit_kind::waveform, misfit_kind::arrival_time, misfit_kind::envelope}) {
        const window_misfit of(kind, g);
        const auto rows = static_cast<std::size_t>(window_misfit::residuals(kind, samples));
        constexpr std::size_t columns = 3;
        const auto panel = random_numbers(samples * columns, 6);
        const std::vector<float> single(panel.begin(), panel.end());
        const auto e = random_numbers(rows, 7);
        std::vector<double> all(rows * columns), back(samples), column(samples);
        std::vector<float> all_single(rows * columns);
        of.derivative(std::span(panel), columns, std::span(all));
        of.derivative(std::span(single), columns, std::span(all_single));
        of.derivative_transposed(e, back);
        for (std::size_t j = 0; j < columns; ++j) {
            for (std::size_t t = 0; t < samples; ++t) column[t] = panel[t * columns + j];
            const auto one = derivative(kind, g, column);
            for (std::size_t i = 0; i < rows; ++i) {
                EXPECT_NEAR(all[i * columns + j], one[i], 1e-12);
                EXPECT_NEAR(static_cast<double>(all_single[i * columns + j]), one[i], 2e-5);
            }
            EXPECT_NEAR(dot(one, e), dot(column, back), 1e-10);
        }
    }
}

} // namespace
} // namespace craton::tomography::window_misfit_tests
