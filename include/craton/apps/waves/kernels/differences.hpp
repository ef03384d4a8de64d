#pragma once

#include <array>
#include <cstdint>

namespace craton::waves {

/// Fourth-order staggered first differences times dt / h (Levander 1988):
///   from faces to centres   (D+ f)_i = c1 (f_i+1 - f_i) + c2 (f_i+2 - f_i-1)
///   from centres to faces   (D- f)_i = c1 (f_i - f_i-1) + c2 (f_i+1 - f_i-2)
/// with c1 = 9/8, c2 = -1/24. Beyond the outer faces of the grid values count as 0, which makes D- = -(D+)^T there too: no energy
/// passes.
struct differences {
    float c1 = 0, c2 = 0; ///< times dt / h

    static constexpr differences of(double dt_s, double h_m) {
        return {static_cast<float>(9.0 / 8 * dt_s / h_m), static_cast<float>(-1.0 / 24 * dt_s / h_m)};
    }

    /// What a surface_closure's coefficients are multiplied with.
    [[nodiscard]] constexpr double dt_over_h() const { return double{c1} * 8 / 9; }
};

/// Differences along z at a free surface z = 0, where the interior ones would reach above it: for the first planes, weighted sums
/// over the planes below the surface. As a pair they satisfy summation by parts with the norms `face_norm` and `centre_norm`
/// (planes' thickness in units of h),
///     face_norm_m minus_mk = -centre_norm_k plus_km,
/// so that energy is conserved and source and receiver can be swapped exactly; traction vanishes at z = 0 because xz = yz = 0 there
/// and because the work of zz on the surface is left out. Face 0 of `minus` is for zz alone, which vanishes at the surface.
///
/// Planes k >= planes use the interior formulas. Coefficients without dt / h.
struct surface_closure {
    static constexpr int planes = 5;                       ///< rows of plus and minus in use
    static constexpr int width = 7;                        ///< planes that a row may reach, counted from k = 0
    std::array<std::array<double, width>, planes> plus{};  ///< faces 0, 1, ... -> centre k
    std::array<std::array<double, width>, planes> minus{}; ///< centres 0, 1, ... -> face k
    std::array<double, planes> face_norm{}, centre_norm{}; ///< 1 from there on
};

} // namespace craton::waves
