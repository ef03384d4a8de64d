// What a device computes, on one made of loops: beside plain loops on random fields, with inner cells and halos at their own pace,
// in every order that streams allow.

#include "device_steps.hpp"
#include "emulated_device.hpp"

#include <device_engine.hpp>

#include <craton/apps/waves/kernels/reference_updates.hpp>
#include <craton/base/thread_team.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace device_tests {
namespace {

using namespace craton::waves;
using device::delivery;
using part = step_engine::part;
using engine_on_loops = device::device_engine<device::emulated_device>;

engine_on_loops make_engine(test_brick& brick, absorbing_layers* layers = nullptr, delivery order = delivery::at_once,
                            const halo_plan& halos = {}, unsigned seed = 1) {
    return {std::make_unique<device::emulated_device>(order, seed), brick.fields(), halos, layers};
}

void plain_update(test_brick& brick, half_step half, const cell_range& cells, const absorbing_layers* layers) {
    const auto f = brick.fields();
    const bool matched = layers != nullptr && layers->layers().axis[0].rows != nullptr;
    const bool sponge = layers != nullptr && layers->sponge().factor[0][0] != nullptr; // multi-axial layers are both
    if (half == half_step::velocity) {
        if (sponge) reference::damp_velocity(f.shape, cells, f.v, layers->sponge());
        if (matched) reference::correct_velocity(f.shape, cells, f.v, f.stress, f.media, f.d, f.surface, layers->layers());
        return reference::update_velocity(f.shape, cells, f.v, f.stress, f.media, f.d, f.surface);
    }
    if (sponge) reference::damp_stress(f.shape, cells, f.stress, layers->sponge());
    if (matched) reference::correct_stress(f.shape, cells, f.stress, f.v, f.media, f.d, f.surface, layers->layers());
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
    bool anelastic = true;
};
class device_layers : public testing::TestWithParam<kind_of_layers> {};
INSTANTIATE_TEST_SUITE_P(
    kinds, device_layers,
    testing::Values(kind_of_layers{absorbing_kind::pml, 0, true}, kind_of_layers{absorbing_kind::pml, 0, false},
                    kind_of_layers{absorbing_kind::pml, 0.1, true}, kind_of_layers{absorbing_kind::pml, 0.1, false},
                    kind_of_layers{absorbing_kind::pml, 0, true, false}, kind_of_layers{absorbing_kind::pml, 0.1, false, false},
                    kind_of_layers{absorbing_kind::sponge, 0, true}, kind_of_layers{absorbing_kind::sponge, 0, true, false}));

TEST_P(device_layers, equal_plain_loops_and_keep_their_memory) {
    const test_brick before(37, 14, 21, GetParam().surface, GetParam().anelastic);
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
        const float difference = std::abs(of_device.memory()[n] - of_plain.memory()[n]);
        error = std::isnan(difference) ? INFINITY : std::max(error, difference);
    }
    EXPECT_LE(error, 2e-6F * largest);

    std::ranges::fill(of_device.memory(), 0.25F);
    engine.copy_layers_in();
    std::ranges::fill(of_device.memory(), 0.0F);
    engine.copy_layers_out();
    EXPECT_TRUE(std::ranges::all_of(of_device.memory(), [](float each) { return each == 0.25F; }));
}

// The cells of six ranges, one of them a single cell, each once and by a thread of its own.
TEST(device_columns, have_each_cell_once) {
    for (const std::int64_t width : {1, 8, 9, 10, 16, 17, 33, 70}) {
        for (const std::int64_t i0 : {0, 5, 16, 190}) {
            device::column_list list;
            std::int64_t wanted = 0;
            for (std::int64_t n = 0; n < 6; ++n) {
                const cell_range cells{i0, i0 + (n == 5 ? 1 : width), 100 * n, 100 * n + (n == 5 ? 1 : 40), 0, n == 5 ? 1 : 11 + n};
                list.add(cells, 256);
                wanted += cells.cells();
            }
            std::map<std::array<std::int64_t, 3>, int> times;
            const auto shape = list.shape();
            for (std::int64_t block = 0; block < shape.blocks_x; ++block) {
                for (int thread = 0; thread < shape.threads_x; ++thread) {
                    const auto own = list.of({block, 0, 0, thread, 0});
                    if (own.i0 == own.i1) continue;
                    for (std::int64_t k = own.k0; k < own.k1; ++k) ++times[{own.i0, own.j0, k}];
                }
            }
            EXPECT_EQ(static_cast<std::int64_t>(times.size()), wanted) << width << " from " << i0;
            for (const auto& [cell, n] : times) ASSERT_EQ(n, 1) << cell[0] << ", " << cell[1] << ", " << cell[2];
        }
    }
}

// Threads without layers have two cells of a row; what is left of an odd range goes to those with layers.
TEST(device_columns, of_two_cells_have_each_cell_of_the_whole_pieces_once) {
    for (const std::int64_t i0 : {0, 1, 32, 63}) {
        for (const std::int64_t width : {0, 1, 2, 3, 64, 65, 131}) {
            const cell_range cells{i0, i0 + width, 3, 20, 1, 40};
            const cell_range pieces = device::whole_pieces(cells);
            std::map<std::array<std::int64_t, 3>, int> times;
            const auto count = [&](const cell_range& own) {
                for (std::int64_t k = own.k0; k < own.k1; ++k) {
                    for (std::int64_t i = own.i0; i < own.i1; ++i) {
                        for (std::int64_t j = own.j0; j < own.j1; ++j) ++times[{i, j, k}];
                    }
                }
            };
            if (!pieces.empty()) {
                const auto share = device::columns_of(pieces, 512, device::wide_of<false>);
                const auto shape = share.shape();
                for (std::int64_t z = 0; z < shape.blocks_z; ++z) {
                    for (std::int64_t y = 0; y < shape.blocks_y; ++y) {
                        for (std::int64_t x = 0; x < shape.blocks_x; ++x) {
                            for (int row = 0; row < shape.threads_y; ++row) {
                                for (int lane = 0; lane < shape.threads_x; ++lane) {
                                    const auto own = share.of({x, y, z, lane, row});
                                    if (own.i0 == own.i1) continue;
                                    ASSERT_EQ(own.i0 % 2, 0);
                                    count(own);
                                }
                            }
                        }
                    }
                }
            }
            for (const auto& slab : device::without(cells, pieces)) count(slab);
            EXPECT_EQ(static_cast<std::int64_t>(times.size()), cells.cells()) << width << " from " << i0;
            for (const auto& [cell, n] : times) ASSERT_EQ(n, 1) << cell[0] << ", " << cell[1] << ", " << cell[2];
        }
    }
}

TEST(device_columns, are_narrow_in_layers_across_x_alone) {
    const auto lanes_of = [](const cell_range& cells) {
        device::column_list list;
        list.add(cells, 256);
        return list.parts[0].lanes;
    };
    EXPECT_EQ(lanes_of({0, 10, 10, 190, 0, 190}), 16);
    EXPECT_EQ(lanes_of({190, 200, 10, 190, 0, 190}), 8); // in two lines of memory
    EXPECT_EQ(lanes_of({0, 200, 0, 10, 0, 190}), 32);
    EXPECT_EQ(lanes_of({0, 200, 0, 200, 190, 200}), 32);
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

TEST(device_points, are_added_to_and_read_as_on_the_host) {
    const test_brick before(35, 5, 6, false, true);
    test_brick on_device = before;
    test_brick on_host = before;
    auto engine = make_engine(on_device, nullptr, delivery::as_late);
    craton::base::thread_team team(1);
    const auto host = make_host_engine(on_host.fields(), nullptr, team);
    const auto into_velocity = random_terms(before, stored_field::vx, stored_field::vz, 7, 600);
    const auto into_stress = random_terms(before, stored_field::xx, stored_field::yz, 2, 300);
    const auto add_on_host = [&](std::span<const point_term> terms, std::span<const float> values) {
        for (const auto& term : terms)
            on_host.fields().first(term.which)[term.offset] += term.weight * values[static_cast<std::size_t>(term.value)];
    };
    for (step_engine* each : {static_cast<step_engine*>(&engine), host.get()}) {
        EXPECT_EQ(each->add_sources(into_velocity, 7), 0);
        EXPECT_EQ(each->add_sources(into_stress, 2), 1);
        EXPECT_EQ(each->add_sources({}, 0), 2);
        EXPECT_EQ(each->add_receivers(random_terms(before, stored_field::vx, stored_field::ryz, 300, 2000), 300), 0);
        for (int step = 0; step < 6; ++step) {
            std::vector<float> rates{1, 2, -3, 4, 0, 6, 0.5F * static_cast<float>(step)};
            const std::array<float, 2> moments{1, static_cast<float>(step)};
            if (each == host.get()) { // which keeps them until the cells' updates
                add_on_host(into_velocity, rates);
                add_on_host(into_stress, moments);
            } else {
                each->inject(0, rates);
                std::ranges::fill(rates, NAN); // the caller's again
                each->inject(1, moments);
            }
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
    for (const bool sources : {true, false}) { // they make streams wait for each other, too
        const auto run = [&](delivery order, unsigned seed) {
            test_brick brick = before;
            auto layers = before.layers(absorbing_kind::pml, 0);
            auto engine = make_engine(brick, &layers, order, {}, seed);
            const auto read = run_whole(engine, before, 6, sources);
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
}

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
                two_bricks halves(before, axis, [&](const brick_fields& fields, const halo_plan& halos) {
                    return std::make_unique<engine_on_loops>(std::make_unique<device::emulated_device>(order, seed), fields, halos,
                                                             nullptr);
                });
                for (int n = 0; n < steps; ++n) halves.step();
                test_brick joined = before;
                halves.copy_to(joined);
                expect_same_bits(joined, whole, "axis " + std::to_string(axis));
            }
        }
    }
}

} // namespace

} // namespace device_tests
