#include <craton/apps/waves/solver.hpp>

#include "agree.hpp"
#include "halo_planes.hpp"
#include "medium.hpp"
#include "saved_state.hpp"
#include "source_set.hpp"
#include "work_plan.hpp"

#include <craton/apps/waves/kernels/surface_closure.hpp>
#include <craton/apps/waves/kernels/updates.hpp>
#include <craton/array/block_grid.hpp>
#include <craton/array/halo_exchange.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/base/last_level_cache.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/io/brick_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace craton::waves {

namespace {

// Arrays of the brick grid: the stored fields in their order, without memory variables where there is no attenuation.
constexpr int elastic_fields = 9;
int changing_fields(const solver_options& options) {
    return options.attenuation ? static_cast<int>(stored_fields) : elastic_fields;
}

brick_sides sides_with_neighbours(const array::brick_layout& layout, int rank) {
    brick_sides found;
    for (int axis = 0; axis < 3; ++axis) {
        found.low[static_cast<std::size_t>(axis)] = layout.rank_beside(rank, axis, -1) >= 0;
        found.high[static_cast<std::size_t>(axis)] = layout.rank_beside(rank, axis, 1) >= 0;
    }
    return found;
}

brick_shape shape_of(const array::block_grid<float>& grid) {
    const auto e = grid.extents();
    return {e.nx, e.ny, e.nz, e.pitch, e.plane};
}

// Empty: nothing.
std::string what_is_not_allowed(const solver_options& o, const array::index3& cells) {
    const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
    const char* const wrong = !positive(o.spacing_m) ? "spacing" : !positive(o.dt_s) ? "time step" : nullptr;
    if (wrong != nullptr)
        return fmt::format("waves: spacing {} m, time step {} s: {}: allowed: more than 0 {}", o.spacing_m, o.dt_s, wrong,
                           positive(o.spacing_m) ? "s" : "m");
    if (o.together &&
        (o.together->steps < 1 || o.together->steps > most_steps_together || o.together->rows < 1 || o.together->planes < 1))
        return fmt::format("waves: {} steps together, in blocks of {} rows x {} planes; allowed: 1 to {} steps, 1 row or more, 1 "
                           "plane or more",
                           o.together->steps, o.together->rows, o.together->planes, most_steps_together);
    if (o.land && o.land->cells() != cells)
        return fmt::format("waves: topography of {} x {} x {} cells; allowed: that of the grid, {} x {} x {}", o.land->cells()[0],
                           o.land->cells()[1], o.land->cells()[2], cells[0], cells[1], cells[2]);
    if (o.land && !o.free_surface) return "waves: topography under an absorbing top; allowed: topography with a free surface";
    if ((o.finer_above > 0 || o.coarser_below) && o.make_engine)
        return "waves: grids that share a plane on a device; allowed: on the cores of the machine";
    if (o.finer_above > 0 && (o.land || !o.free_surface))
        return "waves: topography or an absorbing top of a grid below another; allowed: of the uppermost grid";
    if (o.coarser_below && (o.finer_above > 0 || !o.free_surface))
        return "waves: a grid above coarser cells that is below finer ones, or has an absorbing top; allowed: two grids, of which "
               "the "
               "upper one has a free surface";
    if (o.land && o.coarser_below) return "waves: topography above a grid of coarser cells; allowed: flat ground there";
    if (o.land && o.make_engine) return "waves: topography on a device; allowed: topography on the cores of the machine";
    return "";
}

// The surface under absorbing layers is level along their axis.
solver_options with_level_sides(solver_options options) {
    if (options.land && options.absorbing.kind != absorbing_kind::none)
        options.land = std::make_shared<const topography>(options.land->levelled_at_sides(options.absorbing.width));
    return options;
}

} // namespace

struct solver::state {
    state(runtime::world& ranks, const array::brick_layout& cut, const solver_options& given, const ground_sampler& sampler)
        : options(with_level_sides(given)), layout(cut), team(given.threads), grid(ranks, cut, changing_fields(given), halo, &team),
          own(grid.cells()), ground(grid, options, sampler), velocities(grid, halos_of(half_step::velocity), {.team = &team}),
          stresses(grid, halos_of(half_step::stress), {.team = &team, .turns = velocities.turns()}) {
        fields.shape = shape_of(grid);
        fields.media = ground.elastic();
        fields.attenuation = ground.attenuation();
        fields.d = differences::of(given.dt_s, given.spacing_m);
        if (options.land) {
            beside_air.emplace(*options.land, fields.shape, own.low);
            fields.d.reduced = &beside_air->rows();
        } else if (given.free_surface && own.low[2] == 0) {
            fields.surface = &at_surface;
        }
        if (given.coarser_below) fields.d.bottom = &at_bottom;
        const auto view = [&](stored_field which) { return grid.origin(static_cast<int>(which)); };
        using enum stored_field;
        fields.v = {view(vx), view(vy), view(vz)};
        fields.stress = {view(xx), view(yy), view(zz), view(xy), view(xz), view(yz)};
        if (given.attenuation) fields.memory = {view(rxx), view(ryy), view(rzz), view(rxy), view(rxz), view(ryz)};
        agree(ranks, why_not_stable());
        make_layers();
        make_engine();
    }

    // The staggered scheme's limit, of fourth order in space (Levander 1988); the closure at the surface has a smaller largest
    // eigenvalue, and so have differences beside air (topography.hpp), with half the mass at the faces of the ground. Moduli and
    // buoyancies of a cell may have been rounded up by 2^-10 each.
    [[nodiscard]] std::string why_not_stable() const {
        const double limit = 6 / (7 * std::sqrt(3.0)) / (1 + 0x1p-10) * options.spacing_m / ground.fastest_m_s();
        if (options.dt_s < limit) return "";
        return fmt::format("waves: time step {} s, cells of {} m, vp up to {:.6g} m/s: vp dt / h = {:.4g}; allowed: below 0.494, "
                           "so less than {:.6g} s",
                           options.dt_s, options.spacing_m, ground.fastest_m_s(),
                           ground.fastest_m_s() * options.dt_s / options.spacing_m, limit);
    }

    void make_layers() {
        auto& settings = options.absorbing;
        if (settings.kind == absorbing_kind::none) return;
        if (settings.speed_m_s == 0) settings.speed_m_s = ground.fastest_m_s();
        if (settings.alpha_per_s == 0 && std::isfinite(ground.slowest_m_s())) {
            settings.alpha_per_s = 0.16 * ground.slowest_m_s() / options.spacing_m;
        }
        layers.emplace(settings,
                       grid_part{grid.layout().grid().high, own.low, fields.shape, options.free_surface, options.coarser_below},
                       options.dt_s, options.spacing_m);
    }

    void make_engine() {
        auto* const absorbing = layers ? &*layers : nullptr;
        std::string failure; // of a device, on one rank alone
        try {
            engine = options.make_engine
                         ? options.make_engine(fields, halo_plan_of(fields.shape, neighbours.low, neighbours.high), absorbing)
                         : make_host_engine(fields, absorbing, team);
        } catch (const user_error& error) {
            failure = error.what();
        }
        agree(grid.ranks(), failure);
        plan = plan_of(fields.shape, neighbours, engine->outer_width_x(), {options.finer_above > 0, options.coarser_below});
        if (!options.overlap) {
            plan.outer.insert(plan.outer.end(), plan.inner.begin(), plan.inner.end());
            plan.inner.clear();
        }
        choose_steps_together();
    }

    // The same number on all ranks, with blocks for it.
    void choose_steps_together() {
        const bool able = engine->in_one_passage() && options.finer_above == 0 && !options.coarser_below;
        if (able) together = options.together ? *options.together : chosen_passage(most_steps_together);
        grid.ranks().barrier();
        const std::int64_t steps = grid.ranks().communicator().minimum(together.steps);
        if (able && !options.together && steps < together.steps) together = chosen_passage(steps);
        together.steps = steps;
    }

    // Steps that share a passage cannot hide halos that travel between nodes.
    [[nodiscard]] passage chosen_passage(std::int64_t most_steps) const {
        const auto& ranks = grid.ranks();
        for (int axis = 0; axis < 3; ++axis) {
            for (const int side : {-1, 1}) {
                const int beside = layout.rank_beside(ranks.rank(), axis, side);
                if (beside >= 0 && !ranks.shares_memory_with(beside)) return {};
            }
        }
        return choose_passage(fields.shape, fields.anelastic(), neighbours,
                              base::last_level_cache_share(std::ssize(ranks.node().ranks.all()), team.size()), team.size(),
                              most_steps);
    }

    void half(half_step which, array::halo_exchange<float>& exchange) {
        sources.inject(*engine, which, step);
        take_half_step(*engine, which, plan.outer, plan.inner, [&] { exchange.begin(); }, [&] { exchange.finish(); });
    }

    // One step, or several in one passage through memory; returns how many.
    std::int64_t advance(std::int64_t most) {
        if (changed) fill_halos();
        // Passages of about as many steps each.
        const std::int64_t passages = (most + together.steps - 1) / together.steps;
        const std::int64_t steps = (most + passages - 1) / passages;
        if (steps > 1) {
            take_together(steps);
        } else if (engine->in_one_passage()) {
            in_one_passage();
        } else {
            half(half_step::velocity, velocities);
            half(half_step::stress, stresses);
        }
        step += steps;
        return steps;
    }

    void take_together(std::int64_t steps) {
        for (std::int64_t n = 0; n < steps; ++n) {
            engine->inject_later(n);
            sources.inject(*engine, half_step::velocity, step + n);
            sources.inject(*engine, half_step::stress, step + n);
        }
        engine->update_together(neighbours, {steps, together.rows, together.planes}, [&](half_step half) {
            auto& exchange = half == half_step::velocity ? velocities : stresses;
            exchange.begin();
            exchange.finish();
        });
        engine->take(half_step::stress);
    }

    // While the velocities of outer cells travel both halves of the step are taken on the inner cells.
    void in_one_passage() {
        outer_velocities();
        inner_cells_and_outer_stresses();
        exchange_stresses();
    }
    void outer_velocities() {
        sources.inject(*engine, half_step::velocity, step);
        sources.inject(*engine, half_step::stress, step);
        for (const auto& cells : plan.outer) engine->update(half_step::velocity, cells, step_engine::part::outer);
    }
    void inner_cells_and_outer_stresses() {
        velocities.begin();
        for (const auto& cells : plan.inner) engine->update_both(cells);
        velocities.finish();
        for (const auto& cells : plan.outer) engine->update(half_step::stress, cells, step_engine::part::outer);
    }
    void exchange_stresses() {
        stresses.begin();
        stresses.finish();
        engine->take(half_step::stress);
    }

    [[nodiscard]] std::vector<io::brick_dataset> datasets() const;
    // What a saved state must be of to go on here.
    [[nodiscard]] std::string what_it_is() const {
        std::string text =
            fmt::format("{} x {} x {} cells of {} m, dt = {} s, {}, {}", layout.grid().high[0], layout.grid().high[1],
                        layout.grid().high[2], options.spacing_m, options.dt_s, options.attenuation ? "anelastic" : "elastic",
                        options.land              ? fmt::format("topography {:016x}", options.land->fingerprint())
                        : options.finer_above > 0 ? std::string("finer cells above")
                        : options.free_surface    ? "free surface"
                                                  : "no free surface");
        if (options.coarser_below) text += ", coarser cells below";
        if (layers && !layers->memory().empty()) {
            text += fmt::format(", absorbing layers of {} cells on {} x {} x {} processes", options.absorbing.width,
                                layout.processes()[0], layout.processes()[1], layout.processes()[2]);
        }
        return text;
    }

    void fill_halos() {
        velocities.fill();
        stresses.fill();
        const auto& s = fields.shape;
        for (int n = 0; n < changing_fields(options); ++n) {
            engine->copy_in(static_cast<stored_field>(n), {-halo, s.nx + halo, -halo, s.ny + halo, -halo, s.nz + halo});
        }
        if (layers) engine->copy_layers_in();
        changed = false;
    }
    void bring_fields() {
        if (changed) return; // the device has what was before
        const auto& s = fields.shape;
        for (int n = 0; n < changing_fields(options); ++n) {
            engine->copy_out(static_cast<stored_field>(n), {-halo, s.nx + halo, -halo, s.ny + halo, -halo, s.nz + halo});
        }
        if (layers) engine->copy_layers_out();
    }

    using velocity_copy = std::array<std::vector<float>, 3>; // as the grid has them, ghosts included
    [[nodiscard]] velocity_copy copy_of_velocity() const {
        velocity_copy copy;
        for (std::size_t c = 0; c < 3; ++c) {
            const float* const first = grid.origin(static_cast<int>(c));
            copy[c].assign(first, first + fields.shape.plane * fields.shape.nz);
        }
        return copy;
    }
    void put_velocity(const velocity_copy& from) {
        for (std::size_t c = 0; c < 3; ++c) std::ranges::copy(from[c], grid.origin(static_cast<int>(c)));
    }
    // Of the cells of plane k, per volume of a cell; `before` is v half a step before the stress.
    [[nodiscard]] double plane_energy(std::int64_t k, const velocity_copy& before) const {
        const auto& [shape, v, stress, memory, m, attenuation, d, surface] = fields;
        const auto norm = [&](bool face) {
            const auto of = [&](const surface_closure& closure, std::int64_t plane) {
                return plane < surface_closure::planes
                           ? (face ? closure.face_norm : closure.centre_norm)[static_cast<std::size_t>(plane)]
                           : 1.0;
            };
            if (surface != nullptr && k < surface_closure::planes) return of(*surface, k);
            return d.bottom != nullptr ? of(*d.bottom, shape.nz - k - (face ? 0 : 1)) : 1.0;
        };
        const double at_face = norm(true), at_centre = norm(false);
        double centres = 0, faces = 0;
        for (std::int64_t j = 0; j < shape.ny; ++j) {
            for (std::int64_t i = 0; i < shape.nx; ++i) {
                const std::int64_t n = shape.at(i, j, k);
                const auto kinetic = [&](std::size_t c, const float* now, const compact_field& buoyancy) {
                    return buoyancy[n] > 0 ? double{before[c][static_cast<std::size_t>(n)]} * now[n] / buoyancy[n] : 0.0;
                };
                const auto shear = [&](const float* stress_at, const compact_field& mu) {
                    return mu[n] > 0 ? double{stress_at[n]} * stress_at[n] / mu[n] : 0.0;
                };
                const double p = (double{stress.xx[n]} + stress.yy[n] + stress.zz[n]) / 3;
                const double bulk = m.lambda[n] + 2.0 / 3 * m.mu[n];
                const double deviator =
                    std::pow(stress.xx[n] - p, 2) + std::pow(stress.yy[n] - p, 2) + std::pow(stress.zz[n] - p, 2);
                centres += (bulk > 0 ? p * p / bulk : 0) + (m.mu[n] > 0 ? deviator / (2 * m.mu[n]) : 0) +
                           shear(stress.xy, m.mu_xy) + kinetic(0, v.x, m.buoyancy.x) + kinetic(1, v.y, m.buoyancy.y);
                faces += shear(stress.xz, m.mu_xz) + shear(stress.yz, m.mu_yz) + kinetic(2, v.z, m.buoyancy.z);
            }
        }
        return 0.5 * (centres * at_centre + faces * at_face);
    }

    solver_options options;
    array::brick_layout layout;
    base::thread_team team;
    array::block_grid<float> grid;
    array::domain own;
    medium ground;
    array::halo_exchange<float> velocities, stresses;
    surface_closure at_surface = options.finer_above > 0 ? closure_below_finer_cells(options.finer_above) : fourth_order_closure();
    surface_closure at_bottom = fourth_order_closure();
    std::optional<rows_beside_air> beside_air;
    brick_fields fields;
    std::optional<absorbing_layers> layers;
    std::unique_ptr<step_engine> engine;
    brick_sides neighbours = sides_with_neighbours(layout, grid.ranks().rank());
    work_plan plan;
    passage together; // how steps share a passage through memory
    source_set sources;
    std::int64_t step = 0;
    std::int64_t points_cleared = 0;
    bool changed = false;
    velocity_copy before_energy;
    std::vector<std::function<void()>> after;
};

solver::solver(runtime::world& ranks, const array::brick_layout& layout, const solver_options& options,
               const ground_sampler& ground) {
    agree(ranks, what_is_not_allowed(options, layout.grid().high));
    state_ = std::make_unique<state>(ranks, layout, options, ground);
}
solver::solver(solver&&) noexcept = default;
solver::~solver() = default;

runtime::world& solver::ranks() const noexcept { return state_->grid.ranks(); }
const array::brick_layout& solver::layout() const noexcept { return state_->layout; }
const solver_options& solver::options() const noexcept { return state_->options; }
const array::domain& solver::own_cells() const noexcept { return state_->own; }
const brick_shape& solver::shape() const noexcept { return state_->fields.shape; }
std::int64_t solver::step() const noexcept { return state_->step; }

void solver::set_sources(std::span<const moment_source> moments, std::span<const force_source> forces) {
    const grid_extent whole{state_->grid.layout().grid().high, state_->options.spacing_m, state_->options.land.get(),
                            state_->fields.d.bottom};
    state_->sources = source_set(moments, forces, whole, {state_->fields.shape, state_->own}, state_->fields.media.buoyancy,
                                 state_->fields.surface, state_->options.dt_s, state_->options.source_order);
    state_->engine->clear_points();
    ++state_->points_cleared;
    state_->sources.put_into(*state_->engine);
}
void solver::set_moment_rates(const source_series& rates) { state_->sources.set_moment_rates(rates); }
void solver::set_force_series(const source_series& series) { state_->sources.set_force_series(series); }

void solver::advance(std::int64_t steps) { advance(steps, {}); }
void solver::advance(std::int64_t steps, std::span<velocity_picks* const> picks) {
    CRATON_ASSERT(picks.empty() || device() == nullptr);
    if (options().finer_above > 0 || options().coarser_below)
        throw user_error("waves: steps of one of two grids that share a plane; allowed: of both together (grid_interface)");
    for (auto* const each : picks) each->hold(steps);
    for (std::int64_t taken = 0; taken < steps;) {
        state_->engine->pick_later(picks, taken);
        taken += state_->advance(state_->after.empty() ? steps - taken : 1);
        for (auto* const each : picks) each->take(taken - 1, velocity());
        for (const auto& what : state_->after) what();
    }
}
std::int64_t solver::steps_together() const noexcept { return state_->after.empty() ? state_->together.steps : 1; }
void solver::after_each_step(std::function<void()> what) { state_->after.push_back(std::move(what)); }

void solver::begin_step() {
    if (state_->changed) state_->fill_halos();
    state_->outer_velocities();
}
void solver::go_on_with_step() { state_->inner_cells_and_outer_stresses(); }
void solver::end_step() {
    state_->exchange_stresses();
    ++state_->step;
    for (const auto& what : state_->after) what();
}
bool solver::fields_changed() const noexcept { return state_->changed; }
const brick_fields& solver::fields() const noexcept { return state_->fields; }
base::thread_team& solver::team() noexcept { return state_->team; }

void solver::bring_fields() { state_->bring_fields(); }
step_engine* solver::device() const noexcept { return state_->engine->overlaps() ? state_->engine.get() : nullptr; }
std::int64_t solver::points_cleared() const noexcept { return state_->points_cleared; }
vector_field<const float> solver::velocity() const noexcept { return state_->fields.v; }
tensor_field<const float> solver::stress() const noexcept { return state_->fields.stress; }
tensor_field<const float> solver::memory() const noexcept { return state_->fields.memory; }
elastic_media solver::media() const noexcept { return state_->fields.media; }
vector_field<float> solver::velocity_to_change() noexcept {
    state_->changed = true;
    return state_->fields.v;
}
tensor_field<float> solver::stress_to_change() noexcept {
    state_->changed = true;
    return state_->fields.stress;
}

// Leapfrog conserves 1/2 sum rho v(n - 1/2) v(n + 1/2) + 1/2 sum stress(n) e(n), each times the cell's volume; v(n + 1/2) is
// computed aside.
double solver::energy() {
    begin_energy();
    std::array<double, 1> total{end_energy()};
    ranks().barrier();
    ranks().communicator().sum_in_place(std::span<double>(total));
    return total[0];
}

void solver::begin_energy() {
    auto& s = *state_;
    if (s.changed) s.fill_halos();
    bring_fields();
    s.before_energy = s.copy_of_velocity();
    const auto& f = s.fields;
    update_velocity(f.shape, {0, f.shape.nx, 0, f.shape.ny, 0, f.shape.nz}, f.v, f.stress, f.media, f.d, f.surface);
}

double solver::end_energy() {
    auto& s = *state_;
    double sum = 0;
    for (std::int64_t k = 0; k < s.fields.shape.nz; ++k) sum += s.plane_energy(k, s.before_energy);
    s.put_velocity(s.before_energy);
    for (auto& each : s.before_energy) each = {};
    return sum * std::pow(s.options.spacing_m, 3);
}

std::vector<io::brick_dataset> solver::state::datasets() const {
    constexpr std::array names{"vx", "vy", "vz", "xx", "yy", "zz", "xy", "xz", "yz", "rxx", "ryy", "rzz", "rxy", "rxz", "ryz"};
    std::vector<io::brick_dataset> found;
    for (int n = 0; n < changing_fields(options); ++n) found.push_back({names[static_cast<std::size_t>(n)], n});
    return found;
}

void solver::save(const std::string& path, const std::string& note, const io::transfer_options& options) {
    state_->bring_fields();
    const saved_state now{state_->step, state_->what_it_is(), note};
    if (state_->layers) save_layers(state_->grid, state_->layers->memory(), now.step, path, options);
    io::save_bricks(state_->grid, state_->datasets(), now.as_text(), path, {options, false});
}

std::string solver::restore(const std::string& path, const io::transfer_options& options) {
    auto& s = *state_;
    std::string failure, text;
    try {
        text = io::read_brick_header(path);
    } catch (const user_error& error) {
        failure = error.what();
    }
    agree(ranks(), failure);
    const auto before = saved_state::of_text(text, path);
    agree(ranks(), before.why_not_for(s.what_it_is(), path));
    if (s.layers) load_layers(s.grid, s.layers->memory(), before.step, path, options);
    io::load_bricks(s.grid, s.datasets(), path, options);
    s.step = before.step;
    s.changed = true;
    return before.note;
}

double solver::peak_velocity() {
    double peak = 0;
    bring_fields();
    for (const float* each : {state_->fields.v.x, state_->fields.v.y, state_->fields.v.z}) {
        for (std::int64_t k = 0; k < state_->fields.shape.nz; ++k) {
            for (std::int64_t j = 0; j < state_->fields.shape.ny; ++j) {
                for (std::int64_t i = 0; i < state_->fields.shape.nx; ++i) {
                    const double value = std::abs(each[state_->fields.shape.at(i, j, k)]);
                    if (!(value <= peak)) peak = std::isnan(value) ? INFINITY : value;
                }
            }
        }
    }
    ranks().barrier();
    peak = ranks().communicator().maximum(peak);
    return std::isinf(peak) ? NAN : peak;
}

} // namespace craton::waves
