#pragma once

#include <craton/apps/waves/kernels/compact_field.hpp>

#include <cstdint>

namespace craton::waves {

// The staggered grid (Virieux 1986; Graves 1996), seen as cells of side h. Cell (i, j, k) fills [i h, (i+1) h] x [j h, (j+1) h] x
// [k h, (k+1) h]; x, y and z (depth, positive downwards) are right-handed, as north, east and down are. With index (i, j, k) are
// stored
//
//   xx, yy, zz, lambda, mu   at the cell's centre
//   vx, vy, vz, and buoyancy at the centre of its lower face in x, y, z:  vx at (i, j+1/2, k+1/2) h
//   xy, xz, yz, and mu there at the middle of its lower edge:             xy at (i, j, k+1/2) h, xz at (i, j+1/2, k) h,
//                                                                         yz at (i+1/2, j, k) h
//
// so that the plane z = 0 (k = 0) holds vz, xz and yz, and is the free surface where there is one.

/// Planes round a brick that hold its neighbours' values, or 0 outside the grid.
inline constexpr std::int64_t halo = 2;

/// One rank's part of the grid. Element (i, j, k) of an array lies at first[i + j * pitch + k * plane]; i from -halo to nx + halo -
/// 1, likewise j and k. The arrays' first elements (0, 0, 0) lie on cache lines, and so do all rows' (pitch and plane are multiples
/// of 16 floats); a line of padding follows the last row.
struct brick_shape {
    std::int64_t nx = 0, ny = 0, nz = 0;
    std::int64_t pitch = 0, plane = 0;

    /// Where a cell lies, in elements from cell (0, 0, 0).
    [[nodiscard]] constexpr std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t k) const {
        return i + j * pitch + k * plane;
    }
};

/// Cells first <= (i, j, k) < last of a brick.
struct cell_range {
    std::int64_t i0 = 0, i1 = 0, j0 = 0, j1 = 0, k0 = 0, k1 = 0;

    /// Whether there are none, and how many there are.
    [[nodiscard]] constexpr bool empty() const { return i0 >= i1 || j0 >= j1 || k0 >= k1; }
    [[nodiscard]] constexpr std::int64_t cells() const { return empty() ? 0 : (i1 - i0) * (j1 - j0) * (k1 - k0); }
    friend constexpr bool operator==(const cell_range&, const cell_range&) = default;
};

/// Pointers to elements (0, 0, 0). T is float or const float.
template <class T> struct vector_field {
    T *x = nullptr, *y = nullptr, *z = nullptr;

    operator vector_field<const T>() const { return {x, y, z}; }
};
/// Six arrays: of stress, strain or what goes with them.
template <class T> struct tensor_field {
    T *xx = nullptr, *yy = nullptr, *zz = nullptr, *xy = nullptr, *xz = nullptr, *yz = nullptr;

    operator tensor_field<const T>() const { return {xx, yy, zz, xy, xz, yz}; }
};

/// Buoyancy where velocities are.
struct compact_vector {
    compact_field x, y, z;
};

/// Effective media where the fields that they act on are (see effective_media.hpp): buoyancy 1/rho in m^3/kg at the three
/// velocities, lambda and mu in Pa at centres, mu at the three edges. All 16 bytes per cell are read once per step.
struct elastic_media {
    compact_vector buoyancy;
    compact_field lambda, mu;
    compact_field mu_xy, mu_xz, mu_yz;
};

/// Coarse-grained memory variables (Day 1998; Day and Bradley 2001): each cell has one of 8 relaxation times, by the parities of
/// its global indices.
///
/// With E = stress + r the stress that the unrelaxed (infinite-frequency) moduli would give to the strain that there is, r relaxes
/// towards W E:
///     tau dr/dt + r = W E,   W E = bulk * mean(E) on the isotropic part, shear * E on the deviatoric part.
/// Since E stays exactly moduli times strain, strain can be read from stress and r at any time.
struct attenuation_media {
    compact_field bulk;  ///< W of the mean stress, per cell
    compact_field shear; ///< W of the deviatoric stress, per cell; at an edge the mean of the four cells round it
    float decay[8] = {}; ///< exp(-dt / tau) of mechanism (i & 1) + 2 (j & 1) + 4 (k & 1), indices global
    int parity = 0;      ///< the mechanism of this brick's cell (0, 0, 0)
};

} // namespace craton::waves
