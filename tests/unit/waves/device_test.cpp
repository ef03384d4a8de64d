// What a device computes, on one made of loops: beside plain loops on random fields, with inner cells and halos at their own pace, in every order that streams allow.

#include "device_brick.hpp"
#include "emulated_device.hpp"

#include <device_engine.hpp>

#include <craton/apps/waves/kernels/reference_updates.hpp>
#include <craton/base/thread_team.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>

namespace {

using namespace craton::waves;
using device::delivery;
using part = step_engine::part;
using engine_on_loops = device::device_engine<device::emulated_device>;

engine_on_loops make_engine(test_brick& brick, absorbing_layers* layers = nullptr, delivery order = delivery::at_once,
                            const halo_plan& halos = {}, unsigned seed = 1) {
    return {std::make_unique<device::emulated_device>(order, seed), brick.fields(), halos, layers};
}

// All that may change back to the host, ghosts too.
void copy_all_out(step_engine& engine, test_brick& brick) {
    const auto& s = brick.shape();
    for (std::size_t n = 0; n < stored_fields; ++n) {
        if (brick.fields().first(static_cast<stored_field>(n)) != nullptr)
            engine.copy_out(static_cast<stored_field>(n), {-halo, s.nx + halo, -halo, s.ny + halo, -halo, s.nz + halo});
    }
}

void plain_update(test_brick& brick, half_step half, const cell_range& cells, const absorbing_layers* layers) {
    const auto f = brick.fields();
    const bool matched = layers != nullptr && layers->layers().axis[0].rows != nullptr;
    const bool sponge = layers != nullptr && !matched;
    if (half == half_step::velocity) {
        if (matched) reference::correct_velocity(f.shape, cells, f.v, f.stress, f.media, f.d, f.surface, layers->layers());
        if (sponge) reference::damp_velocity(f.shape, cells, f.v, layers->sponge());
        return reference::update_velocity(f.shape, cells, f.v, f.stress, f.media, f.d, f.surface);
    }
    if (matched) reference::correct_stress(f.shape, cells, f.stress, f.v, f.media, f.d, f.surface, layers->layers());
    if (sponge) reference::damp_stress(f.shape, cells, f.stress, layers->sponge());
    if (f.anelastic())
        return reference::update_stress(f.shape, cells, f.stress, f.memory, f.v, f.media, f.attenuation, f.d, f.surface);
    reference::update_stress(f.shape, cells, f.stress, f.v, f.media, f.d, f.surface);
}

// To `most` of the largest element of each array.
void expect_near(const test_brick& found, const test_brick& wanted, float most, const std::string& what) {
    for (std::size_t n = 0; n < test_brick::arrays; ++n) {
        float largest = 0, error = 0;
        for (std::size_t at = 0; at < found.values(n).size(); ++at) {
            const float difference = std::abs(found.values(n)[at] - wanted.values(n)[at]);
            error = std::isnan(difference) ? INFINITY : std::max(error, difference);
            largest = std::max(largest, std::abs(wanted.values(n)[at]));
        }
        EXPECT_LE(error, most * largest) << what << ", array " << n;
    }
}

void expect_same_bits(const test_brick& found, const test_brick& wanted, const std::string& what) {
    for (std::size_t n = 0; n < test_brick::arrays; ++n)
        EXPECT_TRUE(found.values(n) == wanted.values(n)) << what << ", array " << n;
}

void expect_untouched_outside(const test_brick& changed, const test_brick& before, const cell_range& cells,
                              const std::string& what) {
    test_brick found = changed;
    test_brick wanted = before;
    for (std::size_t n = 0; n < stored_fields; ++n) {
        for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
            for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
                for (std::int64_t i = cells.i0; i < cells.i1; ++i)
                    found.first(n)[found.shape().at(i, j, k)] = wanted.first(n)[wanted.shape().at(i, j, k)];
            }
        }
    }
    expect_same_bits(found, wanted, what + ", outside");
}

struct kind_of_brick {
    bool surface, anelastic;
};
class device_updates : public testing::TestWithParam<kind_of_brick> {};
INSTANTIATE_TEST_SUITE_P(kinds, device_updates,
                         testing::Values(kind_of_brick{false, false}, kind_of_brick{true, false}, kind_of_brick{false, true},
                                         kind_of_brick{true, true}));

void expect_as_plain(const test_brick& before, const cell_range& cells, half_step half) {
    test_brick on_device = before;
    test_brick plain = before;
    auto engine = make_engine(on_device);
    engine.update(half, cells, part::inner);
    copy_all_out(engine, on_device);
    plain_update(plain, half, cells, nullptr);
    const auto what = std::string(half == half_step::velocity ? "velocity" : "stress") + " of " +
                      std::to_string(before.shape().nx) + " cells, i " + std::to_string(cells.i0) + " to " +
                      std::to_string(cells.i1) + ", k " + std::to_string(cells.k0);
    expect_near(on_device, plain, 1e-6F, what);
    expect_untouched_outside(on_device, before, cells, what);
}

TEST_P(device_updates, equal_plain_loops_on_bricks_of_any_size) {
    for (const auto& [nx, ny, nz] : {std::array<std::int64_t, 3>{1, 1, 5}, {33, 9, 6}, {7, 8, 41}, {70, 3, 17}}) {
        const test_brick before(nx, ny, nz, GetParam().surface, GetParam().anelastic);
        for (const auto half : {half_step::velocity, half_step::stress}) expect_as_plain(before, before.whole(), half);
    }
}

TEST_P(device_updates, equal_plain_loops_on_parts_and_leave_the_rest) {
    const test_brick before(67, 11, 39, GetParam().surface, GetParam().anelastic);
    for (const auto& cells : {cell_range{31, 33, 0, 11, 0, 39},
                              {0, 2, 3, 4, 0, 3},
                              {5, 66, 2, 9, 1, 38},
                              {64, 67, 10, 11, 17, 18},
                              {32, 64, 0, 8, 3, 35},
                              {4, 4, 0, 11, 0, 39},
                              {40, 41, 5, 6, 38, 39}}) {
        for (const auto half : {half_step::velocity, half_step::stress}) expect_as_plain(before, cells, half);
    }
}

struct kind_of_layers {
    absorbing_kind kind;
    double multiaxial_ratio;
    bool surface;
};
class device_layers : public testing::TestWithParam<kind_of_layers> {};
INSTANTIATE_TEST_SUITE_P(kinds, device_layers,
                         testing::Values(kind_of_layers{absorbing_kind::pml, 0, true},
                                         kind_of_layers{absorbing_kind::pml, 0, false},
                                         kind_of_layers{absorbing_kind::pml, 0.1, true},
                                         kind_of_layers{absorbing_kind::pml, 0.1, false},
                                         kind_of_layers{absorbing_kind::sponge, 0, true}));

TEST_P(device_layers, equal_plain_loops_and_keep_their_memory) {
    const test_brick before(37, 14, 21, GetParam().surface, true);
    test_brick on_device = before;
    test_brick plain = before;
    auto of_device = before.layers(GetParam().kind, GetParam().multiaxial_ratio);
    auto of_plain = before.layers(GetParam().kind, GetParam().multiaxial_ratio);
    std::mt19937 generator(3);
    for (float& each : of_device.memory()) each = std::uniform_real_distribution<float>(-0.5F, 0.5F)(generator);
    std::ranges::copy(of_device.memory(), of_plain.memory().begin());
    auto engine = make_engine(on_device, &of_device);
    // Parts that cut through layers.
    const std::array<cell_range, 4> parts{
        cell_range{0, 2, 0, 14, 0, 21}, {2, 37, 0, 7, 0, 21}, {2, 37, 7, 14, 0, 19}, {2, 37, 7, 14, 19, 21}};
    for (const auto half : {half_step::velocity, half_step::stress}) {
        for (const auto& cells : parts) engine.update(half, cells, part::outer);
        plain_update(plain, half, before.whole(), &of_plain);
    }
    copy_all_out(engine, on_device);
    engine.copy_layers_out();
    expect_near(on_device, plain, 2e-6F, "two half steps"); // each to 1e-6
    float largest = 0, error = 0;
    for (std::size_t n = 0; n < of_plain.memory().size(); ++n) {
        largest = std::max(largest, std::abs(of_plain.memory()[n]));
        error = std::max(error, std::abs(of_device.memory()[n] - of_plain.memory()[n]));
    }
    EXPECT_LE(error, 2e-6F * largest);

    std::ranges::fill(of_device.memory(), 0.25F);
    engine.copy_layers_in();
    std::ranges::fill(of_device.memory(), 0.0F);
    engine.copy_layers_out();
    EXPECT_TRUE(std::ranges::all_of(of_device.memory(), [](float each) { return each == 0.25F; }));
}

TEST(device_layers, leave_alone_what_no_layer_touches) {
    const test_brick brick(37, 14, 21, true, false);
    const auto matched = brick.layers(absorbing_kind::pml, 0);
    EXPECT_EQ(device::untouched(brick.shape(), matched.layers()), (cell_range{3, 34, 3, 11, 0, 18}));
    const auto multiaxial = brick.layers(absorbing_kind::pml, 0.1);
    EXPECT_EQ(device::untouched(brick.shape(), multiaxial.layers()), (cell_range{3, 34, 3, 11, 0, 18}));
    const auto sponge = brick.layers(absorbing_kind::sponge, 0);
    EXPECT_EQ(device::untouched(brick.shape(), sponge.sponge()), (cell_range{3, 34, 3, 11, 0, 18}));
}

TEST(device_layers, slabs_are_what_is_left_each_cell_once) {
    const cell_range cells{1, 9, 0, 7, 2, 8};
    for (const auto& inside :
         {cell_range{3, 5, 2, 4, 3, 7}, {0, 20, 0, 20, 0, 20}, {9, 12, 0, 7, 2, 8}, {0, 5, 0, 7, 0, 4}, {4, 4, 0, 7, 2, 8}}) {
        std::vector<int> times(10 * 10 * 10);
        for (const auto& slab : device::without(cells, inside)) {
            for (std::int64_t k = slab.k0; k < slab.k1; ++k) {
                for (std::int64_t j = slab.j0; j < slab.j1; ++j) {
                    for (std::int64_t i = slab.i0; i < slab.i1; ++i) ++times[static_cast<std::size_t>(i + 10 * j + 100 * k)];
                }
            }
        }
        for (std::int64_t n = 0; n < 1000; ++n) {
            const std::int64_t i = n % 10, j = n / 10 % 10, k = n / 100;
            const auto in = [&](const cell_range& c) {
                return i >= c.i0 && i < c.i1 && j >= c.j0 && j < c.j1 && k >= c.k0 && k < c.k1;
            };
            EXPECT_EQ(times[static_cast<std::size_t>(n)], in(cells) && !in(inside) ? 1 : 0);
        }
    }
}

// Terms of random cells, some of them the same.
std::vector<point_term> random_terms(const test_brick& brick, stored_field first, stored_field last, std::int64_t values,
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

TEST(device_points, are_added_to_and_read_as_on_the_host) {
    const test_brick before(35, 5, 6, false, true);
    test_brick on_device = before;
    test_brick on_host = before;
    auto engine = make_engine(on_device, nullptr, delivery::as_late);
    craton::base::thread_team team(1);
    const auto host = make_host_engine(on_host.fields(), nullptr, team);
    for (step_engine* each : {static_cast<step_engine*>(&engine), host.get()}) {
        EXPECT_EQ(each->add_sources(random_terms(before, stored_field::vx, stored_field::vz, 7, 600), 7), 0);
        EXPECT_EQ(each->add_sources(random_terms(before, stored_field::xx, stored_field::yz, 2, 300), 2), 1);
        EXPECT_EQ(each->add_sources({}, 0), 2);
        EXPECT_EQ(each->add_receivers(random_terms(before, stored_field::vx, stored_field::ryz, 300, 2000), 300), 0);
        for (int step = 0; step < 6; ++step) {
            std::vector<float> rates{1, 2, -3, 4, 0, 6, 0.5F * static_cast<float>(step)};
            each->inject(0, rates);
            std::ranges::fill(rates, NAN); // the caller's again
            const std::array<float, 2> moments{1, static_cast<float>(step)};
            each->inject(1, moments);
            each->inject(2, {});
        }
    }
    std::vector<float> found(300), wanted(300);
    engine.gather(0, found);
    host->gather(0, wanted);
    for (std::size_t n = 0; n < found.size(); ++n) EXPECT_NEAR(found[n], wanted[n], 1e-4) << n;
    copy_all_out(engine, on_device);
    expect_near(on_device, on_host, 1e-6F, "sources");
    engine.clear_points();
    EXPECT_EQ(engine.add_receivers(random_terms(before, stored_field::vx, stored_field::vx, 1, 3), 1), 0);
}

// Rows beside sides with neighbours, then the rest.
struct shell {
    std::vector<cell_range> outer, inner;
};
shell shell_of(const brick_shape& s, const std::array<bool, 3>& low, const std::array<bool, 3>& high) {
    const cell_range inside{low[0] ? halo : 0,           s.nx - (high[0] ? halo : 0), low[1] ? halo : 0,
                            s.ny - (high[1] ? halo : 0), low[2] ? halo : 0,           s.nz - (high[2] ? halo : 0)};
    return {device::without({0, s.nx, 0, s.ny, 0, s.nz}, inside), {inside}};
}

// Steps of a whole grid with sources, layers, and receivers read on the way; what the receivers read.
std::vector<float> run_whole(step_engine& engine, const test_brick& brick, int steps) {
    const auto forces = engine.add_sources(random_terms(brick, stored_field::vx, stored_field::vz, 3, 40), 3);
    const auto moments = engine.add_sources(random_terms(brick, stored_field::xx, stored_field::yz, 3, 40), 3);
    const auto receivers = engine.add_receivers(random_terms(brick, stored_field::vx, stored_field::ryz, 50, 500), 50);
    const auto parts = shell_of(brick.shape(), {true, true, true}, {true, true, true});
    std::vector<float> read;
    const auto nothing = [] {};
    for (int step = 0; step < steps; ++step) {
        const std::array<float, 3> rates{0.1F, 0.2F * static_cast<float>(step), -0.1F};
        engine.inject(forces, rates);
        take_half_step(engine, half_step::velocity, parts.outer, parts.inner, nothing, nothing);
        engine.inject(moments, rates);
        take_half_step(engine, half_step::stress, parts.outer, parts.inner, nothing, nothing);
        if (step % 3 != 1) continue;
        std::vector<float> now(50);
        engine.gather(receivers, now);
        read.insert(read.end(), now.begin(), now.end());
    }
    return read;
}

TEST(device_steps, equal_those_of_the_host) {
    for (const auto kind : {absorbing_kind::pml, absorbing_kind::sponge}) {
        const test_brick before(40, 17, 23, true, true);
        test_brick on_device = before;
        test_brick on_host = before;
        auto of_device = before.layers(kind, 0);
        auto of_host = before.layers(kind, 0);
        auto engine = make_engine(on_device, &of_device, delivery::as_late);
        craton::base::thread_team team(2);
        const auto host = make_host_engine(on_host.fields(), &of_host, team);
        const auto read = run_whole(engine, before, 8);
        const auto wanted = run_whole(*host, before, 8);
        copy_all_out(engine, on_device);
        expect_near(on_device, on_host, 1e-5F, "eight steps"); // rounding of sixteen half steps
        for (std::size_t n = 0; n < read.size(); ++n) EXPECT_NEAR(read[n], wanted[n], 2e-5) << n;
    }
}

TEST(device_steps, have_the_same_bits_in_every_order_of_streams) {
    const test_brick before(40, 17, 23, true, true);
    const auto run = [&](delivery order, unsigned seed) {
        test_brick brick = before;
        auto layers = before.layers(absorbing_kind::pml, 0);
        auto engine = make_engine(brick, &layers, order, {}, seed);
        const auto read = run_whole(engine, before, 5);
        copy_all_out(engine, brick);
        return std::pair{brick, read};
    };
    const auto wanted = run(delivery::at_once, 1);
    const auto expect_same = [&](delivery order, unsigned seed) {
        const auto found = run(order, seed);
        expect_same_bits(found.first, wanted.first, "seed " + std::to_string(seed));
        EXPECT_EQ(found.second, wanted.second) << seed;
    };
    expect_same(delivery::as_late, 1);
    for (unsigned seed = 1; seed <= 6; ++seed) expect_same(delivery::at_random, seed);
}

// Two halves of a grid, each on a device of its own, whose host arrays hand planes over.
class two_bricks {
  public:
    two_bricks(const test_brick& whole, std::size_t axis, delivery order, unsigned seed) : axis_(axis) {
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
        for (std::size_t side = 0; side < 2; ++side)
            engines_.push_back(std::make_unique<engine_on_loops>(std::make_unique<device::emulated_device>(order, seed),
                                                                 fields(side), plans_[side], nullptr));
    }

    void step() {
        for (const auto half : {half_step::velocity, half_step::stress}) {
            for (std::size_t side = 0; side < 2; ++side) {
                auto& engine = *engines_[side];
                for (const auto& c : parts_[side].outer) engine.update(half, c, part::outer);
                engine.start_giving(half);
                for (const auto& c : parts_[side].inner) engine.update(half, c, part::inner);
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
    // What one side gives is what the other takes, in the same order of fields.
    void hand_over(half_step half) {
        const auto h = half == half_step::velocity ? std::size_t{0} : std::size_t{1};
        for (std::size_t side = 0; side < 2; ++side) {
            ASSERT_EQ(plans_[side].give[h].size(), plans_[1 - side].take[h].size());
            for (std::size_t n = 0; n < plans_[side].give[h].size(); ++n) {
                const auto& from = plans_[side].give[h][n];
                const auto& to = plans_[1 - side].take[h][n];
                ASSERT_TRUE(from.which == to.which && from.cells.cells() == to.cells.cells());
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
    std::vector<std::unique_ptr<engine_on_loops>> engines_;
};

TEST(device_halos, make_two_bricks_one) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const test_brick before(26, 14, 18, false, true);
        test_brick whole = before;
        auto engine = make_engine(whole);
        const int steps = 4;
        for (int n = 0; n < steps; ++n) {
            engine.update(half_step::velocity, whole.whole(), part::inner);
            engine.update(half_step::stress, whole.whole(), part::inner);
        }
        copy_all_out(engine, whole);
        for (const auto order : {delivery::at_once, delivery::as_late, delivery::at_random}) {
            for (unsigned seed = 1; seed <= (order == delivery::at_random ? 4U : 1U); ++seed) {
                two_bricks halves(before, axis, order, seed);
                for (int n = 0; n < steps; ++n) halves.step();
                test_brick joined = before;
                halves.copy_to(joined);
                expect_same_bits(joined, whole, "axis " + std::to_string(axis));
            }
        }
    }
}

} // namespace
