#pragma once

#include <craton/apps/multigrid/kernels/stencils.hpp>

#include <array>
#include <cstdint>
#include <functional>

namespace craton::multigrid {

/// How ghost cells outside the grid follow from the cells inside, counted inwards from the boundary: ghost layer l (0 the nearest)
/// is the sum of weights[l][m] * cell m. Edges and corners are tensor products.
struct ghost_formula {
    std::array<std::array<double, 5>, 2> weights{};
    int taps = 1;
};

/// u = 0 on the boundary, of the highest order up to `order` (1, 2 or 4) for which the grid has enough cells along the dimension.
/// Order 1 mirrors point values; 2 and 4 are averages of the parabola and the quartic through zero on the boundary and the averages
/// inside. A layer without a formula is 0.
[[nodiscard]] ghost_formula dirichlet_formula(int order, std::int64_t cells);

/// The derivative along the normal is 0 on the boundary: the quartic (order 4, 4 cells or more), else the mirror image. A
/// constant is continued as a constant.
[[nodiscard]] ghost_formula neumann_formula(int order, std::int64_t cells);

/// Extrapolation by the polynomial through the nearest 5, 4 or 2 cells, as many as there are (1 from 2 or 3): for coefficients.
[[nodiscard]] ghost_formula extrapolation_formula(std::int64_t cells);

/// Which sides of a box are the grid's boundary, per dimension: before its first and behind its last cell.
using outer_sides = std::array<std::array<bool, 2>, 3>;
using side_formulas = std::array<std::array<ghost_formula, 2>, 3>;

/// Fills ghosts off the outer sides, `depth` layers deep, from those inside: dimension after dimension, each over the cells that
/// are known by then. Ghosts that other boxes give must be there: a
/// formula may reach into them where a box is thin. `extents`: layers that a field has inside per dimension (0: the
/// box's cells; faces may have one more).
void fill_outer_ghosts(double* u, const box_shape& shape, int depth, const outer_sides& outer, const ghost_formula& formula,
                       const std::array<bool, 3>& dimensions = {true, true, true}, const std::array<std::int64_t, 3>& extents = {});
/// The same with a formula for each side.
void fill_outer_ghosts(double* u, const box_shape& shape, int depth, const outer_sides& outer, const side_formulas& formulas,
                       const std::array<bool, 3>& dimensions = {true, true, true}, const std::array<std::int64_t, 3>& extents = {});
/// What a ghost of layer `layer` has besides the sum over cells, at cell (x, y) of a side's two dimensions, the lower first.
using ghost_offset = std::function<double(std::size_t dimension, std::size_t end, int layer, std::int64_t x, std::int64_t y)>;
/// With a formula and something besides for each side.
void fill_outer_ghosts(double* u, const box_shape& shape, int depth, const outer_sides& outer, const side_formulas& formulas,
                       const ghost_offset& offset);
/// Weight of the value on the boundary in a ghost of a Dirichlet side: a constant is continued as a constant.
[[nodiscard]] double weight_of_boundary(const ghost_formula& dirichlet, int layer);

} // namespace craton::multigrid
