#include <craton/apps/waves/run.hpp>

#include <algorithm>
#include <utility>

namespace craton::waves {

run::run(runtime::world& ranks, const array::brick_layout& layout, const solver_options& options, const ground_sampler& ground)
    : waves_(ranks, layout, options, ground), at_surface_(options.free_surface) {}

run::~run() = default;

grid_extent run::grid() const { return {waves_.layout().grid().high, waves_.options().spacing_m}; }

brick_view run::view() const {
    return {{waves_.shape(), waves_.own_cells()},
            waves_.velocity(),
            waves_.stress(),
            waves_.memory(),
            waves_.media(),
            waves_.device(),
            waves_.points_cleared()};
}

void run::watch(std::unique_ptr<observer> module) { modules_.add(std::move(module)); }

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

void run::advance(std::int64_t steps) {
    const std::int64_t end = waves_.step() + steps;
    while (waves_.step() < end) {
        // Up to the next step after which somebody looks; but for those whose velocities are picked on the way.
        const std::int64_t first = waves_.step();
        const std::int64_t together = waves_.steps_together();
        const std::int64_t soon = std::min(end, first + together);
        const bool can_pick = together > 1 && !modules_.picks(first, soon).empty();
        const std::int64_t most = can_pick ? soon : end;
        std::int64_t last = first;
        while (last + 1 < most && !modules_.look_at(last, can_pick)) ++last;
        waves_.advance(last + 1 - first, modules_.picks(first, last));
        for (std::int64_t step = first; step < last; ++step)
            modules_.after_picked(step, static_cast<double>(step + 1) * waves_.options().dt_s, first);
        modules_.after_step(last, waves_.time_s(), view());
    }
}

void run::save(const std::string& path) {
    modules_.save();
    waves_.save(path);
}

void run::finish() { modules_.finish(); }

} // namespace craton::waves
