#pragma once

#include <span>

namespace craton::tomography {

/// d/dDelta of P_l1 and P_l2 at angle Delta for l = 0 .. size - 1, with P_lm = sin^m(Delta) P_l^(m)(cos Delta) (no (-1)^m).
/// Upward recurrence in l, which is stable on [0, pi]; sin Delta must not vanish. 14 flops per degree.
void legendre_derivatives(double delta_rad, std::span<double> order_1, std::span<double> order_2);

/// P_lm (m = 0, 1 or 2) and d/dDelta of it, for l = 0 .. size - 1, as above; Delta of 0 and pi is moved inside by 1e-6.
void legendre_functions(double delta_rad, int order, std::span<double> values, std::span<double> derivatives);

} // namespace craton::tomography
