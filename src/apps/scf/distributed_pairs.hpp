#pragma once

#include <craton/apps/scf/quartet_source.hpp>
#include <craton/apps/scf/shell_pairs.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/world.hpp>

#include <span>
#include <vector>

namespace craton::scf {

/// As significant_pairs, by rows then columns, but without a table of all bounds: each rank computes those of every so-many-th row,
/// and only what survives is gathered. Collective, blocking.
[[nodiscard]] std::vector<shell_pair> gather_significant_pairs(const runtime::world& ranks, std::span<const int> first_function,
                                                               const quartet_source& source, double threshold,
                                                               base::thread_team& team);

} // namespace craton::scf
