#pragma once

#include <cstdint>
#include <span>

namespace craton::tomography {

/// Noise of one window whose autocorrelation falls exponentially with time: C_d[t, u] = sigma^2 rho^|t - u|, rho = exp(-dt / tau),
/// the autoregressive process of order one. Its inverse has a root of two diagonals, C_d^-1 = W^T W:
///     (W r)[0] = r[0] / sigma,    (W r)[t] = (r[t] - rho r[t-1]) / (sigma sqrt(1 - rho^2)),
/// so that what C_d^-1 weighs is whitened in O(k), without a k x k matrix (Box & Jenkins 1970). rho = 0: division by sigma.
struct noise_filter {
    double sigma = 1;       ///< standard deviation of a sample
    double correlation = 0; ///< rho: of neighbouring samples, in [0, 1)

    /// Of the first sample, and of all others.
    [[nodiscard]] double first_weight() const { return 1 / sigma; }
    [[nodiscard]] double weight() const;
};

/// white = W r. 3 flops per sample. May be in place.
void whiten(const noise_filter& noise, std::span<const double> r, std::span<double> white);

/// r = W^T white. 4 flops per sample. May be in place.
void whiten_transposed(const noise_filter& noise, std::span<const double> white, std::span<double> r);

/// W G of k x n rows: 3 flops, 4 bytes read and sizeof(T) written per element (with rho = 0 one flop).
template <class T>
void whiten_panel(const noise_filter& noise, std::span<const float> panel, std::int64_t columns, std::span<T> white);

extern template void whiten_panel(const noise_filter&, std::span<const float>, std::int64_t, std::span<float>);
extern template void whiten_panel(const noise_filter&, std::span<const float>, std::int64_t, std::span<double>);

} // namespace craton::tomography
