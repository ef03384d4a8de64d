#pragma once

#include <cstdint>

namespace craton::hazard {

// Seismograms of a rupture from its subfaults', at frequencies j df, j = 0 ... frequencies - 1:
//
//     U_c(j) = sum over k of  slip_k  S(j, rise_k)  exp(-2 pi i j delay_k)  P_kc(j)
//
// P is what unit slip at once gives; S the spectrum of the slip rate about its own centre; delay the time of that centre, in parts
// of the period 1 / df. Delays are exact, whatever the sampling; S is interpolated between rise times of a table.

inline constexpr std::int64_t subfaults_at_once = 8;    ///< numbers of subfaults are multiples of it (others slip by 0)
inline constexpr std::int64_t frequencies_at_once = 16; ///< numbers of frequencies are multiples of it

/// [subfault][component][real, imaginary][frequency]
struct subfault_spectra {
    const float* values = nullptr;
    std::int64_t subfaults = 0;
    std::int64_t components = 0; ///< 1 to 3
    std::int64_t frequencies = 0;
};

/// [rise time][real, imaginary][frequency], or [rise time][frequency] where all are real: slip rates symmetric in time.
struct slip_rate_spectra {
    const float* values = nullptr;
    bool real = false;
};

/// Of each subfault of some variations, [variation][subfault].
struct subfault_motions {
    const float* slip = nullptr;
    const double* delay = nullptr;        ///< in periods, of magnitude below 2^31
    const std::int32_t* rise = nullptr;   ///< the rise time of the table that is before its own; the next must be there too
    const float* rise_fraction = nullptr; ///< how far it is on the way to the next, 0 to 1
};

/// sums[variation][component][real, imaginary][frequency] += U. Each variation's sum has the same bits whichever others it is
/// computed with.
void add_subfaults(const subfault_spectra& spectra, const slip_rate_spectra& slip_rates, const subfault_motions& motions,
                   std::int64_t variations, float* sums);

} // namespace craton::hazard
