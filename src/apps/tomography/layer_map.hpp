#pragma once

#include <craton/apps/tomography/earth_model.hpp>

#include <array>

namespace craton::tomography {

/// c of p(a + b x) = sum_i c_i x^i.
[[nodiscard]] inline std::array<double, 4> composed(const std::array<double, 4>& p, double a, double b) {
    return {p[0] + a * (p[1] + a * (p[2] + a * p[3])), b * (p[1] + a * (2 * p[2] + 3 * a * p[3])), b * b * (p[2] + 3 * a * p[3]),
            b * b * b * p[3]};
}

/// The part of a layer from below_m to above_m, with its materials, between other radii.
[[nodiscard]] inline earth_layer mapped(const earth_layer& layer, double inner_m, double outer_m, double below_m, double above_m) {
    earth_layer out = layer;
    out.inner_radius_m = inner_m;
    out.outer_radius_m = outer_m;
    const double b = (above_m - below_m) / (outer_m - inner_m); // old radii as a line of the new ones
    const double a = (below_m - b * inner_m) / earth_radius_m;
    for (auto* const values : {&out.density, &out.vp, &out.vs, &out.vph, &out.vsh, &out.eta}) *values = composed(*values, a, b);
    return out;
}

/// All of it.
[[nodiscard]] inline earth_layer mapped(const earth_layer& layer, double inner_m, double outer_m) {
    return mapped(layer, inner_m, outer_m, layer.inner_radius_m, layer.outer_radius_m);
}

} // namespace craton::tomography
