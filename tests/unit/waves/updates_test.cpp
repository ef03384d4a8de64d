// The updates beside plain loops, on random fields: bricks of odd sizes, with and without a free surface, ranges that begin and end
// anywhere.

#include "random_brick.hpp"

#include <craton/apps/waves/kernels/reference_updates.hpp>
#include <craton/apps/waves/kernels/updates.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace updates_tests {
namespace {

using namespace craton::waves;

// Elements of `changed` in the range equal those of `expected` to 1e-6 of the largest, all others to the last bit.
void expect_same(const brick_shape& shape, const std::vector<field>& changed, const std::vector<field>& expected,
                 const std::vector<field>& before, const cell_range& cells, const std::string& what) {
    for (std::size_t component = 0; component < changed.size(); ++component) {
        const auto& values = changed[component].values();
        const auto& wanted = expected[component].values();
        std::vector<char> in_range(values.size(), 0);
        for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
            for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
                for (std::int64_t i = cells.i0; i < cells.i1; ++i)
                    in_range[static_cast<std::size_t>(changed[component].first_index() + shape.at(i, j, k))] = 1;
            }
        }
        float largest = 0;
        float error = 0;
        std::size_t touched_outside = 0;
        for (std::size_t n = 0; n < values.size(); ++n) {
            largest = std::max(largest, std::abs(wanted[n]));
            if (in_range[n] != 0) error = std::max(error, std::abs(values[n] - wanted[n]));
            if (in_range[n] == 0 && values[n] != before[component].values()[n]) ++touched_outside;
        }
        EXPECT_LE(error, 1e-6F * largest) << what << ", component " << component;
        EXPECT_EQ(touched_outside, 0U) << what << ", component " << component;
    }
}

enum class update { velocity, elastic_stress, anelastic_stress };

void expect_fast_as_plain(const brick_shape& shape, const cell_range& cells, update which, const surface_closure* surface,
                          const surface_closure* bottom = nullptr) {
    auto d = step;
    d.bottom = bottom;
    const brick before(shape, 11);
    brick fast = before;
    brick plain = before;
    switch (which) {
    case update::velocity:
        update_velocity(shape, cells, fast.velocities(), fast.stresses(), fast.elasticity(), d, surface);
        reference::update_velocity(shape, cells, plain.velocities(), plain.stresses(), plain.elasticity(), d, surface);
        break;
    case update::elastic_stress:
        update_stress(shape, cells, fast.stresses(), fast.velocities(), fast.elasticity(), d, surface);
        reference::update_stress(shape, cells, plain.stresses(), plain.velocities(), plain.elasticity(), d, surface);
        break;
    case update::anelastic_stress:
        update_stress(shape, cells, fast.stresses(), fast.memories(), fast.velocities(), fast.elasticity(), fast.attenuation(), d,
                      surface);
        reference::update_stress(shape, cells, plain.stresses(), plain.memories(), plain.velocities(), plain.elasticity(),
                                 plain.attenuation(), d, surface);
        break;
    }
    const cell_range none;
    const std::string what = "update " + std::to_string(static_cast<int>(which)) + (surface == nullptr ? "" : " at the surface") +
                             " of " + std::to_string(shape.nx) + " x " + std::to_string(shape.ny) + " x " +
                             std::to_string(shape.nz) + ", i " + std::to_string(cells.i0) + " to " + std::to_string(cells.i1);
    expect_same(shape, fast.v, plain.v, before.v, which == update::velocity ? cells : none, what);
    expect_same(shape, fast.stress, plain.stress, before.stress, which == update::velocity ? none : cells, what);
    expect_same(shape, fast.memory, plain.memory, before.memory, which == update::anelastic_stress ? cells : none, what);
    expect_same(shape, fast.media, plain.media, before.media, none, what);
}

class updates : public testing::TestWithParam<update> {};
INSTANTIATE_TEST_SUITE_P(kinds, updates, testing::Values(update::velocity, update::elastic_stress, update::anelastic_stress));

TEST_P(updates, equal_plain_loops_on_whole_bricks) {
    const surface_closure closure = random_closure();
    for (const auto& [nx, ny, nz] :
         {std::array<std::int64_t, 3>{1, 1, surface_closure::width - halo}, {7, 5, 6}, {16, 4, 9}, {33, 6, 7}, {50, 3, 11}}) {
        const brick_shape shape = shape_of(nx, ny, nz);
        for (const surface_closure* surface : {static_cast<const surface_closure*>(nullptr), &closure})
            expect_fast_as_plain(shape, {0, nx, 0, ny, 0, nz}, GetParam(), surface);
    }
}

TEST_P(updates, equal_plain_loops_on_parts_and_leave_the_rest) {
    const brick_shape shape = shape_of(41, 7, 8);
    const surface_closure closure = random_closure();
    for (const surface_closure* surface : {static_cast<const surface_closure*>(nullptr), &closure}) {
        for (const std::int64_t i0 : {0, 1, 3, 4, 7, 8, 15, 16, 17, 30, 32, 33, 40}) {
            for (const std::int64_t length : {1, 3, 4, 15, 16, 17, 33})
                expect_fast_as_plain(shape, {i0, std::min(i0 + length, shape.nx), 2, 4, 0, 2}, GetParam(), surface);
        }
        for (std::int64_t k = 0; k < shape.nz; ++k) expect_fast_as_plain(shape, {3, 38, 1, 3, k, k + 1}, GetParam(), surface);
    }
}

// Where a grid of coarser cells follows below, with and without a surface above.
TEST_P(updates, equal_plain_loops_at_the_bottom) {
    const surface_closure closure = random_closure();
    for (const auto& [nx, ny, nz] : {std::array<std::int64_t, 3>{33, 6, 14}, {17, 3, 21}, {50, 4, 7}}) {
        const brick_shape shape = shape_of(nx, ny, nz);
        expect_fast_as_plain(shape, {0, nx, 0, ny, 0, nz}, GetParam(), nullptr, &closure);
        if (nz > 2 * surface_closure::planes) expect_fast_as_plain(shape, {0, nx, 0, ny, 0, nz}, GetParam(), &closure, &closure);
        for (std::int64_t k = 0; k < nz; ++k) expect_fast_as_plain(shape, {3, 16, 1, 3, k, k + 1}, GetParam(), nullptr, &closure);
    }
}

TEST_P(updates, of_no_cells_do_nothing) {
    const brick_shape shape = shape_of(20, 4, 5);
    for (const cell_range& cells :
         {cell_range{}, {5, 5, 0, 4, 0, 5}, {7, 3, 0, 4, 0, 5}, {0, 20, 2, 2, 0, 5}, {0, 20, 3, 1, 0, 5}, {0, 20, 0, 4, 4, 4}})
        expect_fast_as_plain(shape, cells, GetParam(), nullptr);
}

// Neither shares this arithmetic: velocities linear in space strain the same everywhere.
TEST(updates, know_uniform_strain) {
    const brick_shape shape = shape_of(18, 5, 6);
    brick given(shape, 3);
    const auto fill = [&](field& f, float at_0, float by_i = 0, float by_j = 0, float by_k = 0) {
        for (std::int64_t k = -halo; k < shape.nz + halo; ++k) {
            for (std::int64_t j = -halo; j < shape.ny + halo; ++j) {
                for (std::int64_t i = -halo; i < shape.nx + halo; ++i)
                    f.first()[shape.at(i, j, k)] =
                        at_0 + by_i * static_cast<float>(i) + by_j * static_cast<float>(j) + by_k * static_cast<float>(k);
            }
        }
    };
    fill(given.v[0], 1, 2, 3, 4);
    fill(given.v[1], 2, 5, 6, 7);
    fill(given.v[2], 3, 8, 9, 1.5F);
    for (field& each : given.stress) fill(each, 0);
    const std::array<float, 5> moduli{1.25, 0.5, 2, 3, 4};
    for (std::size_t n = 0; n < 5; ++n) fill(given.media[3 + n], moduli[n]);
    update_stress(shape, {0, 18, 0, 5, 0, 6}, given.stresses(), given.velocities(), given.elasticity(), step, nullptr);
    const double trace = 1.25 * (2 + 6 + 1.5);
    const std::array<double, 6> expected{trace + 2 * 0.5 * 2, trace + 2 * 0.5 * 6, trace + 2 * 0.5 * 1.5,
                                         2.0 * (3 + 5),       3.0 * (4 + 8),       4.0 * (7 + 9)};
    for (std::size_t component = 0; component < 6; ++component) {
        for (const std::int64_t n : {shape.at(0, 0, 0), shape.at(17, 4, 5), shape.at(8, 2, 3)})
            EXPECT_NEAR(given.stress[component].first()[n], step.dt_over_h() * expected[component], 1e-4) << component;
    }
}

// A strain that stays: memory variables tend to W E, each with its own time, and E stays.
TEST(updates, relax_to_a_part_of_the_stress) {
    const brick_shape shape = shape_of(17, 3, 4);
    brick given(shape, 5);
    const auto fill = [&](field& f, float value) {
        std::fill_n(f.first() - (halo + halo * (shape.pitch + shape.plane)), shape.plane * (shape.nz + 2 * halo), value);
    };
    for (field& each : given.v) fill(each, 0);
    for (field& each : given.memory) fill(each, 0);
    const std::array<float, 6> stress{3, 6, 12, 1, 2, 4};
    for (std::size_t n = 0; n < 6; ++n) fill(given.stress[n], stress[n]);
    fill(given.media[8], 0.25F);
    fill(given.media[9], 0.125F);
    const int steps = 5;
    for (int n = 0; n < steps; ++n)
        update_stress(shape, {0, 17, 0, 3, 0, 4}, given.stresses(), given.memories(), given.velocities(), given.elasticity(),
                      given.attenuation(), step, nullptr);
    for (const auto& [i, j, k] : {std::array<std::int64_t, 3>{0, 0, 0}, {1, 0, 0}, {6, 1, 2}, {16, 2, 3}, {15, 1, 3}}) {
        const auto n = shape.at(i, j, k);
        const auto mechanism = static_cast<std::size_t>(given.parity ^ ((i & 1) | (j & 1) << 1 | (k & 1) << 2));
        const double reached = 1 - std::pow(given.decay[mechanism], steps);
        for (std::size_t component = 0; component < 6; ++component) {
            const double e = stress[component];
            const double limit = component < 3 ? 0.25 * 7 + 0.125 * (e - 7) : 0.125 * e;
            EXPECT_NEAR(given.memory[component].first()[n], reached * limit, 2e-6);
            EXPECT_NEAR(given.stress[component].first()[n], e - reached * limit, 4e-6);
        }
    }
}

} // namespace

} // namespace updates_tests
