#pragma once

#include "level.hpp"

#include <craton/apps/multigrid/problem.hpp>

namespace craton::multigrid {

/// What is given on the boundary goes into f: A u = f - (A of 0 with those values beside it), and a flux into a cell adds to it
/// what comes through its face. Dirichlet values enter by the ghost formulas of the stencil, so that its order is kept. Overwrites
/// u and the scratch vector. Collective.
///
/// Faults, thrown by every rank: sides with another number of values than faces, or on a periodic side; values that are not finite;
/// fluxes other than 0 with fv4, whose wide differences would need du/dn by itself.
void take_boundary_into_right_hand_side(level& finest, const problem& what);
void take_boundary_into_right_hand_side(level& finest, const side_values& values);

} // namespace craton::multigrid
