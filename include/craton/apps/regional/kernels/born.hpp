#pragma once

#include <complex>
#include <cstdint>
#include <span>

namespace craton::regional {

/// What of the ground changes, in parts of itself: dln vp, dln vs, dln rho, each with the two others as they are.
enum class parameter { vp, vs, density };

/// Fourier transforms of one simulation's fields at points, [point][component][frequency], frequencies fastest.
struct point_spectra {
    std::span<const std::complex<float>> strain;   ///< xx yy zz xy xz yz, tensor strains
    std::span<const std::complex<float>> velocity; ///< x y z; read for kernels of density alone, else it may be empty
};

/// The ground at the points, in SI.
struct point_ground {
    std::span<const double> lambda, mu, density;
};

/// Which knots a point's change comes from: knots[n] with weights[n], first[point] <= n < first[point + 1]. A weight is the value
/// of the knot's function at the point times the point's volume, m^3.
struct knot_weights {
    std::span<const std::int64_t> first; ///< one more than there are points
    std::span<const std::int32_t> knot;
    std::span<const float> weight;
};

/// Adds Born's kernels of a pair of simulations, summed over the points of each knot, to
///     sums[parameter][place][2 f, 2 f + 1],     places[knot]: where a knot's sums are among `columns`, -1: it is left out.
///
/// One simulation has a source s, the other a force of unit spectrum along an axis at a receiver (r). By reciprocity the change of
/// displacement along that axis there is, at each frequency (Aki & Richards 2002, eq. 13.20; Zhao, Jordan & Chapman 2000),
///     du = - integral of drho v_r . v_s + dlambda tr(e_r) tr(e_s) + 2 dmu e_r : e_s,
/// where dmu = mu (2 dln vs + dln rho), dlambda + 2 dmu = (lambda + 2 mu) (2 dln vp + dln rho); v and e are velocities and strains.
/// A force of another spectrum F makes it F du. Products of transforms are convolutions in time.
///
/// Pure; any thread.
void add_born_kernels(const point_spectra& source, const point_spectra& receiver, const point_ground& ground,
                      const knot_weights& knots, std::span<const std::int32_t> places, std::int64_t columns,
                      std::span<const parameter> wanted, std::int64_t frequencies, std::span<float> sums);

} // namespace craton::regional
