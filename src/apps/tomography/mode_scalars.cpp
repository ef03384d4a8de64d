#include <craton/apps/tomography/mode_scalars.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace craton::tomography {

namespace {

double wavenumber(std::int64_t l) { return std::sqrt(static_cast<double>(l) * static_cast<double>(l + 1)); }

double held_inside(const earth_model& earth, double radius_m) {
    return std::clamp(radius_m, earth.cmb_radius_m(), earth.solid_surface_radius_m());
}

} // namespace

std::vector<mode_scalars> scalars_of(const spheroidal_catalogue& modes, double source_radius_m, receiver_kind receiver) {
    const earth_model& earth = modes.earth();
    const double r = held_inside(earth, source_radius_m);
    const double a = earth.solid_surface_radius_m();
    const double g = earth.gravity_m_s2(a);
    const spheroidal_arrays& all = modes.arrays();
    std::vector<mode_scalars> out;
    out.reserve(all.n.size());
    for (std::int64_t i = 0; i < modes.size(); ++i) {
        const std::size_t at = static_cast<std::size_t>(i);
        const double k = wavenumber(all.l[at]);
        const double l_plus_1 = static_cast<double>(all.l[at] + 1);
        const double w2 = all.omega_rad_s[at] * all.omega_rad_s[at];
        // Above the solid surface there may be an ocean.
        const spheroidal_point s = modes.evaluate(i, r, r == a);
        const spheroidal_point top = modes.evaluate(i, a, true);
        mode_scalars mode{mode_type::spheroidal, all.n[at], all.l[at], all.omega_rad_s[at], all.q[at]};
        mode.strain_rr = s.du;
        mode.strain_h = (s.u - 0.5 * k * s.v) / r;
        mode.strain_1 = k > 0 ? (s.dv - s.v / r) / k + s.u / r : 0;
        mode.strain_2 = k > 0 ? s.v / (k * r) : 0;
        mode.vertical = top.u;
        mode.horizontal = k > 0 ? top.v / k : 0;
        if (receiver == receiver_kind::seismometer) {
            mode.vertical += (2 * g * top.u + l_plus_1 * top.p) / (a * w2);
            mode.horizontal -= k > 0 ? (g * top.u + top.p) / (a * w2) : 0;
        }
        out.push_back(mode);
    }
    return out;
}

std::vector<mode_scalars> scalars_of(const mode_catalogue& modes, double source_radius_m) {
    const double r = held_inside(modes.earth(), source_radius_m);
    const mode_arrays& all = modes.arrays();
    std::vector<mode_scalars> out;
    out.reserve(all.n.size());
    for (std::int64_t i = 0; i < modes.size(); ++i) {
        const std::size_t at = static_cast<std::size_t>(i);
        const double k = wavenumber(all.l[at]);
        const auto [w, slope] = modes.eigenfunction(i, r);
        mode_scalars mode{mode_type::toroidal, all.n[at], all.l[at], all.omega_rad_s[at], all.q[at]};
        mode.strain_1 = (slope - w / r) / k;
        mode.strain_2 = w / (k * r);
        mode.horizontal = modes.eigenvector(i).back() / k;
        out.push_back(mode);
    }
    return out;
}

std::array<double, 3> mode_amplitudes(const mode_scalars& mode, const std::array<double, 6>& moment_tensor_Nm, double phi_rad,
                                      double sin_delta, const legendre_values& legendre) {
    const auto& [rr, tt, pp, rt, rp, tp] = moment_tensor_Nm;
    const double c1 = std::cos(phi_rad);
    const double s1 = std::sin(phi_rad);
    const double c2 = std::cos(2 * phi_rad);
    const double s2 = std::sin(2 * phi_rad);
    const double difference = 0.5 * (tt - pp);
    // Each order's pattern and minus its derivative by m Phi, which is the toroidal pattern's turned one.
    const double even_1 = mode.strain_1 * (rt * c1 + rp * s1);
    const double odd_1 = mode.strain_1 * (rt * s1 - rp * c1);
    const double even_2 = mode.strain_2 * (difference * c2 + tp * s2);
    const double odd_2 = mode.strain_2 * (difference * s2 - tp * c2);
    const double factor = static_cast<double>(2 * mode.l + 1) / (4 * std::numbers::pi);
    const auto& [p0, p1, p2] = legendre.p;
    const auto& [d0, d1, d2] = legendre.dp;
    const double across = factor * mode.horizontal / sin_delta;
    if (mode.type == mode_type::toroidal) {
        return {0, across * (even_1 * p1 + 2 * even_2 * p2), factor * mode.horizontal * (odd_1 * d1 + odd_2 * d2)};
    }
    const double even_0 = rr * mode.strain_rr + (tt + pp) * mode.strain_h;
    return {factor * mode.vertical * (even_0 * p0 + even_1 * p1 + even_2 * p2),
            factor * mode.horizontal * (even_0 * d0 + even_1 * d1 + even_2 * d2), across * (odd_1 * p1 + 2 * odd_2 * p2)};
}

} // namespace craton::tomography
