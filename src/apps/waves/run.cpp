#include <craton/apps/waves/run.hpp>

#include "agree.hpp"
#include "first_failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace craton::waves {

namespace {

std::string below(const std::string& path, std::int64_t step) { return fmt::format("{}.below.{}", path, step); }

// States of the grid below that belong to no checkpoint any more. What cannot be removed stays.
void remove_others(const std::string& path, std::int64_t step) {
    const std::filesystem::path upper(path);
    const std::string any = upper.filename().string() + ".below.";
    std::error_code ignored;
    const auto folder = upper.has_parent_path() ? upper.parent_path() : std::filesystem::path(".");
    for (std::filesystem::directory_iterator each(folder, ignored), end; each != end; each.increment(ignored)) {
        const std::string name = each->path().filename().string();
        if (!name.starts_with(any)) continue;
        const std::string step_of = name.substr(any.size(), name.find('.', any.size()) - any.size());
        if (step_of != std::to_string(step)) std::filesystem::remove(each->path(), ignored);
    }
}

} // namespace

run::run(runtime::world& ranks, const array::brick_layout& layout, const solver_options& options, const ground_sampler& ground)
    : waves_(ranks, layout, options, ground), at_surface_(options.free_surface && !options.land),
      closure_(options.finer_above > 0 ? closure_below_finer_cells(options.finer_above) : fourth_order_closure()) {}

run::~run() = default;

grid_extent run::grid() const {
    const auto& options = waves_.options();
    return {waves_.layout().grid().high, options.spacing_m, options.land.get(), options.coarser_below ? &closure_ : nullptr};
}

void run::put_above(run& lower) {
    const bool alone = below_ == nullptr && !under_another_ && lower.below_ == nullptr && !lower.under_another_;
    const bool fresh = waves_.step() == 0 && lower.waves_.step() == 0 && alone;
    agree(waves_.ranks(),
          fresh ? "" : "waves: grids are put together after a step, or twice; allowed: once, before the first step");
    plane_ = std::make_unique<grid_interface>(waves_, lower.waves_);
    below_ = &lower;
    lower.under_another_ = true;
}

brick_view run::view() const {
    return {{waves_.shape(), waves_.own_cells()},
            waves_.velocity(),
            waves_.stress(),
            waves_.memory(),
            waves_.media(),
            waves_.device(),
            waves_.points_cleared()};
}

void run::watch(std::unique_ptr<observer> module) {
    // What was picked in a passage comes all at once.
    const auto at_once = module->picks() != nullptr ? static_cast<int>(waves_.steps_together()) : 1;
    modules_.add(std::move(module), 1 + at_once);
}

output_plan run::from_top(output_plan plan) const {
    plan.top_m = waves_.options().top_m;
    return plan;
}

void run::write_stations(const output_plan& plan, std::span<const position_m> stations) {
    watch(make_station_writer(waves_.ranks(), from_top(plan), stations, grid(), view(), surface()));
}

void run::write_strains(const output_plan& plan, std::span<const position_m> points) {
    watch(make_strain_writer(waves_.ranks(), from_top(plan), points, grid(), view(), surface()));
}

void run::write_strain_spectra(const output_plan& plan, const fourier_plan& fourier, std::span<const position_m> points) {
    watch(make_strain_spectra(waves_.ranks(), from_top(plan), fourier, points, grid(), view(), surface()));
}

void run::write_velocity_spectra(const output_plan& plan, const fourier_plan& fourier, std::span<const position_m> points) {
    watch(make_velocity_spectra(waves_.ranks(), from_top(plan), fourier, points, grid(), view(), surface()));
}

void run::write_snapshots(const output_plan& plan, const std::vector<field>& fields, const array::domain& cells,
                          const array::index3& stride) {
    watch(make_snapshot_writer(waves_.ranks(), from_top(plan), fields, cells, stride, grid(), view()));
}

void run::call(const schedule& when, std::vector<wanted_box> boxes, std::function<void(const box_frame&)> function) {
    watch(make_box_observer(when, std::move(boxes), grid(), view().place, std::move(function)));
}

// The next step, before `end`, after which somebody looks at fields. Modules that pick do not stop the run, but what they pick is
// handed on after each passage; passages up to the next stop are about equally long.
std::int64_t run::next_stop(std::int64_t end) const {
    const std::int64_t first = waves_.step();
    const std::int64_t together = waves_.steps_together();
    const bool can_pick = together > 1 && !modules_.picks(first, std::min(end, first + together)).empty();
    constexpr std::int64_t passages_ahead = 4;
    const std::int64_t most = can_pick ? std::min(end, first + passages_ahead * together) : end;
    std::int64_t last = first;
    const auto look = [&](std::int64_t step) {
        return modules_.look_at(step, can_pick) || (below_ != nullptr && below_->modules_.look_at(step));
    };
    while (last + 1 < most && !look(last)) ++last;
    if (!can_pick) return last;
    const std::int64_t steps = last + 1 - first;
    const std::int64_t passages = (steps + together - 1) / together;
    return first + (steps + passages - 1) / passages - 1;
}

void run::advance(std::int64_t steps) {
    const std::int64_t end = waves_.step() + steps;
    while (waves_.step() < end) {
        const std::int64_t first = waves_.step();
        const std::int64_t last = next_stop(end);
        if (below_ != nullptr) {
            plane_->advance(last + 1 - first);
            first_failure failure;
            for (run* each : {this, below_})
                failure.keep_of([&] { each->modules_.after_step(last, waves_.time_s(), each->view()); });
            failure.rethrow();
            continue;
        }
        waves_.advance(last + 1 - first, modules_.picks(first, last));
        first_failure failure;
        for (std::int64_t step = first; step < last; ++step) {
            const double time_s = static_cast<double>(step + 1) * waves_.options().dt_s;
            failure.keep_of([&] { modules_.after_picked(step, time_s, first); });
        }
        failure.keep_of([&] { modules_.after_step(last, waves_.time_s(), view()); });
        failure.rethrow();
    }
}

void run::save(const std::string& path, const io::hints& hints) {
    modules_.save();
    io::transfer_options options;
    options.hints = hints;
    const std::int64_t step = waves_.step();
    if (below_ != nullptr) {
        below_->modules_.save();
        below_->waves_.save(below(path, step), "", options);
    }
    waves_.save(path, "", options);
    if (below_ != nullptr && waves_.ranks().rank() == 0) remove_others(path, step);
}

std::string run::restore(const std::string& path, const io::transfer_options& options) {
    std::string note = waves_.restore(path, options);
    if (below_ != nullptr) below_->waves_.restore(below(path, waves_.step()), options);
    return note;
}

double run::energy() { return plane_ ? plane_->energy() : waves_.energy(); }

double run::peak_velocity() {
    const double here = waves_.peak_velocity();
    if (below_ == nullptr) return here;
    const double there = below_->waves_.peak_velocity();
    return std::isnan(here) || std::isnan(there) ? NAN : std::max(here, there);
}

in_situ::times run::module_times() const noexcept {
    auto spent = modules_.spent();
    if (below_ == nullptr) return spent;
    const auto there = below_->modules_.spent();
    return {spent.copying_s + there.copying_s, spent.waiting_s + there.waiting_s, spent.meeting_s + there.meeting_s};
}

void run::finish() {
    modules_.finish();
    if (below_ != nullptr) below_->modules_.finish();
}

} // namespace craton::waves
