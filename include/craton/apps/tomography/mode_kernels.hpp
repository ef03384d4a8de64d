#pragma once

#include <craton/apps/tomography/mode_catalogue.hpp>
#include <craton/apps/tomography/spheroidal_catalogue.hpp>

#include <cstdint>

namespace craton::tomography {

/// Factors of perturbations of Love's moduli (Pa) at one radius: w^2, in (rad/s)^2, changes by
/// int (A dA + C dC + F dF + L dL + N dN) dr.
struct love_kernels {
    double A = 0;
    double C = 0;
    double F = 0;
    double L = 0;
    double N = 0;
};

/// A mode's strain at one radius, times r; k^2 = l (l + 1):
///   spheroidal: r U', 2 U - k V, r V' - V + k U, (k^2 - 2)^1/2 V;   toroidal: 0, 0, r W' - W, (k^2 - 2)^1/2 W.
struct mode_strain {
    double vertical = 0;
    double horizontal = 0;
    double shear = 0;
    double twist = 0; ///< of second horizontal derivatives; 0 for l = 0
};

/// In fluids shear and twist mean nothing, and what multiplies them vanishes. At a discontinuity the values above it, or below it
/// when asked. Throws user_error for an index or a radius out of range.
[[nodiscard]] mode_strain strain_of(const spheroidal_catalogue& modes, std::int64_t mode, double radius_m, bool below = false);
[[nodiscard]] mode_strain strain_of(const mode_catalogue& modes, std::int64_t mode, double radius_m);

/// Strain energy of a pair of modes of one type as a bilinear form, each mode with its own k: zeroth-order asymptotic coupling (Li
/// & Romanowicz 1995; Dahlen & Tromp 1998, chapter 16). For a mode with itself it is the exact derivative of w^2 for spherically
/// symmetric perturbations. C: vertical vertical'; F: vertical horizontal' + horizontal vertical'; A: horizontal horizontal'; L:
/// shear shear'; N: twist twist' - horizontal horizontal'. Toroidal with spheroidal modes do not couple at this order. Pure: for
/// many pairs take each mode's strain once.
[[nodiscard]] love_kernels pair_kernel(const mode_strain& mode, const mode_strain& other);

/// The same from a catalogue; throws as strain_of does.
template <class Catalogue>
[[nodiscard]] love_kernels pair_kernel(const Catalogue& modes, std::int64_t mode, std::int64_t other, double radius_m) {
    return pair_kernel(strain_of(modes, mode, radius_m), strain_of(modes, other, radius_m));
}

/// Factors of dlnVs and dlnxi, where Vs^2 = (2 Vsv^2 + Vsh^2) / 3 (Voigt's average for nearly isotropic media) and
/// xi = Vsh^2 / Vsv^2 = N / L.
struct shear_kernels {
    double ln_vs = 0;
    double ln_xi = 0;
};

/// From the moduli at the mode's frequency (dispersed_love_parameters), eta staying as it is. dlnVp = vp_over_vs dlnVs: 0 holds A
/// and C fixed. dlnL = 2 dlnVs - xi / (2 + xi) dlnxi;  dlnN = 2 dlnVs + 2 / (2 + xi) dlnxi;  dF = eta (dA - 2 dL).
[[nodiscard]] shear_kernels shear_kernels_of(const love_kernels& kernels, const love_parameters& moduli, double vp_over_vs = 0);

} // namespace craton::tomography
