#pragma once

#include <span>

namespace craton::tomography {

/// d/dDelta of P_l1 and P_l2 at angle Delta for l = 0 .. size - 1, with P_lm = sin^m(Delta) P_l^(m)(cos Delta) (no (-1)^m).
/// Upward recurrence in l, which is stable on [0, pi]; sin Delta must not vanish. 14 flops per degree.
void legendre_derivatives(double delta_rad, std::span<double> order_1, std::span<double> order_2);

} // namespace craton::tomography
