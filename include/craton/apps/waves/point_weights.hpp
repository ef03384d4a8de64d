#pragma once

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>
#include <craton/apps/waves/topography.hpp>
#include <craton/array/domain.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace craton::waves {

/// The whole grid, all ranks together.
struct grid_extent {
    array::index3 cells{};
    double h_m = 0;
    const topography* land = nullptr;        ///< null: no air
    const surface_closure* bottom = nullptr; ///< of a grid that ends above one of coarser cells (differences::bottom)

    friend bool operator==(const grid_extent&, const grid_extent&) = default;
};

/// Metres from the grid's lower corner: x north, y east, z down.
using position_m = std::array<double, 3>;

/// Where in its cell a field lies, per axis: true on the lower face (coordinate i h), false in the middle ((i + 1/2) h).
using staggering = std::array<bool, 3>;

/// A component of velocity or stress, and where in a cell it lies.
enum class field { vx, vy, vz, xx, yy, zz, xy, xz, yz };

/// Where in its cell a component lies.
[[nodiscard]] constexpr staggering staggering_of(field which) {
    switch (which) {
    case field::vx:
        return {true, false, false};
    case field::vy:
        return {false, true, false};
    case field::vz:
        return {false, false, true};
    case field::xy:
        return {true, true, false};
    case field::xz:
        return {true, false, true};
    case field::yz:
        return {false, true, true};
    default:
        return {false, false, false};
    }
}

/// "vx" and so on.
[[nodiscard]] const char* name_of(field which);

/// Points of the polynomial per axis.
struct interpolation_order {
    int between = 6; ///< where the point lies between planes of the grid: of degree 5, shifted inwards near the grid's outer faces
    /// Where it lies up to a cell outside them (a centred field above half a cell's depth): extrapolation, kept short since its
    /// weights grow.
    int beyond = 4;

    /// Cells, at most.
    static constexpr int most = 8;
    friend constexpr bool operator==(const interpolation_order&, const interpolation_order&) = default;
};

/// Lagrange's polynomial along one axis: the value at the point is the sum of weight[n] f(first + n).
struct axis_weights {
    std::int64_t first = 0;
    int count = 0;
    std::array<double, interpolation_order::most> weight{};
};

/// For a coordinate in units of h, 0 to planes. One point of weight 1 where it is a plane's own, to a millionth of h. Planes 0 ...
/// planes - 1 are used, so none above a free surface.
[[nodiscard]] axis_weights interpolate(double coordinate, bool on_face, std::int64_t planes, const interpolation_order& order = {});

/// One of the cells whose sum makes a value at a point: where it lies in the brick's arrays, counted from its element (0, 0, 0).
struct weighted_cell {
    std::int64_t offset = 0;
    double weight = 0;

    friend bool operator==(const weighted_cell&, const weighted_cell&) = default;
};

/// A rank's brick: its arrays' shape, and which cells of the grid its own are.
struct brick_place {
    brick_shape shape;
    array::domain cells;
};

/// "" for a point in the grid and in the ground; else what is wrong with it, in words, with what is allowed: coordinates that are
/// no numbers, or outside [0, n h], or above the ground's surface.
[[nodiscard]] std::string why_not_inside(const position_m& point, const grid_extent& grid);

/// The value of a field at a point of the grid (faces included) is the sum of weight * f[offset] over what this returns, over all
/// ranks: a point near the side of a brick is shared, and each rank gets its own cells only, so that nothing is read from halos.
/// Ordered by offset.
///
/// Under topography only points that are not dead take part. Where those of the order, or of 4 or 2 points, meet air, each column's
/// polynomial along z has its origin at the surface there, so that what is interpolated across columns lies at one depth below it;
/// it begins with the first point that is not dead. Where that is further than a cell from the place the number of columns is the
/// next smaller one; at last the nearest point is taken.
///
/// `surface`: as update_velocity has it; where it is given and traction_free (z = 0 of the grid is a free surface), xz and yz on
/// plane k = 0, which are 0, are left out. Pure; throws nothing but for memory. The point is in the grid (why_not_inside).
[[nodiscard]] std::vector<weighted_cell> reading_weights(const staggering& where, const position_m& point, const grid_extent& grid,
                                                         const brick_place& brick, const surface_closure* surface,
                                                         const interpolation_order& order = {});

/// What a source of unit strength at the point adds to the field, in 1/m^3: the reading weights over the volume of their cells, h^3
/// times the plane's norm near a free surface or a grid of other cells. So injecting is the adjoint of reading in the norm in which
/// energy is conserved, and source and receiver can be swapped. A force F adds dt * buoyancy * F * weight to velocity; a moment
/// rate M' takes dt * M' * weight from stress.
[[nodiscard]] std::vector<weighted_cell> injection_weights(const staggering& where, const position_m& point,
                                                           const grid_extent& grid, const brick_place& brick,
                                                           const surface_closure* surface, const interpolation_order& order = {});

} // namespace craton::waves
