#pragma once

#include <cstdint>
#include <span>

namespace craton::hazard {

/// Accelerations in m/s^2, [record][component][time]. With rotation components 0 and 1 are the horizontal ones.
struct records {
    std::span<const double> acceleration;
    std::int64_t components = 0;
    std::int64_t samples = 0;
    double dt_s = 0;
};

/// Where response spectra go; each may be empty where it is not wanted, rotated ones together.
struct spectra_tables {
    std::span<double> psa;     ///< [record][component][period]
    std::span<double> rotd50;  ///< [record][period]
    std::span<double> rotd100; ///< [record][period]
};

/// Pseudo-spectral acceleration, (2 pi / period)^2 times the largest displacement of an oscillator at the samples
/// (kernels/oscillator.hpp), and RotD50 and RotD100 of it (kernels/rotation.hpp); period 0 stands for the acceleration itself.
/// Between samples an oscillator can go beyond by up to (pi dt / period)^2 / 2. Not collective; any thread. Throws user_error for a
/// damping that is not in (0, 1), a period that is negative or not finite, dt that is not above 0, rotation of fewer than 2
/// components, an acceleration that is not finite, and tables that do not fit.
void response_spectra(const records& of, std::span<const double> periods_s, double damping, const spectra_tables& into);

} // namespace craton::hazard
