#pragma once

#include <craton/base/aligned_vector.hpp>

#include <complex>
#include <cstdint>
#include <span>

namespace craton::hazard {

/// What ruptures of one surface give at one site, by frequency: many variations from spectra that are prepared once
/// (kernels/subfault_sum.hpp has the formula). Not changed after it has been made: any thread, any number at a time.
class rupture_spectra {
  public:
    /// spectra: [subfault][component][frequency], of unit slip at once; slip_rates: [rise time][frequency], about their centres,
    /// whose value at frequency 0 is 1. Throws user_error for lengths that do not fit, no subfault, fewer than 2 rise times, and
    /// components other than 1 to 3.
    rupture_spectra(std::span<const std::complex<float>> spectra, std::int64_t subfaults, std::int64_t components,
                    std::span<const std::complex<float>> slip_rates, std::int64_t rise_times);

    /// Of each subfault of some variations, [variation][subfault].
    struct motions {
        std::span<const double> slip;  ///< m
        std::span<const double> delay; ///< of the slip rate's centre, in periods of the lowest frequency but 0
        std::span<const double>
            rise; ///< place of the rise time in the table: 2.25 is a quarter of the way from the third to the fourth
    };
    /// into: [variation][component][frequency]. Throws user_error for lengths that do not fit, values that are not finite, and a
    /// rise time beyond the table. A variation's result has the same bits whichever others it is computed with.
    void sum(const motions& of, std::span<std::complex<float>> into) const;

    /// What the spectra are of.
    [[nodiscard]] std::int64_t subfaults() const noexcept { return subfaults_; }
    [[nodiscard]] std::int64_t components() const noexcept { return components_; }
    [[nodiscard]] std::int64_t frequencies() const noexcept { return frequencies_; }
    /// Of memory that it holds.
    [[nodiscard]] std::int64_t bytes() const noexcept;
    /// Operations on real numbers (a product and a sum are two) for a variation.
    [[nodiscard]] double operations() const noexcept;

  private:
    std::int64_t subfaults_, components_, frequencies_, rise_times_;
    std::int64_t padded_subfaults_, padded_frequencies_;
    bool real_; // all slip rates
    base::aligned_vector<float> spectra_, slip_rates_;
};

} // namespace craton::hazard
