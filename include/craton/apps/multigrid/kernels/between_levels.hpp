#pragma once

#include <craton/apps/multigrid/kernels/stencils.hpp>

#include <array>
#include <cstdint>

namespace craton::multigrid {

/// Fine cells (2 i, 2 j, 2 k) ... (2 i + 1, 2 j + 1, 2 k + 1) make up coarse cell (i, j, k). Along each dimension there are
/// twice as many fine cells as coarse ones; uneven_levels.hpp has the others.

/// Means of 8 cells.
void restrict_cells(const box_shape& fine, const double* u, const box_shape& coarse, double* u_coarse);
/// Means of the 4 faces, normal to a dimension, that make up a coarse face; `layers`: how many coarse faces there are along it.
void restrict_faces(const box_shape& fine, const double* beta, std::size_t dimension, std::int64_t layers, const box_shape& coarse,
                    double* beta_coarse);

/// How the lower child of a coarse cell follows from the cells -2 ... 2 round it, per dimension; the upper child mirrors it.
struct prolongation_formula {
    std::array<double, 5> lower{};
    int reach = 0;       ///< cells to either side that count
    int ghost_order = 1; ///< of the ghosts that it wants (dirichlet_formula)
};
[[nodiscard]] prolongation_formula constant_prolongation();
[[nodiscard]] prolongation_formula linear_prolongation();
/// Of averages, second and fourth order.
[[nodiscard]] prolongation_formula second_order_prolongation();
[[nodiscard]] prolongation_formula fourth_order_prolongation();

/// u = keep u + P u_coarse, P being the tensor product of the formula. u_coarse must have ghosts of the formula's reach, edges and
/// corners too.
void prolong(const box_shape& coarse, const double* u_coarse, const prolongation_formula& formula, double keep,
             const box_shape& fine, double* u);

} // namespace craton::multigrid
