#include <craton/apps/tomography/kernels/carrier_nodes.hpp>

#include <craton/apps/tomography/kernels/quadrature.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace craton::tomography {

namespace {

constexpr std::size_t width = carrier_nodes::width;
constexpr double half_width = static_cast<double>(width - 1) / 2;
constexpr double oversampling = 2;
constexpr double furthest = std::numbers::pi / oversampling; // of theta = h (t - t_c)
constexpr std::size_t powers = 16;

/// Phi(theta), 1 at 0. The bell's steepness is that of Beatty, Nishimura & Pauly 2005, a little less.
double bell(double theta) {
    const auto w = static_cast<double>(width);
    const double ratio = w / oversampling * (oversampling - 0.5);
    const double steepness = 0.95 * std::numbers::pi * std::sqrt(ratio * ratio - 0.8);
    const double root = std::sqrt(steepness * steepness - 0.25 * w * w * theta * theta);
    return std::sinh(root) / root * steepness / std::sinh(steepness);
}

/// Shares as polynomials of x, how many spacings a wave lies above the middle one of its nodes: by least squares over the window.
using table = std::array<std::array<double, powers>, width>;

table best_shares() {
    constexpr std::size_t points = 80;
    std::array<double, points> theta{}, weight{};
    gauss_legendre(theta, weight);
    // Of exp(i x theta) = sum_p x^p (i theta)^p / p!: normal equations, which are real because the window is even.
    std::array<std::array<double, width>, width> normal{};
    table shares{};
    for (std::size_t q = 0; q < points; ++q) {
        const double at = furthest * theta[q];
        const double phi = bell(at);
        for (std::size_t a = 0; a < width; ++a) {
            const double node = static_cast<double>(a) - half_width;
            for (std::size_t b = 0; b < width; ++b) {
                normal[a][b] += weight[q] / (phi * phi) * std::cos((node - (static_cast<double>(b) - half_width)) * at);
            }
            double power = weight[q] / phi; // times theta^p / p!, with the sign of i^p
            for (std::size_t p = 0; p < powers; ++p) {
                const double sign = p / 2 % 2 == 0 ? 1 : -1;
                shares[a][p] += sign * power * (p % 2 == 0 ? std::cos(node * at) : std::sin(node * at));
                power *= at / static_cast<double>(p + 1);
            }
        }
    }
    for (std::size_t k = 0; k < width; ++k) { // Gauss-Jordan
        std::size_t pivot = k;
        for (std::size_t row = k + 1; row < width; ++row) {
            if (std::abs(normal[row][k]) > std::abs(normal[pivot][k])) pivot = row;
        }
        std::swap(normal[k], normal[pivot]);
        std::swap(shares[k], shares[pivot]);
        const double inverse = 1 / normal[k][k];
        for (double& value : normal[k]) value *= inverse;
        for (double& value : shares[k]) value *= inverse;
        for (std::size_t row = 0; row < width; ++row) {
            if (row == k) continue;
            const double factor = normal[row][k];
            for (std::size_t b = 0; b < width; ++b) normal[row][b] -= factor * normal[k][b];
            for (std::size_t p = 0; p < powers; ++p) shares[row][p] -= factor * shares[k][p];
        }
    }
    return shares;
}

} // namespace

carrier_nodes::carrier_nodes(std::span<const double> omega_rad_s, std::span<const double> decay_per_s, double t_first_s,
                             double t_last_s)
    : spacing_rad_s_(2 * furthest / std::max(1.0, t_last_s - t_first_s)), centre_s_(0.5 * (t_first_s + t_last_s)) {
    const auto [lowest, highest] = std::ranges::minmax(omega_rad_s);
    const auto [slowest, fastest] = std::ranges::minmax(decay_per_s);
    lowest_rad_s_ = lowest;
    decay_per_s_ = 0.5 * (slowest + fastest);
    count_ = static_cast<std::size_t>(std::ceil((highest - lowest) / spacing_rad_s_)) + width;
}

carrier_nodes::share carrier_nodes::of(std::complex<double> s) const {
    static const table shares = best_shares(); // of no particular window
    const std::complex<double> above = (s - std::complex<double>(lowest_rad_s_, decay_per_s_)) / spacing_rad_s_;
    const double nearest = std::clamp(std::round(above.real()), 0.0, static_cast<double>(count_ - width));
    const std::complex<double> x = above - nearest;
    const std::complex<double> at_centre = std::exp(std::complex<double>(0, 1) * s * centre_s_);
    share out;
    out.first = static_cast<std::size_t>(nearest);
    for (std::size_t a = 0; a < width; ++a) {
        std::complex<double> value = 0;
        std::complex<double> slope = 0;
        for (std::size_t p = powers; p-- > 0;) {
            slope = slope * x + value;
            value = value * x + shares[a][p];
        }
        out.values[a] = value * at_centre;
        out.slopes[a] = (slope / spacing_rad_s_ + std::complex<double>(0, centre_s_) * value) * at_centre;
    }
    return out;
}

void carrier_nodes::waves(double t_s, std::span<std::complex<double>> out) const {
    const double later = t_s - centre_s_;
    const double scale = std::exp(-decay_per_s_ * later) / bell(spacing_rad_s_ * later);
    for (std::size_t v = 0; v < count_; ++v) {
        const double omega = lowest_rad_s_ + (static_cast<double>(v) - half_width) * spacing_rad_s_;
        out[v] = std::polar(scale, omega * later);
    }
}

} // namespace craton::tomography
