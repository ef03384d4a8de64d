#pragma once

#include <craton/apps/waves/kernels/fields.hpp>

#include <cstdint>
#include <functional>

namespace craton::waves {

/// One plane of samples, nx x ny of them, in m from the grid's lower corner; their values lie at a + b nx. Every brick computes the
/// same position for the same sample, to the last bit.
struct sample_plane {
    std::int64_t first_x = 0, first_y = 0, at_z = 0; ///< counted from the grid's corner
    std::int64_t nx = 0, ny = 0;
    double spacing_m = 0;

    /// Where a point lies, from the grid's lower corner.
    [[nodiscard]] double x_m(std::int64_t a) const { return (static_cast<double>(first_x + a) + 0.5) * spacing_m; }
    [[nodiscard]] double y_m(std::int64_t b) const { return (static_cast<double>(first_y + b) + 0.5) * spacing_m; }
    [[nodiscard]] double z_m() const { return (static_cast<double>(at_z) + 0.5) * spacing_m; }
};

/// Writes density (kg/m^3) and the moduli (Pa) that the solver shall use at the points of a plane: rho > 0, mu >= 0 (0 is water),
/// lambda + 2 mu > 0. Where there is attenuation these are the unrelaxed moduli.
using elastic_sampler = std::function<void(const sample_plane& points, float* rho, float* lambda, float* mu)>;

/// Arrays to be filled with what an elastic_media has, at elements (0, 0, 0).
struct effective_media_arrays {
    vector_field<float> buoyancy;
    float *lambda = nullptr, *mu = nullptr;
    float *mu_xy = nullptr, *mu_xz = nullptr, *mu_yz = nullptr;
};

/// Media for some cells of a brick whose cell (0, 0, 0) is the grid's (first_i, first_j, first_k), from samples_per_side^3 samples
/// of each cell of side h.
///
/// Each value is the average over the cube of side h round its own position (Moczo et al. 2002): density arithmetic; mu harmonic,
/// thus 0 beside water; lambda + 2 mu harmonic too, so that P waves as well as S waves pass a horizontal layering at the speed of
/// its long-wave average (Backus 1962). One sample per cell makes this the mean of the 2 cells at a face and of the 4 round an
/// edge. Of cubes that reach over the grid's lower sides, the free surface among them, the part inside counts. mu_xz and mu_yz on
/// the surface have no use. `above`, not 0 where the plane z = 0 is shared with a grid of finer cells: samples up to half a cell
/// above it count there too, with this share.
///
/// Samples lie in the cells asked for or up to a cell below; the result does not depend on how the grid is cut into bricks and
/// ranges. Calls on disjoint ranges may run at the same time if the sampler allows it. Throws what the sampler throws.
void fill_effective_media(const brick_shape& shape, const cell_range& cells, std::int64_t first_i, std::int64_t first_j,
                          std::int64_t first_k, double h_m, int samples_per_side, const elastic_sampler& sampler,
                          const effective_media_arrays& out, double above = 0);

} // namespace craton::waves
