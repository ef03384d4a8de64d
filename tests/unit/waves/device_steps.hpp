#pragma once

#include "device_brick.hpp"

#include <layers.hpp>

#include <craton/apps/waves/step_engine.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

namespace craton::waves {

// Steps of whole bricks and of halves, with sources and receivers, for engines of any kind.

// All that may change back to the host, ghosts too.
inline void copy_all_out(step_engine& engine, test_brick& brick) {
    const auto& s = brick.shape();
    for (std::size_t n = 0; n < stored_fields; ++n) {
        if (brick.fields().first(static_cast<stored_field>(n)) != nullptr)
            engine.copy_out(static_cast<stored_field>(n), {-halo, s.nx + halo, -halo, s.ny + halo, -halo, s.nz + halo});
    }
}

// Terms of random cells, some of them the same.
inline std::vector<point_term> random_terms(const test_brick& brick, stored_field first, stored_field last, std::int64_t values,
                                            int count) {
    std::mt19937 generator(9);
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(n)); };
    std::vector<point_term> terms;
    for (int n = 0; n < count; ++n) {
        point_term term;
        term.value = below(values);
        term.which =
            static_cast<stored_field>(static_cast<int>(first) + below(static_cast<int>(last) - static_cast<int>(first) + 1));
        term.offset = brick.shape().at(below(4), below(brick.shape().ny), below(brick.shape().nz));
        term.weight = static_cast<float>(below(1000)) / 1000 - 0.5F;
        terms.push_back(term);
    }
    return terms;
}

// Rows beside sides with neighbours, then the rest.
struct shell {
    std::vector<cell_range> outer, inner;
};
inline shell shell_of(const brick_shape& s, const std::array<bool, 3>& low, const std::array<bool, 3>& high) {
    const cell_range inside{low[0] ? halo : 0,           s.nx - (high[0] ? halo : 0), low[1] ? halo : 0,
                            s.ny - (high[1] ? halo : 0), low[2] ? halo : 0,           s.nz - (high[2] ? halo : 0)};
    return {device::without({0, s.nx, 0, s.ny, 0, s.nz}, inside), {inside}};
}

// Steps of a whole grid with sources, layers, and receivers read on the way; what the receivers read.
inline std::vector<float> run_whole(step_engine& engine, const test_brick& brick, int steps, bool sources = true) {
    const auto forces = engine.add_sources(random_terms(brick, stored_field::vx, stored_field::vz, 3, 40), 3);
    const auto moments = engine.add_sources(random_terms(brick, stored_field::xx, stored_field::yz, 3, 40), 3);
    const auto last = brick.anelastic() ? stored_field::ryz : stored_field::yz;
    const auto receivers = engine.add_receivers(random_terms(brick, stored_field::vx, last, 50, 500), 50);
    const auto parts = shell_of(brick.shape(), {true, true, true}, {true, true, true});
    std::vector<float> read;
    const auto nothing = [] {};
    for (int step = 0; step < steps; ++step) {
        const std::array<float, 3> rates{0.1F, 0.2F * static_cast<float>(step), -0.1F};
        if (sources) engine.inject(forces, rates);
        take_half_step(engine, half_step::velocity, parts.outer, parts.inner, nothing, nothing);
        if (sources) engine.inject(moments, rates);
        take_half_step(engine, half_step::stress, parts.outer, parts.inner, nothing, nothing);
        if (step % 3 != 1) continue;
        std::vector<float> now(50);
        engine.gather(receivers, now);
        read.insert(read.end(), now.begin(), now.end());
    }
    return read;
}

using engine_maker = std::function<std::unique_ptr<step_engine>(const brick_fields&, const halo_plan&)>;

// Two halves of a grid, each on a device of its own, whose host arrays hand planes over.
class two_bricks {
  public:
    two_bricks(const test_brick& whole, std::size_t axis, const engine_maker& make) : axis_(axis) {
        const std::array<std::int64_t, 3> cells{whole.shape().nx, whole.shape().ny, whole.shape().nz};
        cut_ = cells[axis] / 2;
        for (std::size_t side = 0; side < 2; ++side) {
            auto own = cells;
            own[axis] = side == 0 ? cut_ : cells[axis] - cut_;
            bricks_.emplace_back(own[0], own[1], own[2], false, true);
            fill(bricks_.back(), whole, side);
            std::array<bool, 3> low{}, high{};
            (side == 0 ? high : low)[axis] = true;
            plans_[side] = halo_plan_of(bricks_.back().shape(), low, high);
            parts_[side] = shell_of(bricks_.back().shape(), low, high);
        }
        for (std::size_t side = 0; side < 2; ++side) engines_.push_back(make(fields(side), plans_[side]));
    }

    void step() {
        for (const auto half : {half_step::velocity, half_step::stress}) {
            for (std::size_t side = 0; side < 2; ++side) {
                auto& engine = *engines_[side];
                for (const auto& c : parts_[side].outer) engine.update(half, c, step_engine::part::outer);
                engine.start_giving(half);
                for (const auto& c : parts_[side].inner) engine.update(half, c, step_engine::part::inner);
                engine.finish_giving(half);
            }
            hand_over(half);
            for (const auto& engine : engines_) engine->take(half);
        }
    }

    // Into the arrays of the whole grid.
    void copy_to(test_brick& whole) {
        for (std::size_t side = 0; side < 2; ++side) {
            for (std::size_t n = 0; n < stored_fields; ++n) {
                engines_[side]->copy_out(static_cast<stored_field>(n), bricks_[side].whole());
                for_cells(bricks_[side].whole(), [&](auto i, auto j, auto k) {
                    whole.first(n)[at_whole(whole, side, i, j, k)] = bricks_[side].first(n)[bricks_[side].shape().at(i, j, k)];
                });
            }
        }
    }

  private:
    template <class What> static void for_cells(const cell_range& c, const What& what) {
        for (std::int64_t k = c.k0; k < c.k1; ++k) {
            for (std::int64_t j = c.j0; j < c.j1; ++j) {
                for (std::int64_t i = c.i0; i < c.i1; ++i) what(i, j, k);
            }
        }
    }
    [[nodiscard]] std::int64_t at_whole(const test_brick& whole, std::size_t side, std::int64_t i, std::int64_t j,
                                        std::int64_t k) const {
        std::array<std::int64_t, 3> at{i, j, k};
        if (side == 1) at[axis_] += cut_;
        return whole.shape().at(at[0], at[1], at[2]);
    }
    void fill(test_brick& brick, test_brick whole, std::size_t side) const {
        const auto& s = brick.shape();
        for (std::size_t n = 0; n < test_brick::arrays; ++n) {
            for_cells({-halo, s.nx + halo, -halo, s.ny + halo, -halo, s.nz + halo}, [&](auto i, auto j, auto k) {
                brick.first(n)[s.at(i, j, k)] = whole.first(n)[at_whole(whole, side, i, j, k)];
            });
        }
    }
    brick_fields fields(std::size_t side) {
        auto f = bricks_[side].fields();
        const int odd = side == 1 && cut_ % 2 == 1 ? 1 << axis_ : 0;
        f.attenuation.parity ^= odd;
        return f;
    }
    static void must(bool agree) {
        if (!agree) throw std::logic_error("what one brick gives is not what the other takes");
    }
    // What one side gives is what the other takes, in the same order of fields.
    void hand_over(half_step half) {
        const auto h = half == half_step::velocity ? std::size_t{0} : std::size_t{1};
        for (std::size_t side = 0; side < 2; ++side) {
            must(plans_[side].give[h].size() == plans_[1 - side].take[h].size());
            for (std::size_t n = 0; n < plans_[side].give[h].size(); ++n) {
                const auto& from = plans_[side].give[h][n];
                const auto& to = plans_[1 - side].take[h][n];
                must(from.which == to.which && from.cells.cells() == to.cells.cells());
                for_cells(from.cells, [&](auto i, auto j, auto k) {
                    const auto f = static_cast<std::size_t>(from.which);
                    bricks_[1 - side].first(f)[bricks_[1 - side].shape().at(
                        i - from.cells.i0 + to.cells.i0, j - from.cells.j0 + to.cells.j0, k - from.cells.k0 + to.cells.k0)] =
                        bricks_[side].first(f)[bricks_[side].shape().at(i, j, k)];
                });
            }
        }
    }

    std::size_t axis_;
    std::int64_t cut_ = 0;
    std::vector<test_brick> bricks_;
    std::array<halo_plan, 2> plans_;
    std::array<shell, 2> parts_;
    std::vector<std::unique_ptr<step_engine>> engines_;
};

} // namespace craton::waves
