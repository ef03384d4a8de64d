#pragma once

#include "private_bricks.hpp"

#include <craton/apps/waves/compact_array.hpp>
#include <craton/apps/waves/effective_media.hpp>
#include <craton/apps/waves/kernels/fields.hpp>
#include <craton/apps/waves/solver.hpp>
#include <craton/array/block_grid.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace craton::waves {

/// What the kernels need to know of the ground, on this rank's brick.
class medium {
  public:
    /// Collective. Throws user_error as solver's constructor says.
    medium(const array::block_grid<float>& grid, const solver_options& options, const ground_sampler& sampler);

    [[nodiscard]] const elastic_media& elastic() const noexcept { return elastic_; }
    [[nodiscard]] const attenuation_media& attenuation() const noexcept { return attenuation_; }
    /// Smallest speed of S waves that is not 0, of all ranks; infinite where there is nothing but water.
    [[nodiscard]] double slowest_m_s() const noexcept { return slowest_m_s_; }
    /// Largest speed of P waves of infinite frequency, of all ranks.
    [[nodiscard]] double fastest_m_s() const noexcept { return fastest_m_s_; }

  private:
    void fill_elastic(const array::block_grid<float>& grid, const solver_options& options, const ground_sampler& sampler,
                      std::span<compact_array> into);
    void fill_weights(const array::block_grid<float>& grid, const solver_options& options, const ground_sampler& sampler,
                      compact_array& bulk, compact_array& shear);

    private_bricks<std::uint16_t> arrays_;
    elastic_media elastic_;
    attenuation_media attenuation_;
    double fastest_m_s_ = 0, slowest_m_s_ = std::numeric_limits<double>::infinity();
};

} // namespace craton::waves
