#pragma once

#include "level.hpp"

namespace craton::multigrid {

/// Vectors that the bottom solver wants beyond vectors_of_level.
inline constexpr int bottom_vectors = 7;

/// BiCGStab (van der Vorst 1992), preconditioned from the right by D^-1, until the largest residual has fallen to a thousandth, at
/// most 200 steps or twice the cells along the grid. `singular`: constants solve the homogeneous problem; the means of f and u are
/// removed. Collective.
void solve_bottom(level& coarsest, int u, int f, bool singular = false);

} // namespace craton::multigrid
