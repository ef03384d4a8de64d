#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace craton::tomography {

/// The spherical spline of the A3d models (Megnin & Romanowicz 2000; after Wang & Dahlen 1995), d = distance / spacing: the cubic
/// B-spline scaled to 1 at its centre, zero from two spacings on.
[[nodiscard]] inline double spherical_spline(double d) {
    if (d < 1) {
        return (0.75 * d - 1.5) * d * d + 1;
    }
    if (d < 2) {
        const double rest = 2 - d;
        return 0.25 * rest * rest * rest;
    }
    return 0;
}

/// Its first and second derivative by d.
[[nodiscard]] inline std::pair<double, double> spherical_spline_slopes(double d) {
    if (d < 1) return {(2.25 * d - 3) * d, 4.5 * d - 3};
    if (d < 2) return {-0.75 * (2 - d) * (2 - d), 1.5 * (2 - d)};
    return {0, 0};
}

/// The four cubic B-splines that are not zero on an interval of a non-decreasing knot vector (de Boor's recurrence): returns the
/// index of the first; x lies between knots[3] and knots[size - 4].
std::int64_t cubic_b_splines(std::span<const double> knots, double x, std::span<double, 4> values);

} // namespace craton::tomography
