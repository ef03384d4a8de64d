#pragma once

#include <craton/apps/waves/step_engine.hpp>
#include <craton/array/halo_exchange.hpp>

#include <vector>

namespace craton::waves {

/// Ghost planes that the differences of a half step read beyond a brick, by field (its number among stored_fields) and axis: as
/// halo_plan_of, but also at sides without a neighbour, so that they are alike on all ranks.
[[nodiscard]] std::vector<array::ghost_planes> halos_of(half_step half);

} // namespace craton::waves
