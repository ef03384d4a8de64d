#pragma once

#include <cstddef>
#include <span>

namespace craton::tomography {

/// Modes as they answer: E(t) = exp(i s t), s = omega + i decay, times a gain q: what filter and moment rate make of the mode's
/// frequency, over its square. The gain belongs to the frequency that the mode has before a model shifts it, `unshifted`.
struct carriers {
    std::span<const double> omega_rad_s;
    std::span<const double> decay_per_s;
    std::span<const double> gain;
    std::span<const double> unshifted_rad_s;
    std::span<const double> gain_slope; ///< dq / d(w^2), for a mode with itself
};

/// What a perturbation that couples modes k and j adds to a step response, per unit of its coupling Y (rad^2/s^2 times amplitude):
///
///   C(t) = [q_k E_k(t) - q_j E_j(t)] / (s_k^2 - s_j^2)
///        = q (E_k - E_j) Q + (E_k + E_j) rise,   q = (q_k + q_j) / 2,   Q = 1 / (s_k^2 - s_j^2)
///
/// where twice the rise, (q_k - q_j) / (w_k^2 - w_j^2), is the slope of the gain between the unshifted frequencies w. Carrier k
/// gets (rise + q Q) E_k of it, carrier j (rise - q Q) E_j. Where |s_k - s_j| t is below `nearness` the first term would be a small
/// difference of large numbers. There stands its limit, turned i t (E_k + E_j), and Q is 0.
///
/// When the model shifts the frequencies, dC/domega_k has the terms slope s_k (E_k - E_j) and dC/domega_j the same with -slope s_j,
/// slope = -2 q Q^2, besides what the turning of E itself gives.
struct pair_responses {
    std::span<double> quotient_re; ///< Q
    std::span<double> quotient_im;
    std::span<double> gain; ///< q
    std::span<double> rise;
    std::span<double> turned;
};

/// The error of the limit is 0.01^2 / 24 = 4e-6 of the pair's response at the last sample: so small that a model which moves a pair
/// across the border does not show it. Beyond, the quotient loses two digits of single precision and of what carrier_nodes hold.
inline constexpr double nearness = 0.01;

/// Of carrier k with the carriers first .. last - 1; all spans are as long as the carriers, and the others stay as they are.
/// t_last_s: the longest time for which the response is wanted. For j = k it is the limit. 30 flops and a division a pair.
void respond(const carriers& modes, std::size_t k, std::size_t first, std::size_t last, double t_last_s, const pair_responses& out);

} // namespace craton::tomography
