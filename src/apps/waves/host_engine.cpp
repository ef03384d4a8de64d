#include "work_plan.hpp"

#include <craton/apps/waves/absorbing_layers.hpp>
#include <craton/apps/waves/kernels/updates.hpp>
#include <craton/apps/waves/step_engine.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/thread_team.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace craton::waves {

namespace {

constexpr std::int64_t rows_of_a_piece = 20; // a few planes of which, of all fields, stay in the second-level cache

struct point_set {
    std::vector<point_term> terms;
    std::size_t count = 0;
};

class host_engine final : public step_engine {
  public:
    host_engine(const brick_fields& fields, absorbing_layers* layers, base::thread_team& team)
        : fields_(fields), layers_(layers), team_(&team) {}

    [[nodiscard]] bool overlaps() const noexcept override { return false; }
    [[nodiscard]] std::int64_t outer_width_x() const noexcept override { return halo; }

    void update(half_step half, const cell_range& cells, part) override {
        const auto pieces = pieces_of(cells, rows_of_a_piece, team_->size());
        team_->for_each(std::ssize(pieces), [&](std::int64_t n) {
            // Plane by plane, so that the update finds in the cache what the corrections have read.
            auto plane = pieces[static_cast<std::size_t>(n)];
            for (const auto last = plane.k1; plane.k0 < last; ++plane.k0) {
                plane.k1 = plane.k0 + 1;
                if (half == half_step::velocity) {
                    update_velocities(plane);
                } else {
                    update_stresses(plane);
                }
            }
        });
    }

    int add_sources(std::span<const point_term> terms, std::int64_t count) override { return add(sources_, terms, count); }
    int add_receivers(std::span<const point_term> terms, std::int64_t count) override { return add(receivers_, terms, count); }

    void inject(int sources, std::span<const float> values) override {
        const point_set& set = sources_.at(static_cast<std::size_t>(sources));
        CRATON_ASSERT(values.size() == set.count);
        for (const auto& term : set.terms)
            fields_.first(term.which)[term.offset] += term.weight * values[static_cast<std::size_t>(term.value)];
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
    void take(half_step) override {}
    void copy_out(stored_field, const cell_range&) override {}
    void copy_in(stored_field, const cell_range&) override {}
    void copy_layers_out() override {}
    void copy_layers_in() override {}
    void wait() override {}

  private:
    static int add(std::vector<point_set>& sets, std::span<const point_term> terms, std::int64_t count) {
        sets.push_back({{terms.begin(), terms.end()}, static_cast<std::size_t>(count)});
        return static_cast<int>(sets.size()) - 1;
    }

    void update_velocities(const cell_range& cells) {
        const auto& f = fields_;
        if (layers_ != nullptr) layers_->before_velocity(cells, f.v, f.stress, f.media, f.d, f.surface);
        update_velocity(f.shape, cells, f.v, f.stress, f.media, f.d, f.surface);
    }
    void update_stresses(const cell_range& cells) {
        const auto& f = fields_;
        if (layers_ != nullptr) layers_->before_stress(cells, f.stress, f.v, f.media, f.d, f.surface);
        if (f.anelastic()) {
            update_stress(f.shape, cells, f.stress, f.memory, f.v, f.media, f.attenuation, f.d, f.surface);
        } else {
            update_stress(f.shape, cells, f.stress, f.v, f.media, f.d, f.surface);
        }
    }

    brick_fields fields_;
    absorbing_layers* layers_;
    base::thread_team* team_;
    std::vector<point_set> sources_, receivers_;
};

} // namespace

std::unique_ptr<step_engine> make_host_engine(const brick_fields& fields, absorbing_layers* layers, base::thread_team& team) {
    return std::make_unique<host_engine>(fields, layers, team);
}

} // namespace craton::waves
