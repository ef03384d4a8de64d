#pragma once

#include <craton/apps/waves/point_weights.hpp>
#include <craton/apps/waves/solver.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace craton::waves {

/// What this rank's cells get of the sources, step by step.
class source_set {
  public:
    source_set() = default;
    /// Throws user_error for a source that is not in the grid or has a component that is not finite.
    source_set(std::span<const moment_source> moments, std::span<const force_source> forces, const grid_extent& grid,
               const brick_place& brick, const vector_field<const float>& buoyancy, const surface_closure* surface, double dt_s,
               const interpolation_order& order);

    /// Throws user_error unless there are as many values as sources times steps, all finite.
    void set_moment_rates(const source_series& rates) { moments_.set(rates, "moment rates"); }
    void set_force_series(const source_series& series) { forces_.set(series, "force series"); }

    void add_forces(std::int64_t step, const vector_field<float>& v) const;
    void add_moments(std::int64_t step, const tensor_field<float>& stress) const;

  private:
    // A cell of one field that a source adds to: amount times the source's rate.
    struct share {
        std::int64_t offset = 0;
        std::int32_t source = 0;
        float amount = 0;
    };
    struct kind {
        std::int64_t sources = 0;
        std::vector<float> values; // [source][step]
        std::int64_t first_step = 0, steps = 0;

        void set(const source_series& series, const char* what);
        void add(std::span<const share> shares, std::int64_t step, float* to) const;
    };

    kind moments_, forces_;
    std::array<std::vector<share>, 3> force_shares_;
    std::array<std::vector<share>, 6> moment_shares_;
};

} // namespace craton::waves
