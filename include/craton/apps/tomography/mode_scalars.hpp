#pragma once

#include <craton/apps/tomography/mode_catalogue.hpp>
#include <craton/apps/tomography/spheroidal_catalogue.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace craton::tomography {

/// Which kind of free oscillation it is.
enum class mode_type { toroidal, spheroidal };

/// What a sum over modes needs of one mode for one depth of the source, with displacement U Y r + (V / k) grad_1 Y - (W / k) r x
/// grad_1 Y, k^2 = l (l + 1), int rho r^2 (U^2 + V^2) dr = int rho r^2 W^2 dr = 1 and SI throughout.
///
/// Phi: azimuth at the source from south toward east; Delta: distance; P_lm = sin^m Delta P_l^(m)(cos Delta), no (-1)^m; moment
/// tensor with r up, t south, p east. With
///   S = P_l0 [M_rr strain_rr + (M_tt + M_pp) strain_h] + P_l1 strain_1 [M_rt cos Phi + M_rp sin Phi]
///       + P_l2 strain_2 [(M_tt - M_pp)/2 cos 2 Phi + M_tp sin 2 Phi]                                             (spheroidal)
///   T = P_l1 strain_1 [M_rt sin Phi - M_rp cos Phi] + P_l2 strain_2 [(M_tt - M_pp)/2 sin 2 Phi - M_tp cos 2 Phi]   (toroidal)
/// a step of the moment moves a receiver by (2l + 1)/(4 pi) (1 - cos(w t) exp(-w t / 2Q)) / w^2 times
///   up:                     vertical S
///   away from the source:   horizontal dS/dDelta                horizontal (1 / sin Delta) dT/dPhi
///   right of propagation:   -horizontal (1 / sin Delta) dS/dPhi   horizontal dT/dDelta
/// (Dahlen & Tromp 1998, chapter 10, in these signs and with M contracted with the real displacement.)
struct mode_scalars {
    mode_type type = mode_type::toroidal;
    std::int64_t n = 0;
    std::int64_t l = 0;
    double omega_rad_s = 0;
    double q = 0;
    double strain_rr = 0;  ///< U'
    double strain_h = 0;   ///< (U - k V / 2) / r
    double strain_1 = 0;   ///< (V' - V / r + k U / r) / k, or (W' - W / r) / k
    double strain_2 = 0;   ///< V / (k r), or W / (k r)
    double vertical = 0;   ///< U at the receiver
    double horizontal = 0; ///< V / k or W / k at the receiver
};

/// What the receiver records.
enum class receiver_kind {
    displacement, ///< of the ground
    /// An inertial sensor, which also feels changes of gravity and tilt (Dahlen & Tromp 1998, chapter 10):
    /// U + [2 g U + (l + 1) P] / (a w^2) and V - k (g U + P) / (a w^2) in the places of U and V.
    seismometer
};

/// Receivers stand on the solid surface. The source's radius is held between the core-mantle boundary and the solid surface; at a
/// discontinuity the side above counts. One entry per mode, in the catalogue's order.
[[nodiscard]] std::vector<mode_scalars> scalars_of(const spheroidal_catalogue& modes, double source_radius_m,
                                                   receiver_kind receiver = receiver_kind::displacement);
[[nodiscard]] std::vector<mode_scalars> scalars_of(const mode_catalogue& modes, double source_radius_m);

/// A mode's amplitudes (up, away from the source, right of propagation) without the factor (1 - cos) / w^2, from the Legendre
/// functions of its degree: P_lm and dP_lm/dDelta for m = 0, 1, 2. Pure.
struct legendre_values {
    std::array<double, 3> p;
    std::array<double, 3> dp;
};
[[nodiscard]] std::array<double, 3> mode_amplitudes(const mode_scalars& mode, const std::array<double, 6>& moment_tensor_Nm,
                                                    double phi_rad, double sin_delta, const legendre_values& legendre);

} // namespace craton::tomography
