#pragma once

#include <cstdint>
#include <span>

namespace craton::tomography {

/// Damped oscillations a_k cos(w_k t) exp(-d_k t), sampled at t_first + j * interval.
struct oscillations {
    std::span<const double> omega_rad_s;
    std::span<const double> decay_per_s;
    std::span<const double> amplitude;
    double t_first_s = 0;
    double interval_s = 0;
};

/// Samples that are made together; scratch sizes below count in it.
inline constexpr std::int64_t mode_sum_tile = 32;

/// g[j] = sum_k a_k cos(w_k t_j) exp(-d_k t_j). 6 flops per mode and sample: the oscillation is turned from sample to sample in
/// lanes of eight, and seeded anew every 32 samples so that rounding does not accumulate.
void mode_sum(const oscillations& modes, std::span<double> g);

/// The same of complex amplitudes that grow with time: g[j] = Re sum_k (a_k + i b_k + i t_j c_k) exp(i w_k t_j - d_k t_j), with b
/// imaginary and c turned. 7 flops per mode and sample, 15 where c is not zero.
void carrier_sum(const oscillations& modes, std::span<const double> imaginary, std::span<const double> turned, std::span<double> g);

/// Also T[j, i] = sum_k -t_j a_k sin(w_k t_j) exp(-d_k t_j) I[k, i]: the derivative of g[j] when w_k changes by I[k, i].
/// I: modes x columns; T: samples x columns; scratch: columns * mode_sum_tile. (8 + 2 columns) flops per mode and sample; I is
/// read once per tile of 32 samples, everything else stays in the first-level cache.
void mode_sum_sensitivity(const oscillations& modes, std::span<const double> kernels, std::int64_t columns, std::span<double> g,
                          std::span<double> sensitivity, std::span<double> scratch);

/// Sums of the same oscillations of other amplitudes: out[j, i] = sum_k W[k, i] a_k cos(w_k t_j) exp(-d_k t_j) for the first
/// columns, and with sin for the others. cosines, sines: W, modes x columns each; out: samples x all columns; scratch: all columns
/// * mode_sum_tile. (6 + 2 columns) flops per mode and sample.
void mode_sum_columns(const oscillations& modes, std::span<const double> cosines, std::span<const double> sines,
                      std::span<double> out, std::span<double> scratch);

/// One mode: cosine[j] = cos(w t_j) exp(-d t_j), sine[j] likewise, t_j = t_first + j * interval.
void mode_wave(double omega_rad_s, double decay_per_s, double t_first_s, double interval_s, std::span<double> cosine,
               std::span<double> sine);

/// panel[j, a * columns + i] = h[a] T[j, i], rounded once to single precision. One flop and 4 bytes written per element.
void expand_panel(std::span<const double> sensitivity, std::int64_t columns, std::span<const double> h, std::span<float> panel);

} // namespace craton::tomography
