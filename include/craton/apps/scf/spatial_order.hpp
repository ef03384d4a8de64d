#pragma once

#include <craton/apps/scf/basis.hpp>

#include <span>
#include <vector>

namespace craton::scf {

/// An order of the shells in which neighbours in the list are neighbours in space, so that ranges of shells are compact and what
/// screening leaves lies near the diagonal: nuclei are halved along the longest side of their box, again and again; shells of a
/// nucleus stay in their order. Element n is the number of the shell that comes n-th. The same wherever it is computed.
[[nodiscard]] std::vector<int> spatial_order(const basis& functions);

/// The same functions, shell order[n] as the n-th. Throws user_error unless `order` has every shell once.
[[nodiscard]] basis reordered(const basis& functions, std::span<const int> order);

/// The number in `functions` of every function of reordered(functions, order).
[[nodiscard]] std::vector<int> function_order(const basis& functions, std::span<const int> order);

/// Cuts a list into runs of about equal weight by recursive bisection, each of one item or more: the first item of each run, and
/// the number of items. From 1 part to as many as there are items.
[[nodiscard]] std::vector<int> balanced_cuts(std::span<const double> weights, int parts);

} // namespace craton::scf
