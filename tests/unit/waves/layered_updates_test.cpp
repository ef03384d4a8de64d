// Updates with layers in one sweep beside the corrections and then the update, on random fields: all layers, ranges, media, sizes.

#include "random_brick.hpp"

#include <craton/apps/waves/absorbing_layers.hpp>
#include <craton/apps/waves/kernels/layered_updates.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>

namespace layered_updates_tests {
namespace {

using namespace craton::waves;

using extents = std::array<std::int64_t, 3>;

const surface_closure closure = random_closure();

struct how {
    double ratio; // of multi-axial damping
    bool surface, lossy;
};
class layered_updates : public testing::TestWithParam<how> {};
INSTANTIATE_TEST_SUITE_P(kinds, layered_updates,
                         testing::Values(how{0, true, false}, how{0, false, false}, how{0, true, true}, how{0, false, true},
                                         how{0.1, true, false}, how{0.1, false, false}, how{0.1, true, true},
                                         how{0.1, false, true}));

absorbing_layers layers_of(const grid_part& part, double ratio, std::int64_t width) {
    absorbing_settings settings;
    settings.width = width;
    settings.speed_m_s = 5000;
    settings.alpha_per_s = 3;
    settings.multiaxial_ratio = ratio;
    settings.multiaxial_power = 2;
    absorbing_layers layers(settings, part, 0.004, 40);
    std::mt19937 generator(3);
    std::uniform_real_distribution<float> values_of(-1, 1);
    // Only cells of layers have memory other than zero.
    const auto& view = layers.layers();
    for (const layer_axis& axis : view.axis) {
        for (std::int64_t n = 0; n < part.shape.ny * part.shape.nz; ++n) {
            const layer_row& row = axis.rows[n];
            if (row.at < 0) continue;
            const auto fill = [&](const layer_part& cells) {
                for (std::int64_t i = cells.i0; i < cells.i1; ++i) {
                    for (int component = 0; component < 3; ++component) {
                        const std::int64_t place = row.at + cells.first + component * cells.pitch + i % cells.pitch;
                        axis.velocity_memory[place] = values_of(generator);
                        axis.stress_memory[place] = values_of(generator);
                    }
                }
            };
            if (row.whole != 0) {
                fill(view.whole);
            } else {
                for (const layer_part& end : view.ends) fill(end);
            }
        }
    }
    return layers;
}

// To 1e-6 of the largest value, or of what they are computed from, where that is larger.
void expect_near(std::span<const float> values, std::span<const float> expected, const std::string& what, float from = 0) {
    ASSERT_EQ(values.size(), expected.size());
    float largest = from;
    float error = 0;
    for (std::size_t n = 0; n < expected.size(); ++n) {
        largest = std::max(largest, std::abs(expected[n]));
        error = std::max(error, std::abs(values[n] - expected[n]));
    }
    EXPECT_LE(error, 1e-6F * largest) << what;
}

struct stepper {
    brick given;
    absorbing_layers layers;
    const surface_closure* surface;
    bool lossy;

    void in_one_sweep(const cell_range& cells) {
        auto& b = given;
        update_velocity(b.shape, cells, b.velocities(), b.stresses(), b.elasticity(), step, surface, layers.layers(),
                        layers.damping());
        if (lossy)
            update_stress(b.shape, cells, b.stresses(), b.memories(), b.velocities(), b.elasticity(), b.attenuation(), step,
                          surface, layers.layers(), layers.damping());
        else
            update_stress(b.shape, cells, b.stresses(), b.velocities(), b.elasticity(), step, surface, layers.layers(),
                          layers.damping());
    }
    void one_by_one(const cell_range& cells) {
        auto& b = given;
        layers.before_velocity(cells, b.velocities(), b.stresses(), b.elasticity(), step, surface);
        update_velocity(b.shape, cells, b.velocities(), b.stresses(), b.elasticity(), step, surface);
        layers.before_stress(cells, b.stresses(), b.velocities(), b.elasticity(), step, surface);
        if (lossy)
            update_stress(b.shape, cells, b.stresses(), b.memories(), b.velocities(), b.elasticity(), b.attenuation(), step,
                          surface);
        else
            update_stress(b.shape, cells, b.stresses(), b.velocities(), b.elasticity(), step, surface);
    }
};

void expect_same(const extents& grid, const extents& first, const extents& size, const cell_range& cells, std::int64_t width = 5) {
    const how with = layered_updates::GetParam();
    brick given(shape_of(size[0], size[1], size[2]), 11);
    const grid_part part{grid, first, given.shape, with.surface};
    const surface_closure* surface = with.surface && first[2] == 0 ? &closure : nullptr;
    if (surface != nullptr) { // no shear there, ever
        for (const std::size_t n : {4U, 5U})
            std::fill_n(given.stress[n].first() - halo * (1 + given.shape.pitch), given.shape.plane, 0.0F);
    }
    stepper sweep{given, layers_of(part, with.ratio, width), surface, with.lossy};
    stepper plain{given, layers_of(part, with.ratio, width), surface, with.lossy};
    for (int n = 0; n < 2; ++n) {
        sweep.in_one_sweep(cells);
        plain.one_by_one(cells);
    }
    const std::string what =
        "nx " + std::to_string(size[0]) + ", i " + std::to_string(cells.i0) + " to " + std::to_string(cells.i1);
    for (std::size_t n = 0; n < 3; ++n) expect_near(sweep.given.v[n].values(), plain.given.v[n].values(), what + ", v");
    for (std::size_t n = 0; n < 6; ++n) {
        expect_near(sweep.given.stress[n].values(), plain.given.stress[n].values(), what + ", stress");
        expect_near(sweep.given.memory[n].values(), plain.given.memory[n].values(), what + ", memory variables",
                    1); // differences of stresses, which are up to 1
    }
    expect_near(sweep.layers.memory(), plain.layers.memory(), what + ", memory of layers");
}

TEST_P(layered_updates, equal_corrections_and_updates_on_whole_grids) {
    for (const std::int64_t nx : {14, 17, 23, 32, 43, 70})
        expect_same({nx, 17, 16}, {0, 0, 0}, {nx, 17, 16}, {0, nx, 0, 17, 0, 16});
}

// The upper x layer lies in one line more than its width has, of which the first is part of a whole vector.
TEST_P(layered_updates, equal_corrections_and_updates_where_a_layer_crosses_lines) {
    for (const std::int64_t nx : {34, 49, 50, 52, 66, 67})
        expect_same({nx, 17, 16}, {0, 0, 0}, {nx, 17, 16}, {0, nx, 0, 17, 0, 16});
    for (const std::int64_t nx : {82, 83, 98}) expect_same({nx, 44, 44}, {0, 17, 17}, {nx, 8, 9}, {0, nx, 0, 8, 0, 9}, 20);
}

// More cells than a line has: their memory is folded where it begins within a vector.
TEST_P(layered_updates, equal_corrections_and_updates_in_wide_layers) {
    for (const std::int64_t nx : {44, 61, 70}) expect_same({nx, 44, 44}, {0, 17, 17}, {nx, 8, 9}, {0, nx, 0, 8, 0, 9}, 20);
}

TEST_P(layered_updates, equal_corrections_and_updates_on_parts_of_bricks) {
    for (std::int64_t i0 = 0; i0 < 23; i0 += 3) {
        for (const std::int64_t length : {1, 2, 7, 16, 19})
            expect_same({40, 30, 30}, {0, 3, 0}, {23, 4, 12}, {i0, std::min<std::int64_t>(i0 + length, 23), 1, 3, 0, 7});
    }
    expect_same({40, 30, 30}, {37, 27, 20}, {3, 3, 10}, {0, 3, 0, 3, 0, 10});
    expect_same({40, 30, 30}, {2, 2, 2}, {2, 2, 2}, {0, 2, 0, 2, 0, 2});
    expect_same({100, 30, 30}, {60, 10, 10}, {40, 20, 10}, {3, 39, 0, 19, 1, 9});
    expect_same({100, 30, 30}, {20, 10, 10}, {40, 6, 6}, {0, 40, 0, 6, 0, 6}); // no layer
}

} // namespace

} // namespace layered_updates_tests
