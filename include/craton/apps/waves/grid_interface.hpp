#pragma once

#include <craton/apps/waves/kernels/interface_planes.hpp>
#include <craton/apps/waves/solver.hpp>
#include <craton/array/block_grid.hpp>
#include <craton/array/halo_exchange.hpp>

#include <cstdint>

namespace craton::waves {

/// The plane where a grid of cells h ends and one of cells 3 h begins below it: both take their steps together, with the same time
/// step.
///
/// Vertical velocity and the shear stresses xz and yz lie on the plane. They belong to the coarse grid there, and the fine grid has
/// them by interpolation (interface_planes.hpp). Each grid's differences along z end at the plane with the closure of the free
/// surface, and the transposes of the interpolation take to the plane what the fine grid's differences bring. So the scheme is the
/// leapfrog of one discrete energy, with the largest eigenvalues of its parts: no energy is made at the plane, the grids' own time
/// steps are stable, and source and receiver can be swapped across it to rounding. (Petersson and Sjogreen 2010 have
/// interfaces that conserve energy; here what is shared is unknown on one grid alone.)
///
/// A wave passes the plane as it passes coarse cells: what these do not resolve is sent back. Density and moduli on the plane are
/// means of both sides; its Q is that of the ground below.
class grid_interface {
  public:
    /// The fine grid has coarser_below, the coarse one finer_above = 3 in their options. Collective. Both have as many ranks, whole
    /// columns each: the fine bricks' sides lie on the coarse bricks'. Throws user_error on every rank where this is not so, or
    /// steps differ, or a grid has too few planes. Both must outlive it.
    grid_interface(solver& fine, solver& coarse);

    /// Collective; blocking, polls: both grids.
    void advance(std::int64_t steps);

    /// Collective. Of both grids, as solver::energy().
    [[nodiscard]] double energy();

    /// Planes that a grid needs at least, so that closures at both ends do not meet.
    static constexpr std::int64_t least_planes = 2 * surface_closure::width;

  private:
    void refresh();
    void share_velocities();
    void share_stresses();
    void fill_fine_plane(stored_field which, int plane);
    void add_from_fine(stored_field from, stored_field to, int array);
    // what(j0, j1) on the team's threads, of all coarse rows.
    template <class What> void for_rows(const What& what);

    solver& fine_;
    solver& coarse_;
    array::block_grid<float> planes_; // coarse cells: fine values by ninths, and what is on the plane
    array::halo_exchange<float> exchange_;
};

} // namespace craton::waves
