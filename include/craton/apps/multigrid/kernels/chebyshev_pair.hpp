#pragma once

#include <craton/apps/multigrid/kernels/boundary.hpp>
#include <craton/apps/multigrid/kernels/rows.hpp>
#include <craton/apps/multigrid/kernels/stencils.hpp>

#include <cstdint>

namespace craton::multigrid {

/// next = u + ahead (u - before) + gain D^-1 (f - A u).
struct chebyshev_weights {
    double ahead = 0, gain = 0;
};

/// Two steps of Chebyshev iteration with a two-point stencil in one pass over memory. On entry `newer` is the last iterate and
/// `older` the one before (not read where first.ahead is 0); on return `older` is the next one and `newer` the one after that: each
/// overwrites what nobody needs any more.
///
/// The first step runs one plane ahead of the second, and a cell beyond the box where another box is beside it, so that its result
/// need not be exchanged in between: per cell and step 36 bytes travel instead of 64. `newer` needs ghosts two deep off faces and
/// one off edges, `f` and the inverse diagonal one off faces, faces' coefficients likewise; older's ghosts must be those that the
/// last pair left there.
void chebyshev_pair(const box_shape& shape, const coefficients& c, const outer_sides& outer, const ghost_formula& formula,
                    const double* f, const double* inverse_diagonal, const chebyshev_weights& first,
                    const chebyshev_weights& second, double* newer, double* older);

} // namespace craton::multigrid
