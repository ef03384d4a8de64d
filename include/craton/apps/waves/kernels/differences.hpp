#pragma once

#include <array>
#include <cstdint>

namespace craton::waves {

struct surface_closure;

/// Rows of a brick in which differences meet air (topography.hpp), for kernels.
///
/// Along an axis, points of a velocity component c and of the stress (c, axis) alternate. Strain is G v with G = (I + N / 24) D,
/// D the difference of the two velocities beside a stress point. N is the graph Laplacian of the stress points that are not dead:
/// the sum of their differences to the neighbours that are not dead either. The force is -G^T of stress. So energy is conserved
/// whatever shape the ground has, and source and receiver can be swapped. Far from air G is the fourth-order difference; strain is
/// right for any linear motion.
///
/// A link is the velocity point between two stress points that are not dead. Bits of the difference 3 c + axis: of the strain half
/// two, the links before and after the stress point; of the velocity half three, the links before, at and after the velocity point.
struct reduced_rows {
    static constexpr std::int64_t ground = -1; ///< the whole row is of fourth order
    static constexpr std::int64_t air = -2;    ///< nothing moves in the row

    const std::int64_t* first = nullptr;     ///< [j + k * ny]: ground, air, or where the words of the row's cells begin
    const std::uint32_t* velocity = nullptr; ///< a word a cell, as of stress
    const std::uint32_t* stress = nullptr;   ///< a word a cell, readable for 16 more

    /// Words of a cell all of whose links are there.
    static constexpr std::uint32_t all_of_velocity = (1U << 27U) - 1;
    static constexpr std::uint32_t all_of_stress = (1U << 18U) - 1;
};

/// Fourth-order staggered first differences times dt / h (Levander 1988):
///   from faces to centres   (D+ f)_i = c1 (f_i+1 - f_i) + c2 (f_i+2 - f_i-1)
///   from centres to faces   (D- f)_i = c1 (f_i - f_i-1) + c2 (f_i+1 - f_i-2)
/// with c1 = 9/8, c2 = -1/24. Beyond the outer faces of the grid values count as 0, which makes D- = -(D+)^T there too: no energy
/// passes.
struct differences {
    float c1 = 0, c2 = 0;                  ///< times dt / h
    const reduced_rows* reduced = nullptr; ///< where there is topography, of the brick
    /// Where a grid of coarser cells follows below (grid_interface.hpp): the closure of the brick's last planes, upside down. The
    /// plane that the grids share is plane nz, which holds vz, xz and yz.
    const surface_closure* bottom = nullptr;

    /// Of a time step and a side of a cell.
    static constexpr differences of(double dt_s, double h_m) {
        return {static_cast<float>(9.0 / 8 * dt_s / h_m), static_cast<float>(-1.0 / 24 * dt_s / h_m), nullptr, nullptr};
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
    bool traction_free = true; ///< xz and yz are 0 on face 0, which nobody updates; false where it is shared by two grids
};

/// The rows of a closure upside down, for the last planes of a grid whose faces end with plane nz (differences::bottom). Of the
/// cells of plane k: what plus is with faces nz - width + 1 ... nz, and minus with centres nz - width ... nz - 1. For k >= nz -
/// surface_closure::planes.
struct bottom_rows {
    std::array<double, surface_closure::width> plus{}, minus{};

    /// Of the rows of plane k, out of nz.
    static constexpr bottom_rows of(const surface_closure& closure, std::int64_t k, std::int64_t nz) {
        constexpr std::size_t last = surface_closure::width - 1;
        bottom_rows made;
        const auto centre = static_cast<std::size_t>(nz - 1 - k); // as the closure counts
        for (std::size_t n = 0; n <= last; ++n) made.plus[last - n] = -closure.plus[centre][n];
        const std::size_t face = centre + 1;
        if (face < surface_closure::planes) {
            for (std::size_t n = 0; n <= last; ++n) made.minus[last - n] = -closure.minus[face][n];
        } else { // the first face with the interior formula
            made.minus[last - face - 1] = 1.0 / 24;
            made.minus[last - face] = -9.0 / 8;
            made.minus[last - face + 1] = 9.0 / 8;
            made.minus[last - face + 2] = -1.0 / 24;
        }
        return made;
    }
};

} // namespace craton::waves
