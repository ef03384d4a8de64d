#include "source_set.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace craton::waves {

namespace {

constexpr std::array force_fields{field::vx, field::vy, field::vz};
constexpr std::array moment_fields{field::xx, field::yy, field::zz, field::xy, field::xz, field::yz};

// The first stored fields are those that are recorded.
point_term term(std::size_t source, field which, std::int64_t offset, double amount) {
    return {static_cast<std::int64_t>(source), static_cast<stored_field>(which), offset, static_cast<float>(amount)};
}

void check(std::span<const double> components, const position_m& at, const grid_extent& grid, const char* what,
           std::size_t number) {
    const std::string outside = why_not_inside(at, grid);
    if (!outside.empty()) throw user_error(fmt::format("{} {}: {}", what, number, outside));
    for (const double each : components) {
        if (!std::isfinite(each))
            throw user_error(fmt::format("{} {}: component {}; allowed: a finite number", what, number, each));
    }
}

} // namespace

source_set::source_set(std::span<const moment_source> moments, std::span<const force_source> forces, const grid_extent& grid,
                       const brick_place& brick, const compact_vector& buoyancy, const surface_closure* surface, double dt_s,
                       const interpolation_order& order) {
    moments_.sources = std::ssize(moments);
    forces_.sources = std::ssize(forces);
    for (std::size_t n = 0; n < moments.size(); ++n) {
        check(moments[n].moment, moments[n].at_m, grid, "moment source", n);
        for (std::size_t c = 0; c < moment_fields.size(); ++c) {
            if (moments[n].moment[c] == 0) continue;
            for (const auto& each :
                 injection_weights(staggering_of(moment_fields[c]), moments[n].at_m, grid, brick, surface, order)) {
                const double amount = -dt_s * moments[n].moment[c] * each.weight;
                moments_.terms.push_back(term(n, moment_fields[c], each.offset, amount));
            }
        }
    }
    const std::array<compact_field, 3> of{buoyancy.x, buoyancy.y, buoyancy.z};
    for (std::size_t n = 0; n < forces.size(); ++n) {
        check(forces[n].force, forces[n].at_m, grid, "force", n);
        for (std::size_t c = 0; c < force_fields.size(); ++c) {
            if (forces[n].force[c] == 0) continue;
            for (const auto& each :
                 injection_weights(staggering_of(force_fields[c]), forces[n].at_m, grid, brick, surface, order)) {
                const double amount = dt_s * of[c][each.offset] * forces[n].force[c] * each.weight;
                forces_.terms.push_back(term(n, force_fields[c], each.offset, amount));
            }
        }
    }
}

void source_set::kind::set(const source_series& series, const char* what) {
    if (series.steps < 0 || std::ssize(series.values) != sources * series.steps) {
        throw user_error(
            fmt::format("{}: {} values; allowed: {} sources x {} steps", what, series.values.size(), sources, series.steps));
    }
    if (!std::ranges::all_of(series.values, [](float each) { return std::isfinite(each); })) {
        throw user_error(fmt::format("{}: a value is not finite", what));
    }
    first_step = series.first_step;
    steps = series.steps;
    values.assign(series.values.begin(), series.values.end());
}

void source_set::kind::inject(step_engine& engine, std::int64_t step) {
    const std::int64_t at = step - first_step;
    if (terms.empty() || at < 0 || at >= steps) return;
    for (std::int64_t n = 0; n < sources; ++n) now[static_cast<std::size_t>(n)] = values[static_cast<std::size_t>(n * steps + at)];
    engine.inject(number, now);
}

void source_set::put_into(step_engine& engine) {
    for (auto* each : {&forces_, &moments_}) {
        if (each->terms.empty()) continue;
        each->number = engine.add_sources(each->terms, each->sources);
        each->now.resize(static_cast<std::size_t>(each->sources));
    }
}

void source_set::inject(step_engine& engine, half_step half, std::int64_t step) {
    (half == half_step::velocity ? forces_ : moments_).inject(engine, step);
}

} // namespace craton::waves
