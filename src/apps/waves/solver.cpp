#include <craton/apps/waves/solver.hpp>

#include "agree.hpp"
#include "medium.hpp"
#include "source_set.hpp"
#include "work_plan.hpp"

#include <craton/apps/waves/kernels/surface_closure.hpp>
#include <craton/apps/waves/kernels/updates.hpp>
#include <craton/array/brick_exchange.hpp>
#include <craton/array/brick_grid.hpp>
#include <craton/base/thread_team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace craton::waves {

namespace {

// Arrays of the brick grid: v, stress, and memory variables where there is attenuation.
enum array_number : int { vx, vy, vz, xx, yy, zz, xy, xz, yz, elastic_fields, memory_fields = 6 };

constexpr std::int64_t rows_per_piece = 20;

// Of D+ (faces to centres) and D- (centres to faces): what a centre reads of faces beyond the brick, and a face of centres.
constexpr array::brick_halo of_faces(int array, int axis) { return {array, axis, 1, 2}; }
constexpr array::brick_halo of_centres(int array, int axis) { return {array, axis, 2, 1}; }

std::vector<array::brick_halo> velocity_halos() {
    std::vector<array::brick_halo> wanted;
    for (int c = 0; c < 3; ++c) {
        for (int axis = 0; axis < 3; ++axis) wanted.push_back(axis == c ? of_faces(vx + c, axis) : of_centres(vx + c, axis));
    }
    return wanted;
}

std::vector<array::brick_halo> stress_halos() {
    return {of_centres(xx, 0), of_faces(xy, 0), of_faces(xz, 0), of_faces(xy, 1),  of_centres(yy, 1),
            of_faces(yz, 1),   of_faces(xz, 2), of_faces(yz, 2), of_centres(zz, 2)};
}

neighbour_sides sides_with_neighbours(const array::brick_layout& layout, int rank) {
    neighbour_sides found;
    for (int axis = 0; axis < 3; ++axis) {
        found.low[static_cast<std::size_t>(axis)] = layout.beside(rank, axis, -1) >= 0;
        found.high[static_cast<std::size_t>(axis)] = layout.beside(rank, axis, 1) >= 0;
    }
    return found;
}

brick_shape shape_of(const array::brick_grid<float>& grid) {
    const auto e = grid.extents();
    return {e.nx, e.ny, e.nz, e.pitch, e.plane};
}

const char* not_allowed(const solver_options& options) {
    if (!(options.spacing_m > 0) || !std::isfinite(options.spacing_m)) return "spacing: allowed: more than 0 m";
    if (!(options.dt_s > 0) || !std::isfinite(options.dt_s)) return "time step: allowed: more than 0 s";
    return nullptr;
}

} // namespace

struct solver::state {
    state(runtime::world& ranks, const array::brick_layout& layout, const solver_options& given, const ground_sampler& sampler)
        : options(given), team(given.threads), fields(elastic_fields + (given.attenuation ? memory_fields : 0)),
          grid(ranks, layout, fields + medium::arrays(given), halo, &team), own(grid.cells()), shape(shape_of(grid)),
          top(given.free_surface && own.low[2] == 0), ground(grid, fields, options, sampler),
          pieces(cut(shape, sides_with_neighbours(layout, ranks.rank()), rows_per_piece, given.threads)),
          velocities(grid, velocity_halos(), &team), stresses(grid, stress_halos(), &team, velocities.rounds()),
          d(differences::of(given.dt_s, given.spacing_m)) {
        if (!options.overlap) {
            pieces.outer.insert(pieces.outer.end(), pieces.inner.begin(), pieces.inner.end());
            pieces.inner.clear();
        }
        if (options.absorbing.kind != absorbing_kind::none) {
            if (options.absorbing.speed_m_s == 0) options.absorbing.speed_m_s = ground.fastest_m_s();
            const auto cells = layout.grid().high;
            layers.emplace(options.absorbing, grid_part{cells, own.low, shape, options.free_surface}, options.dt_s,
                           options.spacing_m);
        }
        v = {grid.view(vx), grid.view(vy), grid.view(vz)};
        stress = {grid.view(xx), grid.view(yy), grid.view(zz), grid.view(xy), grid.view(xz), grid.view(yz)};
        if (options.attenuation) {
            const auto of = [&](int n) { return grid.view(elastic_fields + n); };
            memory = {of(0), of(1), of(2), of(3), of(4), of(5)};
        }
    }

    void for_each(const std::vector<cell_range>& of, const std::function<void(const cell_range&)>& what) {
        team.for_each(std::ssize(of), [&](std::int64_t n) {
            // Plane by plane, so that the corrections find in the cache what the update needs.
            auto plane = of[static_cast<std::size_t>(n)];
            for (const auto last = plane.k1; plane.k0 < last; ++plane.k0) {
                plane.k1 = plane.k0 + 1;
                what(plane);
            }
        });
    }

    void pass(array::brick_exchange<float>& exchange, const std::function<void(const cell_range&)>& what) {
        for_each(pieces.outer, what);
        exchange.begin();
        for_each(pieces.inner, what);
        exchange.finish();
    }

    void update_velocity_of(const cell_range& cells) {
        if (layers) layers->before_velocity(cells, v, stress, ground.elastic(), d, closure());
        update_velocity(shape, cells, v, stress, ground.elastic(), d, closure());
    }
    void update_stress_of(const cell_range& cells) {
        if (layers) layers->before_stress(cells, stress, v, ground.elastic(), d, closure());
        if (options.attenuation) {
            update_stress(shape, cells, stress, memory, v, ground.elastic(), ground.attenuation(), d, closure());
        } else {
            update_stress(shape, cells, stress, v, ground.elastic(), d, closure());
        }
    }

    void advance() {
        if (changed) fill_halos();
        sources.add_forces(step, v);
        pass(velocities, [this](const cell_range& cells) { update_velocity_of(cells); });
        sources.add_moments(step, stress);
        pass(stresses, [this](const cell_range& cells) { update_stress_of(cells); });
        ++step;
    }

    void fill_halos() {
        velocities.fill();
        stresses.fill();
        changed = false;
    }

    using velocity_copy = std::array<std::vector<float>, 3>; // as the grid has them, ghosts included
    [[nodiscard]] velocity_copy copy_of_velocity() const {
        velocity_copy copy;
        for (std::size_t c = 0; c < 3; ++c) {
            const float* const first = grid.view(vx + static_cast<int>(c));
            copy[c].assign(first, first + shape.plane * shape.nz);
        }
        return copy;
    }
    void put_velocity(const velocity_copy& from) {
        for (std::size_t c = 0; c < 3; ++c) std::ranges::copy(from[c], grid.view(vx + static_cast<int>(c)));
    }
    [[nodiscard]] std::vector<cell_range> whole_brick() const { return {{0, shape.nx, 0, shape.ny, 0, shape.nz}}; }

    // Of the cells of plane k, per volume of a cell; `before` is v half a step before the stress.
    [[nodiscard]] double plane_energy(std::int64_t k, const velocity_copy& before) const {
        const auto& m = ground.elastic();
        const bool near = top && k < surface_closure::planes;
        const double at_face = near ? at_surface.face_norm[static_cast<std::size_t>(k)] : 1;
        const double at_centre = near ? at_surface.centre_norm[static_cast<std::size_t>(k)] : 1;
        double centres = 0, faces = 0;
        for (std::int64_t j = 0; j < shape.ny; ++j) {
            for (std::int64_t i = 0; i < shape.nx; ++i) {
                const std::int64_t n = shape.at(i, j, k);
                const auto kinetic = [&](std::size_t c, const float* now, const float* buoyancy) {
                    return double{before[c][static_cast<std::size_t>(n)]} * now[n] / buoyancy[n];
                };
                const auto shear = [&](const float* stress_at, const float* mu) {
                    return mu[n] > 0 ? double{stress_at[n]} * stress_at[n] / mu[n] : 0.0;
                };
                const double p = (double{stress.xx[n]} + stress.yy[n] + stress.zz[n]) / 3;
                const double bulk = m.lambda[n] + 2.0 / 3 * m.mu[n];
                const double deviator =
                    std::pow(stress.xx[n] - p, 2) + std::pow(stress.yy[n] - p, 2) + std::pow(stress.zz[n] - p, 2);
                centres += p * p / bulk + (m.mu[n] > 0 ? deviator / (2 * m.mu[n]) : 0) + shear(stress.xy, m.mu_xy) +
                           kinetic(0, v.x, m.buoyancy.x) + kinetic(1, v.y, m.buoyancy.y);
                faces += shear(stress.xz, m.mu_xz) + shear(stress.yz, m.mu_yz) + kinetic(2, v.z, m.buoyancy.z);
            }
        }
        return 0.5 * (centres * at_centre + faces * at_face);
    }

    [[nodiscard]] const surface_closure* closure() const { return top ? &at_surface : nullptr; }

    solver_options options;
    base::thread_team team;
    int fields; // arrays that change
    array::brick_grid<float> grid;
    array::domain own;
    brick_shape shape;
    bool top; // this brick has the free surface
    medium ground;
    work_plan pieces;
    array::brick_exchange<float> velocities, stresses;
    std::optional<absorbing_layers> layers;
    differences d;
    surface_closure at_surface = fourth_order_closure();
    vector_field<float> v;
    tensor_field<float> stress, memory;
    source_set sources;
    std::int64_t step = 0;
    bool changed = false;
    std::vector<std::function<void()>> after;
};

solver::solver(runtime::world& ranks, const array::brick_layout& layout, const solver_options& options,
               const ground_sampler& ground) {
    const char* const wrong = not_allowed(options);
    agree(ranks,
          wrong == nullptr ? "" : fmt::format("waves: spacing {} m, time step {} s: {}", options.spacing_m, options.dt_s, wrong));
    state_ = std::make_unique<state>(ranks, layout, options, ground);
}
solver::solver(solver&&) noexcept = default;
solver::~solver() = default;

runtime::world& solver::ranks() const noexcept { return state_->grid.ranks(); }
const array::brick_layout& solver::layout() const noexcept { return state_->grid.layout(); }
const solver_options& solver::options() const noexcept { return state_->options; }
const array::domain& solver::own_cells() const noexcept { return state_->own; }
const brick_shape& solver::shape() const noexcept { return state_->shape; }
std::int64_t solver::step() const noexcept { return state_->step; }

void solver::set_sources(std::span<const moment_source> moments, std::span<const force_source> forces) {
    const grid_extent whole{state_->grid.layout().grid().high, state_->options.spacing_m};
    state_->sources = source_set(moments, forces, whole, {state_->shape, state_->own}, state_->ground.elastic().buoyancy,
                                 state_->closure(), state_->options.dt_s, state_->options.source_order);
}
void solver::set_moment_rates(const source_series& rates) { state_->sources.set_moment_rates(rates); }
void solver::set_force_series(const source_series& series) { state_->sources.set_force_series(series); }

void solver::advance(std::int64_t steps) {
    for (std::int64_t n = 0; n < steps; ++n) {
        state_->advance();
        for (const auto& what : state_->after) what();
    }
}
void solver::after_each_step(std::function<void()> what) { state_->after.push_back(std::move(what)); }

vector_field<const float> solver::velocity() const noexcept { return state_->v; }
tensor_field<const float> solver::stress() const noexcept { return state_->stress; }
tensor_field<const float> solver::memory() const noexcept { return state_->memory; }
elastic_media solver::media() const noexcept { return state_->ground.elastic(); }
vector_field<float> solver::velocity_to_change() noexcept {
    state_->changed = true;
    return state_->v;
}
tensor_field<float> solver::stress_to_change() noexcept {
    state_->changed = true;
    return state_->stress;
}

// Leapfrog conserves 1/2 sum rho v(n - 1/2) v(n + 1/2) + 1/2 sum stress(n) e(n), each times the cell's volume; v(n + 1/2) is computed aside.
double solver::energy() {
    auto& s = *state_;
    const auto old = s.copy_of_velocity();
    s.for_each(s.whole_brick(), [&](const cell_range& cells) {
        update_velocity(s.shape, cells, s.v, s.stress, s.ground.elastic(), s.d, s.closure());
    });
    double sum = 0;
    for (std::int64_t k = 0; k < s.shape.nz; ++k) sum += s.plane_energy(k, old);
    s.put_velocity(old);
    ranks().barrier();
    std::array<double, 1> total{sum * std::pow(s.options.spacing_m, 3)};
    ranks().communicator().sum_in_place(std::span<double>(total));
    return total[0];
}

double solver::peak_velocity() {
    double peak = 0;
    for (const float* each : {state_->v.x, state_->v.y, state_->v.z}) {
        for (std::int64_t k = 0; k < state_->shape.nz; ++k) {
            for (std::int64_t j = 0; j < state_->shape.ny; ++j) {
                for (std::int64_t i = 0; i < state_->shape.nx; ++i) {
                    const double value = std::abs(each[state_->shape.at(i, j, k)]);
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
