#pragma once

#include <cstdint>
#include <span>

namespace craton::hazard {

/// Acceleration at the samples of a velocity: central differences of sixth order,
///     (45 (v[+1] - v[-1]) - 9 (v[+2] - v[-2]) + (v[+3] - v[-3])) / (60 dt),
/// too small by the part (w dt)^6 / 140 at frequency w: 1e-5 at 19 samples per period, 1e-3 at 9. Before the first and behind the
/// last sample the velocity is taken to stay as it is there.
void differentiate(std::span<const float> velocity, double dt_s, std::span<double> acceleration);

/// Seconds between the times at which the integral of a^2 (trapezoids; Arias 1970) reaches two parts of its value at the end, by
/// straight lines between samples of it. 0 where there is no motion. 0 <= from < to <= 1.
[[nodiscard]] double significant_duration(std::span<const double> acceleration, double dt_s, double from, double to);

} // namespace craton::hazard
