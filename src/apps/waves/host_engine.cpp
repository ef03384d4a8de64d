#include "work_plan.hpp"

#include <craton/apps/waves/absorbing_layers.hpp>
#include <craton/apps/waves/kernels/layered_updates.hpp>
#include <craton/apps/waves/kernels/passage.hpp>
#include <craton/apps/waves/kernels/updates.hpp>
#include <craton/apps/waves/kernels/wavefront.hpp>
#include <craton/apps/waves/step_engine.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/flush_to_zero.hpp>
#include <craton/base/thread_team.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <utility>

namespace craton::waves {

namespace {

constexpr std::int64_t rows_of_a_piece = 20; // a few planes of which, of all fields, stay in the second-level cache

struct point_set {
    std::vector<point_term> terms; // of sources: by offset, so by plane and row
    std::size_t count = 0;
    bool into_stress = false;
    // What the fields get in the next steps, cell by cell just before its update.
    std::array<std::vector<float>, most_steps_together> pending;
};

class host_engine final : public step_engine {
  public:
    host_engine(const brick_fields& fields, absorbing_layers* layers, base::thread_team& team)
        : fields_(fields), layers_(layers), team_(&team) {}

    [[nodiscard]] bool overlaps() const noexcept override { return false; }
    [[nodiscard]] std::int64_t outer_width_x() const noexcept override { return halo; }

    void update(half_step half, const cell_range& cells, part) override { update_half(half, cells, 0); }

    [[nodiscard]] bool in_one_passage() const noexcept override { return true; }
    void update_both(const cell_range& cells) override { take_front({cells, cells}, 0); }

    void inject_later(std::int64_t steps) override { later_ = static_cast<std::size_t>(steps); }
    void pick_later(std::span<velocity_picks* const> picks, std::int64_t first) override {
        picks_.assign(picks.begin(), picks.end());
        first_pick_ = first;
    }
    void update_together(const brick_sides& neighbours, const passage& blocks,
                         const std::function<void(half_step)>& exchange) override {
        const cell_range all{0, fields_.shape.nx, 0, fields_.shape.ny, 0, fields_.shape.nz};
        const bool surface = fields_.surface != nullptr;
        steps_together(all, neighbours, surface, blocks,
                       [this](std::int64_t step, const wavefront& cells) { take_front(cells, static_cast<std::size_t>(step)); });
        if (neighbours.none()) return;
        for (std::int64_t n = 0; n < 2 * blocks.steps; ++n) {
            const auto half = n % 2 == 0 ? half_step::velocity : half_step::stress;
            for (const auto& cells : shell_of(all, reached(all, neighbours, surface, n)))
                update_half(half, cells, static_cast<std::size_t>(n / 2));
            exchange(half);
        }
    }

    int add_sources(std::span<const point_term> terms, std::int64_t count) override { return add_source_set(terms, count); }
    int add_receivers(std::span<const point_term> terms, std::int64_t count) override { return add(receivers_, terms, count); }

    // With the updates of the cells: between the halves there may be no moment when all velocities are new and no stress is.
    void inject(int sources, std::span<const float> values) override {
        point_set& set = sources_.at(static_cast<std::size_t>(sources));
        CRATON_ASSERT(values.size() == set.count);
        set.pending.at(later_).assign(values.begin(), values.end());
    }
    void gather(int receivers, std::span<float> values) override {
        const point_set& set = receivers_.at(static_cast<std::size_t>(receivers));
        CRATON_ASSERT(values.size() == set.count);
        std::fill(values.begin(), values.end(), 0.0F);
        for (const auto& term : set.terms)
            values[static_cast<std::size_t>(term.value)] += term.weight * fields_.first(term.which)[term.offset];
    }
    void clear_points() override {
        sources_.clear();
        receivers_.clear();
    }

    // The fields are the host arrays.
    void start_giving(half_step) override {}
    void finish_giving(half_step) override {}
    void take(half_step half) override {
        if (half == half_step::velocity) return;
        for (auto& set : sources_) {
            for (auto& values : set.pending) values.clear();
        }
        later_ = 0;
    }
    void copy_out(stored_field, const cell_range&) override {}
    void copy_in(stored_field, const cell_range&) override {}
    void copy_layers_out() override {}
    void copy_layers_in() override {}
    void wait() override {}

  private:
    // step: of those that are taken together.
    void update_half(half_step half, const cell_range& cells, std::size_t step) {
        const auto pieces = pieces_of(cells, rows_of_a_piece, team_->size());
        team_->for_each(std::ssize(pieces), [&](std::int64_t n) {
            const auto& piece = pieces[static_cast<std::size_t>(n)];
            if (half == half_step::velocity) {
                update_velocities(piece, step);
            } else {
                update_stresses(piece, step);
            }
        });
    }

    void take_front(const wavefront& whole, std::size_t step) {
        // Two threads to a part where there are as many: they balance each other. More parts would fetch rows where they meet
        // again.
        const std::int64_t threads = team_->size();
        const std::int64_t to_a_part = threads % 2 == 0 ? 2 : 1;
        auto plan = plan_wavefronts(whole.velocity, whole.stress, threads / to_a_part);
        const auto block = wavefront_block::of(fields_.shape, fields_.anelastic());
        std::deque<wavefront_blocks> fronts;
        for (const auto& rows : plan.parts) fronts.emplace_back(rows, block.shared(rows.velocity.j1 - rows.velocity.j0, to_a_part));
        const auto velocities = [this, step](const cell_range& some) { update_velocities(some, step); };
        const auto stresses = [this, step](const cell_range& some) { update_stresses(some, step); };
        team_->for_each(to_a_part * std::ssize(fronts), [&](std::int64_t n) {
            const auto from = n % to_a_part == 0 ? wavefront_blocks::from::first_row : wavefront_blocks::from::last_row;
            fronts[static_cast<std::size_t>(n / to_a_part)].run(from, fields_.surface != nullptr, velocities, stresses);
        });
        for (const auto& front : fronts) leave_for_later(front.between(), plan.between);
        if (plan.between.empty()) return;
        team_->for_each(std::ssize(plan.between),
                        [&](std::int64_t n) { update_stresses(plan.between[static_cast<std::size_t>(n)], step); });
    }

    static int add(std::vector<point_set>& sets, std::span<const point_term> terms, std::int64_t count) {
        sets.push_back({{terms.begin(), terms.end()}, static_cast<std::size_t>(count), false, {}});
        return static_cast<int>(sets.size()) - 1;
    }

    int add_source_set(std::span<const point_term> terms, std::int64_t count) {
        const int number = add(sources_, terms, count);
        auto& set = sources_.back();
        std::ranges::stable_sort(set.terms, {}, &point_term::offset);
        set.into_stress = !terms.empty() && terms.front().which >= stored_field::xx;
        return number;
    }

    // Plane by plane, so that the update finds in the cache what the corrections have read.
    template <class What> static void by_planes(cell_range cells, const What& what) {
        for (const auto last = cells.k1; cells.k0 < last; ++cells.k0) {
            cells.k1 = cells.k0 + 1;
            what(cells);
        }
    }

    void update_velocities(const cell_range& cells, std::size_t step) {
        const base::flush_to_zero mode;
        const auto& f = fields_;
        by_planes(cells, [&](const cell_range& plane) {
            if (step > 0) {
                for (auto* const each : picks_) pick(*each, first_pick_ + static_cast<std::int64_t>(step) - 1, plane);
            }
            for (const auto& set : sources_) {
                if (!set.into_stress) inject_pending(set, step, plane);
            }
            if (matched())
                return update_velocity(f.shape, plane, f.v, f.stress, f.media, f.d, f.surface, layers_->layers(),
                                       layers_->damping());
            if (layers_ != nullptr) layers_->before_velocity(plane, f.v, f.stress, f.media, f.d, f.surface);
            update_velocity(f.shape, plane, f.v, f.stress, f.media, f.d, f.surface);
        });
    }
    void update_stresses(const cell_range& cells, std::size_t step) {
        const base::flush_to_zero mode;
        const auto& f = fields_;
        by_planes(cells, [&](const cell_range& plane) {
            for (const auto& set : sources_) {
                if (set.into_stress) inject_pending(set, step, plane);
            }
            if (!matched() && layers_ != nullptr) layers_->before_stress(plane, f.stress, f.v, f.media, f.d, f.surface);
            if (f.anelastic()) {
                update_stresses_of(plane, f.memory, f.attenuation);
            } else {
                update_stresses_of(plane);
            }
        });
    }

    [[nodiscard]] bool matched() const { return layers_ != nullptr && layers_->matched(); }
    void update_stresses_of(const cell_range& plane) {
        const auto& f = fields_;
        if (matched())
            return update_stress(f.shape, plane, f.stress, f.v, f.media, f.d, f.surface, layers_->layers(), layers_->damping());
        update_stress(f.shape, plane, f.stress, f.v, f.media, f.d, f.surface);
    }
    void update_stresses_of(const cell_range& plane, const tensor_field<float>& memory, const attenuation_media& attenuation) {
        const auto& f = fields_;
        if (matched())
            return update_stress(f.shape, plane, f.stress, memory, f.v, f.media, attenuation, f.d, f.surface, layers_->layers(),
                                 layers_->damping());
        update_stress(f.shape, plane, f.stress, memory, f.v, f.media, attenuation, f.d, f.surface);
    }

    // Velocities of the cells of one plane before they are those of the next step.
    void pick(velocity_picks& of, std::int64_t step, const cell_range& cells) const {
        const auto& shape = fields_.shape;
        const auto from = [&](auto begin, std::int64_t i, std::int64_t j) {
            return std::lower_bound(begin, of.cells.end(), shape.at(i, j, cells.k0));
        };
        auto cell = from(of.cells.begin(), cells.i0, cells.j0);
        while (cell != of.cells.end() && *cell < shape.at(cells.i1, cells.j1 - 1, cells.k0)) {
            const std::int64_t in_plane = *cell - shape.at(0, 0, cells.k0);
            const std::int64_t j = in_plane / shape.pitch;
            if (in_plane - j * shape.pitch < cells.i0) {
                cell = from(cell, cells.i0, j);
                continue;
            }
            if (in_plane - j * shape.pitch >= cells.i1) {
                cell = from(cell, cells.i0, j + 1);
                continue;
            }
            const auto n = cell - of.cells.begin();
            of.of(step, 0)[n] = fields_.v.x[*cell];
            of.of(step, 1)[n] = fields_.v.y[*cell];
            of.of(step, 2)[n] = fields_.v.z[*cell];
            ++cell;
        }
    }

    // Of the cells of one plane.
    void inject_pending(const point_set& set, std::size_t step, const cell_range& cells) {
        const auto& values = set.pending[step];
        if (values.empty()) return;
        const auto& shape = fields_.shape;
        const auto row = [&](std::int64_t j) {
            return std::ranges::lower_bound(set.terms, shape.at(0, j, cells.k0), {}, &point_term::offset);
        };
        const auto last = row(cells.j1);
        for (auto term = row(cells.j0); term != last; ++term) {
            const std::int64_t i = term->offset % shape.plane % shape.pitch;
            if (i < cells.i0 || i >= cells.i1) continue;
            fields_.first(term->which)[term->offset] += term->weight * values[static_cast<std::size_t>(term->value)];
        }
    }

    brick_fields fields_;
    absorbing_layers* layers_;
    base::thread_team* team_;
    std::vector<point_set> sources_, receivers_;
    std::vector<velocity_picks*> picks_;
    std::int64_t first_pick_ = 0;
    std::size_t later_ = 0; // the step that what is injected belongs to, of those that are taken together
};

} // namespace

std::unique_ptr<step_engine> make_host_engine(const brick_fields& fields, absorbing_layers* layers, base::thread_team& team) {
    return std::make_unique<host_engine>(fields, layers, team);
}

} // namespace craton::waves
