#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// What of a window a misfit 1/2 |e|^2 compares. d and g are the weighted data and prediction, whose noise is 1 per sample.
enum class misfit_kind : std::uint8_t {
    waveform,     ///< e = d - g
    arrival_time, ///< e = -tau |g'|: the data are later by tau, the shift of largest cross-correlation (Luo & Schuster 1991)
    envelope,     ///< e = E(d) - E(g), E(x)^2 = x^2 + (H x)^2 + 1 with H the Hilbert transform (Bozdag et al. 2011)
};

/// The derivative R of one window's residuals, de = -R dg, at a prediction g. The window counts as zero beyond its ends.
///
/// An arrival time is one residual, R = g'^T / |g'|: that of a wave that is shifted and not distorted, without noise. Its error is
/// then 1, as that of a sample. The 1 in E is the noise: where there is no signal R is 0.
///
/// Not to be changed after construction; thread-safe.
class window_misfit {
  public:
    window_misfit(misfit_kind kind, std::span<const double> g);

    /// Residuals of so many samples.
    static std::int64_t residuals(misfit_kind kind, std::int64_t samples) {
        return kind == misfit_kind::arrival_time ? 1 : samples;
    }

    /// e of weighted data. furthest: the longest shift that is tried, in samples. Lengths: d as g, e as residuals().
    void residual(std::span<const double> d, std::int64_t furthest, std::span<double> e) const;

    /// R P of rows x columns: 2 flops per element for an arrival time, samples + 4 for an envelope. `from` and `to` must not
    /// overlap.
    template <class T> void derivative(std::span<const T> from, std::int64_t columns, std::span<T> to) const;

    /// R^T e.
    void derivative_transposed(std::span<const double> e, std::span<double> out) const;

  private:
    misfit_kind kind_;
    std::vector<double> g_;
    std::vector<double> along_, across_; // of an arrival time: g' / |g'|; of an envelope: g / E and (H g) / E
    double speed_ = 0;                   // |g'|, per sample
};

extern template void window_misfit::derivative(std::span<const float>, std::int64_t, std::span<float>) const;
extern template void window_misfit::derivative(std::span<const double>, std::int64_t, std::span<double>) const;

/// By how many samples d is later than g: where their cross-correlation is largest, among shifts of up to `furthest` samples. It is
/// that of the samples which both have in the window, divided by the root of both energies there: a wave that fills the window has
/// its delay, too. Between samples the correlation's neighbours are taken for a cosine.
double delay(std::span<const double> d, std::span<const double> g, std::int64_t furthest);

/// H x, H[t, s] = 2 / (pi (t - s)) for odd t - s and 0 for even ones: exact for samples that are zero outside.
void hilbert_transform(std::span<const double> x, std::span<double> out);

} // namespace craton::tomography
