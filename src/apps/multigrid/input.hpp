#pragma once

#include "level.hpp"

#include <craton/apps/multigrid/problem.hpp>

#include <span>
#include <string>
#include <vector>

namespace craton::multigrid {

// What a user gives, checked on its way into a level. All collective: where one rank finds fault, all throw user_error.

/// Throws it on every rank when any has a failure to report (a non-empty string).
void agree(runtime::world& ranks, const std::string& failure);

/// Beta from the problem's function or values, 0 on Neumann sides: whatever the stencil, no flux passes there. Faults: values of
/// another number, not positive, not finite.
void put_beta(level& to, const problem& what);
/// Alpha, where the problem has one. Faults: a = 0, values of another number, negative, not finite, 0 everywhere.
void put_alpha(level& to, const problem& what);
/// Right-hand side, of a function or values, without what is given on the boundary. Faults: values of another number, not finite.
void put_right_hand_side(level& to, const problem& what);
void put_right_hand_side(level& to, std::span<const double> values);

/// Cells of a rank's boxes, one box after the other in the order of box_layout::blocks_of, i fastest: from a level, and into it.
void copy_from(const level& from, int vector, std::span<double> values);
void copy_to(const level& to, int vector, std::span<const double> values);
[[nodiscard]] std::size_t own_cells(const level& of);

/// Subtracts a vector's mean over the grid, and returns it.
double remove_mean(level& of, int vector);

} // namespace craton::multigrid
