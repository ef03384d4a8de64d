#pragma once

#include <craton/apps/scf/block_digester.hpp>
#include <craton/apps/scf/fock_tasks.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/world.hpp>

namespace craton::scf {

/// As significant_pairs, with their costs: without a table of all bounds, and once in the memory of each node. Each rank computes
/// the bounds of every so-many-th row of shells, and only what survives is gathered, by one rank of each node. What it returns
/// holds the memory. Collective, blocking.
[[nodiscard]] weighed_pairs share_significant_pairs(runtime::world& ranks, const block_digester& digester, double threshold,
                                                    base::thread_team& team);

} // namespace craton::scf
