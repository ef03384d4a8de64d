#pragma once

#include <craton/apps/multigrid/solver.hpp>

#include <span>
#include <vector>

namespace craton::multigrid {

/// A u = f by conjugate gradients with one V-cycle from zero as preconditioner, from u given: for coefficients that jump so much
/// that V-cycles alone converge slowly. Flexible (Notay 2000: the next direction from the change of the residual), since a V-cycle
/// is not quite symmetric; nor are fv2 and fv4 themselves at Dirichlet sides.
///
/// f and u: cells of this rank's boxes as in solver::solution(); f is the solver's right-hand side. The residuals returned are the
/// largest over by.largest_right_hand_side(), from that of the first u on. Collective.
[[nodiscard]] convergence conjugate_gradients(solver& by, std::span<const double> f, std::span<double> u, double tolerance,
                                              int most_steps, const progress& each = {});

} // namespace craton::multigrid
