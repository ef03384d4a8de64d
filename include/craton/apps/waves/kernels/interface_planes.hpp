#pragma once

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>

#include <array>
#include <cstdint>

namespace craton::waves {

// The plane that a grid of cells h shares with one of cells 3 h below it (grid_interface.hpp). A coarse cell or edge of the plane
// meets nine fine ones; along each axis fine places lie at thirds of coarse ones, some upon them. Coarse values go to fine places
// by cubic polynomials through the nearest four; what fine places bring goes to coarse ones by the transpose, a ninth of it, which
// is exact for cubic polynomials too.

/// Fine cells along the side of a coarse one: an odd number, so that faces and centres of coarse cells are fine ones too.
inline constexpr int fine_per_coarse = 3;

/// Where a field lies in the plane: at the centres of cells along an axis or at their lower faces. `true`: faces.
using in_plane = std::array<bool, 2>;

/// Fine values of a plane by coarse cells: the fine cell (3 i + a, 3 j + b) at first[i + j * pitch + (a + 3 b) * part]. A grid of
/// coarse cells can have halos of it.
template <class T> struct plane_of_ninths {
    T* first = nullptr;
    std::int64_t pitch = 0, part = 0;
};

/// One coarse value a cell, at first[i + j * pitch].
template <class T> struct coarse_plane {
    T* first = nullptr;
    std::int64_t pitch = 0;
};

/// The closure's first row of `minus`, upside down: what a field of fine cells, at centres along z, brings to plane nz. shape.nx
/// and ny are multiples of 3. Pure; rows 3 j0 ... 3 j1 - 1 of fine cells, so that threads can share it.
void take_to_plane(const brick_shape& shape, const float* field, const surface_closure& closure, std::int64_t j0, std::int64_t j1,
                   const plane_of_ninths<float>& into);

/// into(i, j) of 0 <= i < nx, j0 <= j < j1: weighted means of fine values, of which two coarse cells more are read on all sides.
/// Pure.
void to_coarse(const plane_of_ninths<const float>& fine, const in_plane& where, std::int64_t nx, std::int64_t j0, std::int64_t j1,
               const coarse_plane<float>& into);

/// Plane nz of a field of fine cells, rows 3 j0 ... 3 j1 - 1, from coarse values, of which two cells more are read on all sides.
/// Pure.
void to_fine(const coarse_plane<const float>& coarse, const in_plane& where, const brick_shape& shape, std::int64_t j0,
             std::int64_t j1, float* field);

namespace detail {

/// The cubic polynomials' weight of a coarse value at so many thirds of a coarse cell from it (Lagrange 1795).
[[nodiscard]] constexpr double cubic_weight(std::int64_t thirds) {
    const std::int64_t n = thirds < 0 ? -thirds : thirds;
    if (n % fine_per_coarse == 0) return n == 0 ? 1 : 0;
    const double s = static_cast<double>(n) / fine_per_coarse;
    if (s < 1) return (s + 1) * (s - 1) * (s - 2) / 2;
    if (s < 2) return -(s - 1) * (s - 2) * (s - 3) / 6;
    return 0;
}

} // namespace detail

} // namespace craton::waves
