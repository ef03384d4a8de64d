#include <craton/apps/tomography/mode_synthetics.hpp>

#include <craton/apps/tomography/kernels/great_circle.hpp>
#include <craton/apps/tomography/kernels/legendre.hpp>
#include <craton/apps/tomography/kernels/mode_sum.hpp>
#include <craton/apps/tomography/kernels/source_filter.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace craton::tomography {

namespace {

constexpr double pi = std::numbers::pi;

unit_vector place(double latitude_deg, double longitude_deg) {
    return position(geocentric_latitude_rad(latitude_deg * pi / 180), longitude_deg * pi / 180);
}

/// P_lm and its derivative for all degrees and m = 0, 1, 2.
struct legendre_table {
    std::array<std::vector<double>, 3> p;
    std::array<std::vector<double>, 3> dp;

    legendre_table(double delta_rad, std::size_t degrees) {
        for (std::size_t m = 0; m < 3; ++m) {
            p[m].resize(degrees);
            dp[m].resize(degrees);
            legendre_functions(delta_rad, static_cast<int>(m), p[m], dp[m]);
        }
    }

    [[nodiscard]] legendre_values at(std::int64_t degree) const {
        const std::size_t l = static_cast<std::size_t>(degree);
        return {{p[0][l], p[1][l], p[2][l]}, {dp[0][l], dp[1][l], dp[2][l]}};
    }
};

void check(const event& source, std::span<const station> receivers, const sampling& times, std::size_t size, double deepest_m) {
    if (!(source.depth_m >= 0 && source.depth_m <= deepest_m)) {
        throw user_error(fmt::format("synthetics: depth {} m is out of range; allowed: 0 to {} m", source.depth_m, deepest_m));
    }
    if (!(times.interval_s > 0) || !std::isfinite(times.interval_s) || !std::isfinite(times.t_first_s) || times.samples < 0) {
        throw user_error(fmt::format("synthetics: {} samples every {} s from {} s on; allowed: finite times, a positive interval",
                                     times.samples, times.interval_s, times.t_first_s));
    }
    const std::size_t needed = receivers.size() * 3 * static_cast<std::size_t>(times.samples);
    if (size != needed) {
        throw user_error(fmt::format("synthetics: room for {} values; allowed: {}", size, needed));
    }
}

} // namespace

mode_synthetics::mode_synthetics(std::shared_ptr<const spheroidal_catalogue> spheroidal,
                                 std::shared_ptr<const mode_catalogue> toroidal,
                                 std::optional<std::array<double, 4>> filter_periods_s, receiver_kind receiver)
    : spheroidal_(std::move(spheroidal)), toroidal_(std::move(toroidal)), filter_(filter_periods_s), receiver_(receiver) {
    if (spheroidal_->earth().name() != toroidal_->earth().name()) {
        throw user_error(fmt::format("synthetics: spheroidal modes of {} with toroidal modes of {}; allowed: modes of one Earth",
                                     spheroidal_->earth().name(), toroidal_->earth().name()));
    }
    if (filter_) {
        check_filter_periods(*filter_, std::max(spheroidal_->arrays().shortest_period_s, toroidal_->arrays().shortest_period_s));
    }
}

/// With the gains of filter and source, and 1 / w^2, in the receiver's factors.
std::vector<mode_scalars> mode_synthetics::excited_modes(const event& source) const {
    const double radius_m = earth_radius_m - source.depth_m;
    std::vector<mode_scalars> modes = scalars_of(*spheroidal_, radius_m, receiver_);
    const std::vector<mode_scalars> toroidal = scalars_of(*toroidal_, radius_m);
    modes.insert(modes.end(), toroidal.begin(), toroidal.end());
    for (mode_scalars& mode : modes) {
        const double band = filter_ ? band_pass_gain(*filter_, mode.omega_rad_s / (2 * pi)) : 1;
        const double gain = band * triangle_gain(mode.omega_rad_s, source.half_duration_s) / (mode.omega_rad_s * mode.omega_rad_s);
        mode.vertical *= gain;
        mode.horizontal *= gain;
    }
    std::erase_if(modes, [](const mode_scalars& mode) { return mode.vertical == 0 && mode.horizontal == 0; });
    return modes;
}

void mode_synthetics::seismograms(const event& source, std::span<const station> receivers, const sampling& times,
                                  std::span<double> out) const {
    check(source, receivers, times, out.size(), earth_radius_m - spheroidal_->earth().cmb_radius_m());
    const std::vector<mode_scalars> modes = excited_modes(source);
    std::int64_t l_max = 0;
    std::vector<double> omega;
    std::vector<double> decay;
    for (const mode_scalars& mode : modes) {
        l_max = std::max(l_max, mode.l);
        omega.push_back(mode.omega_rad_s);
        decay.push_back(0.5 * mode.omega_rad_s / mode.q);
    }
    const unit_vector from = place(source.latitude_deg, source.longitude_deg);
    const std::size_t samples = static_cast<std::size_t>(times.samples);
    std::array<std::vector<double>, 3> amplitude;
    for (std::size_t s = 0; s < receivers.size(); ++s) {
        const unit_vector to = place(receivers[s].latitude_deg, receivers[s].longitude_deg);
        const double delta = distance_rad(from, to);
        const legendre_table legendre(delta, static_cast<std::size_t>(l_max) + 1);
        const double phi = pi - azimuth_rad(from, to);
        const double sine = std::max(std::sin(delta), 1e-6); // as the Legendre functions keep off the poles
        for (std::size_t c = 0; c < 3; ++c) {
            amplitude[c].clear();
        }
        for (const mode_scalars& mode : modes) {
            const auto value = mode_amplitudes(mode, source.moment_tensor_Nm, phi, sine, legendre.at(mode.l));
            for (std::size_t c = 0; c < 3; ++c) {
                amplitude[c].push_back(value[c]);
            }
        }
        for (std::size_t c = 0; c < 3; ++c) {
            const auto trace = out.subspan((3 * s + c) * samples, samples);
            mode_sum({omega, decay, amplitude[c], times.t_first_s, times.interval_s}, trace);
            const double offset = filter_ ? 0 : std::accumulate(amplitude[c].begin(), amplitude[c].end(), 0.0);
            for (std::size_t j = 0; j < samples; ++j) {
                const bool before = times.t_first_s + static_cast<double>(j) * times.interval_s < 0;
                trace[j] = before && !filter_ ? 0 : offset - trace[j];
            }
        }
    }
}

} // namespace craton::tomography
