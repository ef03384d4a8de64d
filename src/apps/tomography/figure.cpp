#include <craton/apps/tomography/figure.hpp>

#include "layer_map.hpp"

#include <craton/apps/tomography/kernels/quadrature.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace craton::tomography {

namespace {

constexpr double longest_step_m = 5e3;
constexpr double longest_piece_m = 100e3;

} // namespace

hydrostatic_figure::hydrostatic_figure(const earth_model& earth) {
    const auto slope = [&](double r, double n, bool below) { // dn / dr
        const double mean = 3 * earth.gravity_m_s2(r) / (4 * std::numbers::pi * gravitational_constant * r);
        return (6 + n - n * n - 6 * earth.evaluate(r, below).density_kg_m3 / mean * (n + 1)) / r;
    };
    double n = 0;                // density varies with r^2 at the centre
    std::vector<double> rate{0}; // n
    radius_m_ = {0};
    for (const earth_layer& layer : earth.layers()) {
        const double width = layer.outer_radius_m - layer.inner_radius_m;
        const int steps = static_cast<int>(std::ceil(width / longest_step_m));
        const double h = width / steps;
        for (int i = 0; i < steps; ++i) {
            const double r = layer.inner_radius_m + i * h;
            const double end = i + 1 == steps ? layer.outer_radius_m : r + h;
            if (r > 0) {
                const double k1 = slope(r, n, false);
                const double k2 = slope(r + 0.5 * h, n + 0.5 * h * k1, false);
                const double k3 = slope(r + 0.5 * h, n + 0.5 * h * k2, false);
                const double k4 = slope(end, n + h * k3, true);
                n += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
            }
            radius_m_.push_back(end);
            rate.push_back(n);
        }
    }
    const double a = earth.surface_radius_m();
    const double over_gravity = rotation_rad_s * rotation_rad_s * a / earth.gravity_m_s2(a);
    double e = 2.5 * over_gravity / (n + 2);
    ellipticity_.assign(radius_m_.size(), e);
    for (std::size_t i = radius_m_.size() - 1; i-- > 0;) { // d ln e = n dr / r
        if (radius_m_[i] > 0) e *= std::exp(-0.5 * (rate[i] + rate[i + 1]) * std::log(radius_m_[i + 1] / radius_m_[i]));
        ellipticity_[i] = e;
    }
}

double hydrostatic_figure::ellipticity(double radius_m) const {
    const auto above = std::ranges::upper_bound(radius_m_, radius_m);
    if (above == radius_m_.end()) return ellipticity_.back();
    const auto i = static_cast<std::size_t>(above - radius_m_.begin());
    if (i == 0) return ellipticity_.front();
    const double part = (radius_m - radius_m_[i - 1]) / (radius_m_[i] - radius_m_[i - 1]);
    return ellipticity_[i - 1] + part * (ellipticity_[i] - ellipticity_[i - 1]);
}

earth_model stretched(const earth_model& earth, double s) {
    const hydrostatic_figure figure(earth);
    const auto moved = [&](double r) { return r * (1 + s * figure.ellipticity(r)); };
    std::vector<earth_layer> pieces;
    for (const earth_layer& layer : earth.layers()) {
        const double width = layer.outer_radius_m - layer.inner_radius_m;
        const int count = std::max(1, static_cast<int>(std::ceil(width / longest_piece_m)));
        for (int i = 0; i < count; ++i) {
            const double below = layer.inner_radius_m + width * i / count;
            const double above = i + 1 == count ? layer.outer_radius_m : layer.inner_radius_m + width * (i + 1) / count;
            const double inner = pieces.empty() ? 0 : pieces.back().outer_radius_m;
            pieces.push_back(mapped(layer, inner, moved(above), below, above));
        }
    }
    return earth_model::from_layers(fmt::format("{}, stretched by {:g}", earth.name(), s), std::move(pieces));
}

stretch_along stretch_along::of(const great_circle_arc& arc) {
    // -2/3 P_2(z) = 1/3 - z^2, z = a cos psi + b sin psi
    const double a = arc.at(0).z;
    const double b = arc.at(0.5 * std::numbers::pi).z;
    return {1.0 / 3 - 0.5 * (a * a + b * b), -0.5 * (a * a - b * b), -a * b};
}

double stretch_along::at(double psi) const { return mean + cosine * std::cos(2 * psi) + sine * std::sin(2 * psi); }

double stretch_along::average(double begin, double end) const {
    const double even = cosine * (std::sin(2 * end) - std::sin(2 * begin));
    const double odd = sine * (std::cos(2 * begin) - std::cos(2 * end));
    return mean + (even + odd) / (2 * (end - begin));
}

std::vector<double> coriolis_parameters(const spheroidal_catalogue& modes) {
    const radial_mesh& mesh = modes.mesh();
    const std::size_t count = static_cast<std::size_t>(mesh.order()) + 3;
    std::vector<double> points(count), weights(count), radius, factor;
    gauss_legendre(points, weights);
    for (std::int64_t e = 0; e < mesh.elements(); ++e) {
        const auto nodes = mesh.element_nodes_m(e);
        const double half = 0.5 * (nodes.back() - nodes.front());
        for (std::size_t q = 0; q < count; ++q) {
            const double r = nodes.front() + half * (1 + points[q]);
            radius.push_back(r);
            factor.push_back(half * weights[q] * modes.earth().evaluate(r).density_kg_m3 * r * r);
        }
    }
    std::vector<double> out;
    for (std::int64_t i = 0; i < modes.size(); ++i) {
        const double l = static_cast<double>(modes.arrays().l[static_cast<std::size_t>(i)]);
        const double k2 = l * (l + 1);
        double sum = 0;
        for (std::size_t q = 0; l > 0 && q < radius.size(); ++q) {
            const spheroidal_point at = modes.evaluate(i, radius[q]);
            sum += factor[q] * at.v * (at.v + 2 * std::sqrt(k2) * at.u);
        }
        out.push_back(l > 0 ? sum / k2 : 0);
    }
    return out;
}

} // namespace craton::tomography
