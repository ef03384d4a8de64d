#pragma once

#include <array>

namespace craton::tomography {

/// Cosine taper in frequency between the corners 1/T1 < 1/T2 < 1/T3 < 1/T4 of the periods T1 > T2 > T3 > T4: 1 between T2 and T3, 0
/// beyond T1 and T4.
[[nodiscard]] double band_pass_gain(const std::array<double, 4>& periods_s, double frequency_Hz);

/// Spectrum of a triangle of unit area and the given half width: the moment rate of the centroid catalogues.
[[nodiscard]] double triangle_gain(double omega_rad_s, double half_duration_s);

/// Throws user_error unless the periods are finite, positive and decreasing, and the shortest is within what the modes reach.
void check_filter_periods(const std::array<double, 4>& periods_s, double shortest_period_s);

} // namespace craton::tomography
