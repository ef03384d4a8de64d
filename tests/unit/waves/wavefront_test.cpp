// Steps by wavefronts beside all velocities and then all stresses: the same arithmetic, so the same to the last bit.

#include "stepper.hpp"

#include <craton/apps/waves/kernels/wavefront.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace wavefront_tests {
namespace {

using namespace craton::waves;

// alone: calls after which a second thread, if not negative, begins at a front's last row and goes as far as it can.
void carry_out(stepper& on, wavefront_plan plan, const wavefront_block& block, bool backwards, int alone = -1) {
    using from = wavefront_blocks::from;
    const bool surface = on.surface != nullptr;
    if (backwards) std::reverse(plan.parts.begin(), plan.parts.end()); // they may run in any order
    for (const wavefront& part : plan.parts) {
        wavefront_blocks blocks(part, block);
        int calls = 0;
        const auto stresses = [&](const cell_range& cells) { on.stress(cells); };
        const auto velocities = [&](const cell_range& cells) {
            if (calls++ == alone) blocks.run(from::last_row, surface, [&](const cell_range& some) { on.velocity(some); }, stresses);
            on.velocity(cells);
        };
        blocks.run(backwards && alone < 0 ? from::last_row : from::first_row, surface, velocities, stresses);
        leave_for_later(blocks.between(), plan.between);
    }
    for (const cell_range& cells : plan.between) on.stress(cells);
}

// Cells of a brick without `layers` of them at each face that is given.
cell_range without(const brick_shape& shape, std::int64_t layers, const std::array<bool, 6>& faces) {
    const auto at = [&](std::size_t n) { return faces[n] ? layers : 0; };
    return {at(0), shape.nx - at(1), at(2), shape.ny - at(3), at(4), shape.nz - at(5)};
}

// Calls for the cells of `shape` that are not in `inner`, each once.
template <class What> void for_shell(const brick_shape& shape, const cell_range& inner, const What& what) {
    what(cell_range{0, shape.nx, 0, shape.ny, 0, inner.k0});
    what(cell_range{0, shape.nx, 0, shape.ny, inner.k1, shape.nz});
    what(cell_range{0, shape.nx, 0, inner.j0, inner.k0, inner.k1});
    what(cell_range{0, shape.nx, inner.j1, shape.ny, inner.k0, inner.k1});
    what(cell_range{0, inner.i0, inner.j0, inner.j1, inner.k0, inner.k1});
    what(cell_range{inner.i1, shape.nx, inner.j0, inner.j1, inner.k0, inner.k1});
}

TEST(wavefronts, equal_two_sweeps) {
    const surface_closure closure = random_closure();
    const brick_shape shape = shape_of(51, 37, 12);
    const cell_range all{0, shape.nx, 0, shape.ny, 0, shape.nz};
    for (const bool surface : {false, true}) {
        for (const bool lossy : {false, true}) {
            stepper two_sweeps{brick(shape, 23), surface ? &closure : nullptr, lossy};
            const stepper before = two_sweeps;
            for (int n = 0; n < 2; ++n) {
                two_sweeps.velocity(all);
                two_sweeps.stress(all);
            }
            for (const std::int64_t parts : {1, 2, 3, 100}) {
                const wavefront_plan plan = plan_wavefronts(all, all, parts);
                EXPECT_EQ(plan.parts.size(), static_cast<std::size_t>(std::min<std::int64_t>(parts, 4)));
                for (const auto& [columns, rows] : {std::array<std::int64_t, 2>{100, 1}, {16, 2}, {1, 5}, {20, 12}, {1000, 1000}}) {
                    const wavefront_block block{columns, rows};
                    stepper in_fronts = before;
                    carry_out(in_fronts, plan, block, false);
                    carry_out(in_fronts, plan, block, true);
                    stepper met = before;
                    carry_out(met, plan, block, false, 3);
                    carry_out(met, plan, block, true, 40);
                    expect_same(met, two_sweeps, "two threads");
                    expect_same(in_fronts, two_sweeps,
                                std::to_string(parts) + " parts, blocks of " + std::to_string(columns) + " x " +
                                    std::to_string(rows) + (surface ? ", surface" : ""));
                }
            }
        }
    }
}

// As with neighbours: their side's layers of velocity before, of stress after.
TEST(wavefronts, leave_layers_at_faces_to_others) {
    const surface_closure closure = random_closure();
    const brick_shape shape = shape_of(35, 21, 9);
    const cell_range all{0, shape.nx, 0, shape.ny, 0, shape.nz};
    for (int pattern = 0; pattern < 64; ++pattern) {
        const bool surface = (pattern & 16) == 0; // no neighbour above
        std::array<bool, 6> faces{};
        for (std::size_t n = 0; n < 6; ++n) faces[n] = (pattern >> n & 1) != 0;
        stepper two_sweeps{brick(shape, 29), surface ? &closure : nullptr, true};
        stepper in_fronts = two_sweeps;
        two_sweeps.velocity(all);
        two_sweeps.stress(all);
        const cell_range inner = without(shape, halo, faces);
        for_shell(shape, inner, [&](const cell_range& cells) { in_fronts.velocity(cells); });
        carry_out(in_fronts, plan_wavefronts(inner, inner, 2), {16, 4}, true, pattern % 2 == 0 ? -1 : pattern / 4);
        for_shell(shape, inner, [&](const cell_range& cells) { in_fronts.stress(cells); });
        expect_same(in_fronts, two_sweeps, "faces " + std::to_string(pattern));
    }
}

TEST(wavefronts, of_thin_bricks_equal_two_sweeps) {
    for (const auto& [nx, ny, nz] : {std::array<std::int64_t, 3>{5, 1, 1}, {3, 2, 30}, {4, 40, 1}, {4, 17, 2}, {1, 9, 3}}) {
        const brick_shape shape = shape_of(nx, ny, nz);
        const cell_range all{0, nx, 0, ny, 0, nz};
        stepper two_sweeps{brick(shape, 31), nullptr, false};
        stepper in_fronts = two_sweeps;
        two_sweeps.velocity(all);
        two_sweeps.stress(all);
        carry_out(in_fronts, plan_wavefronts(all, all, 2), wavefront_block::of(shape, false), false);
        expect_same(in_fronts, two_sweeps, std::to_string(ny) + " rows, " + std::to_string(nz) + " planes");
    }
}

} // namespace

} // namespace wavefront_tests
