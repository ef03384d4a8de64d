#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <span>

namespace craton::tomography {

/// Damped waves exp(i s t), s = omega + i decay, of many frequencies within one window of time, as sums of a few:
///
///   exp(i s t) = sum_v c_v(s) W_v(t),   W_v(t) = exp((i omega_v - d) (t - t_c)) / Phi(h (t - t_c))
///
/// The nodes omega_v are a distance h apart: waves of neighbours differ by half a turn within the window. t_c is the window's
/// middle, d the middle of the waves' decays. A wave has shares in the seven nodes nearest to it, those that are best in the mean
/// over the window. It is within 5e-6 of itself then, if decays differ by no more than widest_decays over the window. Phi, the
/// transform of a Kaiser-Bessel bell, makes the best shares better (Fessler & Sutton 2003, IEEE Trans. Signal Process. 51).
/// Immutable; any number of threads.
class carrier_nodes {
  public:
    static constexpr std::size_t width = 7;
    /// Difference of the fastest and the slowest decay times the window's length: beyond, errors grow tenfold with each 2 or so.
    static constexpr double widest_decays = 1.25;

    /// Frequencies and decays of all waves, at least one, and the window; an empty window counts as one second.
    carrier_nodes(std::span<const double> omega_rad_s, std::span<const double> decay_per_s, double t_first_s, double t_last_s);

    /// Nodes.
    [[nodiscard]] std::size_t count() const { return count_; }

    /// What one mode gives to the nodes.
    struct share {
        std::size_t first = 0;                          ///< node that has values[0]; the others follow
        std::array<std::complex<double>, width> values; ///< c_v(s)
        std::array<std::complex<double>, width> slopes; ///< dc_v / ds: the shares of i t exp(i s t)
    };
    /// Of s = omega + i decay, one of the waves or one between them.
    [[nodiscard]] share of(std::complex<double> s) const;

    /// W_v(t) of all nodes.
    void waves(double t_s, std::span<std::complex<double>> out) const;

  private:
    double lowest_rad_s_;
    double decay_per_s_;
    double spacing_rad_s_;
    double centre_s_;
    std::size_t count_;
};

} // namespace craton::tomography
