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
///        = (q_k + q_j) / 2 (E_k - E_j) / (s_k^2 - s_j^2) + (E_k + E_j) / 2 (q_k - q_j) / (w_k^2 - w_j^2)
///
/// where the second quotient, the slope of the gain, is that of the unshifted frequencies w. C is symmetric in k and j, so that it
/// is enough to say what carrier k gets of it: (direct + i t turned) E_k. Where |s_k - s_j| t is below `nearness` the first
/// quotient would be a small difference of large numbers; there stands its limit i t E / 2 w.
struct pair_responses {
    std::span<double> direct_re;
    std::span<double> direct_im;
    std::span<double> turned;
    /// dC/domega_k has the term slope s_k E_k, dC/domega_j the term -slope s_j E_k, besides what the turning of E itself gives; 0
    /// near the limit, where a power of t outweighs it.
    std::span<double> slope_re;
    std::span<double> slope_im;
};

/// The error of the limit is 0.01^2 / 24 = 4e-6 of the pair's response at the last sample: so small that a model which moves a pair
/// across the border does not show it. Beyond, the quotient loses two digits of single precision.
inline constexpr double nearness = 0.01;

/// Of carrier k with every carrier j (all spans as long as the carriers). t_last_s: the longest time for which the response is
/// wanted. For j = k it is the limit. 40 flops and two divisions a pair.
void respond(const carriers& modes, std::size_t k, double t_last_s, const pair_responses& out);

} // namespace craton::tomography
