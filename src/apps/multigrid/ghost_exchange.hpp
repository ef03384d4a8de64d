#pragma once

#include "bulk_exchange.hpp"

#include <craton/apps/multigrid/solver.hpp>
#include <craton/array/halo_exchange.hpp>
#include <craton/base/thread_team.hpp>

#include <cstdint>
#include <memory>

namespace craton::multigrid {

/// What the exchanges of a solver have in common.
struct exchange_setup {
    exchange_method method{};
    base::thread_team* team = nullptr; ///< null: the caller alone copies
    std::shared_ptr<array::halo_turns> turns{};
};

/// Fills the ghosts that lie in other boxes, by copies from box to box or, as the comparison, by packed buffers.
class ghost_exchange {
  public:
    /// Collective. As array::halo_exchange.
    ghost_exchange(const array::block_grid<double>& grid, array::halo_reach reach, std::int64_t depth, const exchange_setup& how) {
        if (how.method.bulk) {
            packed_ = std::make_unique<bulk_exchange>(grid, reach, depth, how.team);
        } else {
            copies_ = std::make_unique<array::halo_exchange<double>>(
                grid, reach, depth, array::exchange_options{.step = how.method.step, .team = how.team, .turns = how.turns});
        }
    }

    /// Collective; blocking, polls. Packed buffers need no wait before they are written.
    void operator()(int vector, array::halo_use use = array::halo_use::until_next_exchange) {
        if (packed_) {
            (*packed_)(vector);
        } else {
            (*copies_)(vector, use);
        }
    }

  private:
    std::unique_ptr<array::halo_exchange<double>> copies_;
    std::unique_ptr<bulk_exchange> packed_;
};

} // namespace craton::multigrid
