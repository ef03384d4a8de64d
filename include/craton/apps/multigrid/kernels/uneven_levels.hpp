#pragma once

#include <craton/apps/multigrid/kernels/between_levels.hpp>
#include <craton/apps/multigrid/kernels/stencils.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace craton::multigrid {

// Between n cells along a dimension and (n + 1) / 2 on the same length, n even or odd. Where n is odd a coarse cell is as long as
// n / (n + 1) of two fine ones, so that edges of cells do not meet: coarse cell I lies upon fine cells 2 I - 1, 2 I and 2 I + 1.
// Where n is even all of this is what between_levels.hpp has. Along a dimension that is not halved the two grids have the same
// cells; kernels know it from as many cells in both boxes.

/// Along one dimension of the grid.
struct uneven_pair {
    /// Of a coarse cell: the shares that fine cells 2 I - 1, 2 I, 2 I + 1 have in its length.
    std::vector<std::array<double, 3>> shares;
    /// Of a coarse face, one more than cells: linear weights of fine faces 2 I - 1 and 2 I.
    std::vector<std::array<double, 2>> faces;

    explicit uneven_pair(std::int64_t fine_cells, bool halved = true);
};
/// Of every fine cell along a dimension: weights of the coarse cells -2 ... 2 round number (fine cell) / 2. As the formula:
/// constant and linear between points, the others averages over the fine cell of the polynomial with the coarse cells' averages.
using child_weights = std::vector<std::array<double, 5>>;
[[nodiscard]] child_weights children_of(std::int64_t fine_cells, const prolongation_formula& formula, bool halved = true);

/// Per dimension, of a box: its entries of what is there for the whole grid.
template <class Weights> using along_box = std::array<const Weights*, 3>;

/// Coarse cells become averages of the fine ones that they lie upon. Fine cells need ghosts one deep, edges and corners too; those
/// off the grid count for nothing but must be numbers.
void restrict_cells(const box_shape& fine, const double* u, const along_box<std::array<double, 3>>& shares, const box_shape& coarse,
                    double* u_coarse);
/// Coarse faces normal to a dimension: linear along it, averages in the two others. Fine faces need ghosts one deep.
void restrict_faces(const box_shape& fine, const double* beta, std::size_t dimension, std::int64_t layers,
                    const along_box<std::array<double, 3>>& shares, const std::array<double, 2>* faces, const box_shape& coarse,
                    double* beta_coarse);
/// u = keep u + P u_coarse. u_coarse must have ghosts of that reach, edges and corners too. Boxes begin at even fine cells.
void prolong(const box_shape& coarse, const double* u_coarse, const along_box<std::array<double, 5>>& weights, int reach,
             double keep, const box_shape& fine, double* u);

} // namespace craton::multigrid
