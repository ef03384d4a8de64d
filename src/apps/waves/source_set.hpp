#pragma once

#include <craton/apps/waves/point_weights.hpp>
#include <craton/apps/waves/solver.hpp>
#include <craton/apps/waves/step_engine.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::waves {

/// What this rank's cells get of the sources, step by step.
class source_set {
  public:
    source_set() = default;
    /// Throws user_error for a source that is not in the grid or has a component that is not finite.
    source_set(std::span<const moment_source> moments, std::span<const force_source> forces, const grid_extent& grid,
               const brick_place& brick, const compact_vector& buoyancy, const surface_closure* surface, double dt_s,
               const interpolation_order& order);

    /// Throws user_error unless there are as many values as sources times steps, all finite.
    void set_moment_rates(const source_series& rates) { moments_.set(rates, "moment rates"); }
    void set_force_series(const source_series& series) { forces_.set(series, "force series"); }

    /// Registers them with the engine, as its only sources.
    void put_into(step_engine& engine);
    /// Into velocities or stresses, before the updates of that half of the step.
    void inject(step_engine& engine, half_step half, std::int64_t step);

  private:
    struct kind {
        std::int64_t sources = 0;
        std::vector<point_term> terms; // amounts at a rate of 1
        int number = -1;               // the engine's
        std::vector<float> values;     // [source][step]
        std::int64_t first_step = 0, steps = 0;
        std::vector<float> now; // of all sources at one step

        void set(const source_series& series, const char* what);
        void inject(step_engine& engine, std::int64_t step);
    };

    kind moments_, forces_;
};

} // namespace craton::waves
