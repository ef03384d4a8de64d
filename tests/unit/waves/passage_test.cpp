// Several steps in one passage beside one step after the other: the same arithmetic, so the same to the last bit.

#include "stepper.hpp"

#include <craton/apps/waves/kernels/passage.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace passage_tests {
namespace {

using namespace craton::waves;

cell_range all_of(const brick_shape& shape) { return {0, shape.nx, 0, shape.ny, 0, shape.nz}; }
std::int64_t count(const cell_range& cells) {
    return cells.empty() ? 0 : (cells.i1 - cells.i0) * (cells.j1 - cells.j0) * (cells.k1 - cells.k0);
}

void take(stepper& on, const wavefront& part) {
    on.velocity(part.velocity);
    on.stress(part.stress);
}

void expect_equal_one_by_one(const brick_shape& shape, bool surface, bool lossy, std::int64_t rows, std::int64_t planes) {
    const surface_closure closure = random_closure();
    stepper one_by_one{brick(shape, 37), surface ? &closure : nullptr, lossy};
    stepper together = one_by_one;
    for (const std::int64_t steps : {1, 2, 3, 5, 8}) {
        for (std::int64_t n = 0; n < steps; ++n) take(one_by_one, {all_of(shape), all_of(shape)});
        std::int64_t velocities = 0, stresses = 0;
        steps_together(all_of(shape), {}, surface, {steps, rows, planes}, [&](std::int64_t step, const wavefront& part) {
            EXPECT_LT(step, steps);
            take(together, part);
            velocities += count(part.velocity);
            stresses += count(part.stress);
        });
        EXPECT_EQ(velocities, steps * count(all_of(shape)));
        EXPECT_EQ(stresses, steps * count(all_of(shape)));
        expect_same(together, one_by_one,
                    std::to_string(steps) + " steps, blocks of " + std::to_string(rows) + " rows x " + std::to_string(planes) +
                        " planes" + (surface ? ", surface" : ""));
    }
}

TEST(passages, equal_one_step_after_the_other) {
    for (const bool surface : {false, true}) {
        for (const bool lossy : {false, true}) {
            for (const auto& [rows, planes] : {std::array<std::int64_t, 2>{1, 1}, {3, 7}, {16, 16}, {12, 1000}, {1000, 5}})
                expect_equal_one_by_one(shape_of(51, 37, 40), surface, lossy, rows, planes);
        }
    }
}

TEST(passages, of_thin_bricks_equal_one_step_after_the_other) {
    for (const auto& [nx, ny, nz] : {std::array<std::int64_t, 3>{5, 1, 1}, {3, 2, 30}, {4, 40, 1}, {4, 17, 2}, {1, 9, 3}})
        expect_equal_one_by_one(shape_of(nx, ny, nz), false, false, 3, 4);
    expect_equal_one_by_one(shape_of(20, 9, surface_closure::width), true, true, 4, 3);
}

// A part of a brick takes its steps together, the cells round it do as neighbours would: half by half, with what its shell has.
TEST(passages, beside_neighbours_equal_one_step_after_the_other) {
    const surface_closure closure = random_closure();
    const brick_shape shape = shape_of(35, 31, 33);
    constexpr std::int64_t steps = 3;
    for (int pattern = 0; pattern < 64; ++pattern) {
        const auto beside = [&](int side) { return (pattern >> side & 1) != 0; };
        const brick_sides neighbours{{beside(0), beside(2), beside(4)}, {beside(1), beside(3), beside(5)}};
        const bool surface = !neighbours.low[2];
        const cell_range own{beside(0) ? 6 : 0, shape.nx - (beside(1) ? 7 : 0), beside(2) ? 5 : 0, shape.ny - (beside(3) ? 6 : 0),
                             beside(4) ? 4 : 0, shape.nz - (beside(5) ? 5 : 0)};
        stepper one_by_one{brick(shape, 41), surface ? &closure : nullptr, true};
        stepper together = one_by_one;
        for (std::int64_t n = 0; n < steps; ++n) take(one_by_one, {all_of(shape), all_of(shape)});
        steps_together(own, neighbours, surface, {steps, 7, 6}, [&](std::int64_t, const wavefront& part) { take(together, part); });
        for (std::int64_t half = 0; half < 2 * steps; ++half) {
            for (const auto& cells : shell_of(all_of(shape), reached(own, neighbours, surface, half)))
                half % 2 == 0 ? together.velocity(cells) : together.stress(cells);
        }
        expect_same(together, one_by_one, "neighbours " + std::to_string(pattern));
    }
}

TEST(passages, shells_are_what_is_left) {
    const cell_range all{0, 9, -2, 7, 3, 12};
    for (const cell_range inner : {cell_range{2, 5, -2, 7, 4, 12}, {0, 9, 0, 0, 3, 12}, {1, 1, 1, 1, 5, 5}, all}) {
        std::int64_t cells = count(inner);
        for (const auto& slab : shell_of(all, inner)) cells += count(slab);
        EXPECT_EQ(cells, count(all));
    }
}

TEST(passages, are_chosen_by_what_the_cache_holds) {
    constexpr std::int64_t mib = std::int64_t{1} << 20;
    const auto chosen = [](std::int64_t side, std::int64_t cache, const brick_sides& neighbours, std::int64_t threads) {
        return choose_passage(shape_of(side, side, side), false, neighbours, cache, threads);
    };
    EXPECT_EQ(chosen(64, 32 * mib, {}, 1).steps, 1) << "the brick fits";
    EXPECT_EQ(chosen(200, mib / 2, {}, 1).steps, 1) << "no block fits";
    const auto whole = chosen(200, 32 * mib, {}, 1);
    EXPECT_GE(whole.steps, 6);
    EXPECT_GE(whole.rows, 16);
    const brick_sides between{{false, false, true}, {false, false, true}};
    EXPECT_LT(chosen(200, 32 * mib, between, 1).steps, whole.steps) << "shells cost";
    EXPECT_GT(chosen(200, 32 * mib, between, 1).steps, 1);
    const brick_sides everywhere{{true, true, true}, {true, true, true}};
    EXPECT_EQ(chosen(20, mib / 4, everywhere, 1).steps, 1) << "nearly all would be shell";
    EXPECT_GT(chosen(200, 64 * mib, {}, 2).rows, whole.rows) << "two threads share a block";
}

} // namespace
} // namespace passage_tests
