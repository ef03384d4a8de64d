#include <craton/apps/waves/run.hpp>

#include "first_failure.hpp"

#include <algorithm>
#include <utility>

namespace craton::waves {

run::run(runtime::world& ranks, const array::brick_layout& layout, const solver_options& options, const ground_sampler& ground)
    : waves_(ranks, layout, options, ground), at_surface_(options.free_surface && !options.land) {}

run::~run() = default;

grid_extent run::grid() const { return {waves_.layout().grid().high, waves_.options().spacing_m, waves_.options().land.get()}; }

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

void run::write_stations(const output_plan& plan, std::span<const position_m> stations) {
    watch(make_station_writer(waves_.ranks(), plan, stations, grid(), view(), surface()));
}

void run::write_strains(const output_plan& plan, std::span<const position_m> points) {
    watch(make_strain_writer(waves_.ranks(), plan, points, grid(), view(), surface()));
}

void run::write_snapshots(const output_plan& plan, const std::vector<field>& fields, const array::domain& cells,
                          const array::index3& stride) {
    watch(make_snapshot_writer(waves_.ranks(), plan, fields, cells, stride, grid(), view()));
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
    while (last + 1 < most && !modules_.look_at(last, can_pick)) ++last;
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
    waves_.save(path, "", options);
}

void run::finish() { modules_.finish(); }

} // namespace craton::waves
