#pragma once

#include <cstdint>
#include <span>

namespace craton::hazard {

/// x'' + 2 z w x' + w^2 x = -a(t), at rest before t = 0, advanced by one sample of an acceleration that is a straight line between
/// samples: exact (Nigam and Jennings 1969, eq. 2.7 and appendix).
///     x1 = xx x0 + xv v0 + xa a0 + xb a1,   v1 = vx x0 + vv v0 + va a0 + vb a1
struct oscillator_step {
    double xx, xv, xa, xb;
    double vx, vv, va, vb;
};

/// period and dt in s, above 0; damping: part of the critical one, in (0, 1).
[[nodiscard]] oscillator_step step_of_oscillator(double period_s, double damping, double dt_s);

/// Samples of several series side by side, a whole number of vectors: [time][lane].
inline constexpr std::int64_t oscillator_lanes = 32;

/// Displacements of an oscillator under oscillator_lanes series at once; `peaks` gets the largest |x| of each at the samples.
/// acceleration, displacement: [samples][oscillator_lanes]. displacement may be empty: not kept.
void respond(const oscillator_step& step, std::span<const double> acceleration, std::span<double> displacement,
             std::span<double> peaks);

} // namespace craton::hazard
