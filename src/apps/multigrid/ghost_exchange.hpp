#pragma once

#include "bulk_exchange.hpp"

#include <craton/apps/multigrid/solver.hpp>
#include <craton/array/halo_exchange.hpp>
#include <craton/base/thread_team.hpp>

#include <cstdint>
#include <memory>

namespace craton::multigrid {

/// Fills the ghosts that lie in other boxes, by copies from box to box or, as the comparison, by packed buffers.
class ghost_exchange {
  public:
    /// Collective. As array::halo_exchange.
    ghost_exchange(const array::box_grid<double>& grid, array::halo_reach reach, std::int64_t depth, exchange_method method,
                   base::thread_team* team) {
        if (method.bulk) {
            packed_ = std::make_unique<bulk_exchange>(grid, reach, depth, team);
        } else {
            copies_ = std::make_unique<array::halo_exchange<double>>(grid, reach, depth, method.step, array::index3{}, team);
        }
    }

    /// Collective; blocking, polls. Packed buffers need no wait before they are written.
    void operator()(int vector, bool halo_is_free = false) {
        if (packed_) {
            (*packed_)(vector);
        } else {
            (*copies_)(vector, halo_is_free);
        }
    }

  private:
    std::unique_ptr<array::halo_exchange<double>> copies_;
    std::unique_ptr<bulk_exchange> packed_;
};

} // namespace craton::multigrid
