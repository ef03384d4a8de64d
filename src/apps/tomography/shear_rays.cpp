#include "shear_rays.hpp"

#include <craton/apps/tomography/kernels/quadrature.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace craton::tomography {

namespace {

constexpr double longest_step_m = 50e3;
constexpr double shift_m = 500; // for the derivative of ellipticity
constexpr int most_bounces = 20;
constexpr std::size_t points = 6;

} // namespace

ray_sums ray_sums::plus(const ray_sums& more, double part) const {
    return {angle + part * more.angle,      time + part * more.time, uniform + part * more.uniform,
            cosine + part * more.cosine,    sine + part * more.sine, dip_cosine + part * more.dip_cosine,
            dip_sine + part * more.dip_sine};
}

double shear_rays::speed(double radius_m, bool below) const { return earth_->evaluate(radius_m, below).vsh_m_s; }

shear_rays::shear_rays(const earth_model& earth, std::vector<double> ray_parameters_s)
    : earth_(&earth), parameters_s_(std::move(ray_parameters_s)) {
    std::vector<double> ends{earth.cmb_radius_m()};
    for (const double r : earth.discontinuities_m()) {
        if (r > ends.front() && r < earth.solid_surface_radius_m()) ends.push_back(r);
    }
    ends.push_back(earth.solid_surface_radius_m());
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
        const double width = ends[i + 1] - ends[i];
        const int count = static_cast<int>(std::ceil(width / longest_step_m));
        for (int j = 0; j < count; ++j) nodes_m_.push_back(ends[i] + width * j / count);
    }
    nodes_m_.push_back(ends.back());
    const hydrostatic_figure figure(earth);
    rays_.reserve(parameters_s_.size());
    for (const double p : parameters_s_) rays_.push_back(trace(p, figure));
}

/// From the surface down to where r / beta = p, or to the core; then the sums upward. A variable t with r = lowest + t^2 takes the
/// root at the lowest point away.
shear_rays::ray shear_rays::trace(double p, const hydrostatic_figure& figure) const {
    ray out;
    std::size_t first = nodes_m_.size() - 1;
    out.lowest_m = nodes_m_.back();
    if (nodes_m_.back() / speed(nodes_m_.back(), true) > p) {
        while (first > 0 && out.lowest_m == nodes_m_[first]) {
            const double above = nodes_m_[first];
            const double below = nodes_m_[first - 1];
            if (first + 1 < nodes_m_.size() && above / speed(above, true) <= p) break; // reflected
            --first;
            if (below / speed(below) > p) {
                out.lowest_m = below;
                continue;
            }
            double low = below, high = above;
            for (int i = 0; i < 50; ++i) {
                const double middle = 0.5 * (low + high);
                (middle / speed(middle) > p ? high : low) = middle;
            }
            out.lowest_m = high;
        }
    }
    // The first node at or below the lowest point stands for it.
    out.first = first;
    out.up_to.emplace_back();
    std::array<double, points> x{}, w{};
    gauss_legendre(x, w);
    for (std::size_t node = first; node + 1 < nodes_m_.size(); ++node) {
        const double t0 = std::sqrt(std::max(0.0, nodes_m_[node] - out.lowest_m));
        const double t1 = std::sqrt(std::max(0.0, nodes_m_[node + 1] - out.lowest_m));
        ray_sums at = out.up_to.back();
        for (std::size_t q = 0; q < points && t1 > t0; ++q) {
            const double t = t0 + 0.5 * (t1 - t0) * (1 + x[q]);
            const double r = out.lowest_m + t * t;
            const double dr = 2 * t * 0.5 * (t1 - t0) * w[q];
            const double beta = speed(r);
            const double sine = std::min(1.0, p * beta / r);
            const double cosine = std::sqrt(std::max(1e-12, 1 - sine * sine));
            const double dt = dr / (beta * cosine);
            const double dangle = sine / cosine * dr / r;
            const double angle = at.angle + 0.5 * dangle;
            const double e = figure.ellipticity(r);
            const double slope = (figure.ellipticity(r + shift_m) - figure.ellipticity(r - shift_m)) / (2 * shift_m);
            const double stretch = (e + r * slope * cosine * cosine) * dt;
            const double dip = e * sine * cosine * dt;
            at = at.plus({dangle, dt, stretch, stretch * std::cos(2 * angle), stretch * std::sin(2 * angle),
                          dip * std::cos(2 * angle), dip * std::sin(2 * angle)});
        }
        out.up_to.push_back(at);
    }
    return out;
}

/// Up to a radius above the lowest point, linear in the root of the height between nodes.
ray_sums shear_rays::up_to(const ray& of, double radius_m) const {
    const auto above = std::ranges::upper_bound(nodes_m_, radius_m);
    if (above == nodes_m_.end()) return of.up_to.back();
    const auto node = static_cast<std::size_t>(above - nodes_m_.begin());
    if (node <= of.first) return {};
    const auto height = [&](double r) { return std::sqrt(std::max(0.0, r - of.lowest_m)); };
    const double low = height(nodes_m_[node - 1]);
    const double part = (height(radius_m) - low) / (height(nodes_m_[node]) - low);
    const ray_sums& under = of.up_to[node - 1 - of.first];
    return under.plus(of.up_to[node - of.first].plus(under, -1), part);
}

double shear_rays::vertical_slowness(std::size_t at, double radius_m) const {
    if (radius_m <= rays_[at].lowest_m) return 0;
    const double beta = speed(std::min(radius_m, earth_->solid_surface_radius_m()), true);
    const double horizontal = parameters_s_[at] / radius_m;
    return std::sqrt(std::max(0.0, 1 / (beta * beta) - horizontal * horizontal));
}

shear_rays::effect shear_rays::along(std::size_t at, const stretch_along& stretch, double distance_rad,
                                     double source_radius_m) const {
    const ray& of = rays_[at];
    const ray_sums& leg = of.up_to.back();
    if (!(leg.angle > 0) || distance_rad > 2 * most_bounces * leg.angle) return {};
    const int bounces = std::max(1, static_cast<int>(std::lround(distance_rad / (2 * leg.angle))));
    // The part of a leg above the source, which is left out or comes in addition.
    const ray_sums above = source_radius_m > of.lowest_m ? leg.plus(up_to(of, source_radius_m), -1) : ray_sums{};
    const double average = stretch.average(0, distance_rad) * leg.uniform / leg.time; // per second

    const auto later = [&](double direction) { // -1: downward
        const double all = 2 * bounces * leg.angle + direction * above.angle;
        const double scale = distance_rad / all;
        double delay = 2 * bounces * stretch.mean * leg.uniform;
        const double effective = 2 * (leg.cosine - 2 * leg.dip_sine);
        for (int j = 0; j < bounces; ++j) {
            const double lowest = scale * (direction * above.angle + (2 * j + 1) * leg.angle);
            delay += effective * (stretch.at(lowest) - stretch.mean);
        }
        // Down to the first lowest point, or up from one before the source: psi = lowest -+ angle.
        const double lowest = scale * (direction * above.angle - direction * leg.angle);
        const double c = std::cos(2 * lowest);
        const double s = std::sin(2 * lowest);
        const double even = stretch.cosine * c + stretch.sine * s; // s(psi) - mean = even cos 2 a + odd sin 2 a
        const double odd = direction * (stretch.sine * c - stretch.cosine * s);
        // ds/dpsi = +-2 (odd cos 2 a - even sin 2 a), and the same sign once more for up or down.
        delay += direction * (stretch.mean * above.uniform + even * above.cosine + odd * above.sine +
                              2 * (odd * above.dip_cosine - even * above.dip_sine));
        const double time = 2 * bounces * leg.time + direction * above.time;
        return std::pair(delay - average * time, time);
    };
    const auto [down, time_down] = later(-1);
    const auto [up, time_up] = later(1);
    effect out;
    out.relative = -(down + up) / (time_down + time_up);
    out.later_s = down + out.relative * time_down;
    return out;
}

} // namespace craton::tomography
