#include <craton/apps/tomography/kernels/source_filter.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace craton::tomography {

namespace {

constexpr double pi = std::numbers::pi;

} // namespace

double band_pass_gain(const std::array<double, 4>& periods_s, double frequency_Hz) {
    const double f1 = 1 / periods_s[0];
    const double f2 = 1 / periods_s[1];
    const double f3 = 1 / periods_s[2];
    const double f4 = 1 / periods_s[3];
    if (frequency_Hz <= f1 || frequency_Hz >= f4) {
        return 0;
    }
    if (frequency_Hz < f2) {
        return 0.5 * (1 - std::cos(pi * (frequency_Hz - f1) / (f2 - f1)));
    }
    if (frequency_Hz > f3) {
        return 0.5 * (1 + std::cos(pi * (frequency_Hz - f3) / (f4 - f3)));
    }
    return 1;
}

double triangle_gain(double omega_rad_s, double half_duration_s) {
    const double x = 0.5 * omega_rad_s * half_duration_s;
    if (x < 1e-8) {
        return 1;
    } // sinc differs from 1 by x^2 / 6
    const double sinc = std::sin(x) / x;
    return sinc * sinc;
}

void check_filter_periods(const std::array<double, 4>& t, double shortest_period_s) {
    const bool decreasing = std::isfinite(t[0]) && t[0] > t[1] && t[1] > t[2] && t[2] > t[3] && t[3] > 0;
    if (!decreasing) {
        throw user_error(
            fmt::format("filter: periods ({}, {}, {}, {}) s; allowed: finite, positive and decreasing", t[0], t[1], t[2], t[3]));
    }
    if (t[3] < shortest_period_s * (1 - 1e-12)) {
        throw user_error(
            fmt::format("filter: its shortest period, {} s, needs modes that the catalogue lacks; allowed: {} s or more", t[3],
                        shortest_period_s));
    }
}

} // namespace craton::tomography
