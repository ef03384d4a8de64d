#include "source_set.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace craton::waves {

namespace {

constexpr std::array force_fields{field::vx, field::vy, field::vz};
constexpr std::array moment_fields{field::xx, field::yy, field::zz, field::xy, field::xz, field::yz};

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
                       const brick_place& brick, const vector_field<const float>& buoyancy, const surface_closure* surface,
                       double dt_s, const interpolation_order& order) {
    moments_.sources = std::ssize(moments);
    forces_.sources = std::ssize(forces);
    for (std::size_t n = 0; n < moments.size(); ++n) {
        check(moments[n].moment, moments[n].at_m, grid, "moment source", n);
        for (std::size_t c = 0; c < moment_fields.size(); ++c) {
            if (moments[n].moment[c] == 0) continue;
            for (const auto& each :
                 injection_weights(staggering_of(moment_fields[c]), moments[n].at_m, grid, brick, surface, order)) {
                const double amount = -dt_s * moments[n].moment[c] * each.weight;
                moment_shares_[c].push_back({each.offset, static_cast<std::int32_t>(n), static_cast<float>(amount)});
            }
        }
    }
    const std::array<const float*, 3> of{buoyancy.x, buoyancy.y, buoyancy.z};
    for (std::size_t n = 0; n < forces.size(); ++n) {
        check(forces[n].force, forces[n].at_m, grid, "force", n);
        for (std::size_t c = 0; c < force_fields.size(); ++c) {
            if (forces[n].force[c] == 0) continue;
            for (const auto& each :
                 injection_weights(staggering_of(force_fields[c]), forces[n].at_m, grid, brick, surface, order)) {
                const double amount = dt_s * of[c][each.offset] * forces[n].force[c] * each.weight;
                force_shares_[c].push_back({each.offset, static_cast<std::int32_t>(n), static_cast<float>(amount)});
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

void source_set::kind::add(std::span<const share> shares, std::int64_t step, float* to) const {
    const std::int64_t now = step - first_step;
    if (now < 0 || now >= steps) return;
    for (const auto& each : shares) to[each.offset] += each.amount * values[static_cast<std::size_t>(each.source * steps + now)];
}

void source_set::add_forces(std::int64_t step, const vector_field<float>& v) const {
    const std::array<float*, 3> to{v.x, v.y, v.z};
    for (std::size_t c = 0; c < to.size(); ++c) forces_.add(force_shares_[c], step, to[c]);
}

void source_set::add_moments(std::int64_t step, const tensor_field<float>& stress) const {
    const std::array<float*, 6> to{stress.xx, stress.yy, stress.zz, stress.xy, stress.xz, stress.yz};
    for (std::size_t c = 0; c < to.size(); ++c) moments_.add(moment_shares_[c], step, to[c]);
}

} // namespace craton::waves
