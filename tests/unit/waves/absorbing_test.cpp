// Absorbing layers beside plain loops, on random fields; cut in bricks and ranges; what settings are refused.

#include "../../waves_media.hpp"

#include <craton/apps/waves/absorbing_layers.hpp>
#include <craton/base/aligned_vector.hpp>
#include <craton/base/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace absorbing_tests {
namespace {

using namespace craton::waves;

using extents = std::array<std::int64_t, 3>;

constexpr double dt_s = 0.004;
constexpr double h_m = 40;
const auto step = differences::of(dt_s, 10.0 / 800); // dt / h is 0.32

// One number for each field, place of the whole grid and seed, ghosts too: bricks of one grid agree. From -1 to 1.
float any_value(unsigned field, std::int64_t i, std::int64_t j, std::int64_t k) {
    std::uint64_t bits = field * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>((i + 8) + 512 * (j + 8) + 512 * 512 * (k + 8));
    for (int round = 0; round < 3; ++round) bits = (bits ^ (bits >> 29)) * 0xBF58476D1CE4E5B9U;
    return static_cast<float>(static_cast<double>(bits >> 40) / (1 << 23) - 1);
}

// One brick of a grid: three velocities, six stresses, eight media, their values known everywhere.
class brick {
  public:
    grid_part part;
    std::array<craton::base::aligned_vector<float>, 17> values;
    craton::tests::compact_copies copies;

    brick(const extents& cells, const extents& first, const extents& size, bool free_surface) {
        const std::int64_t pitch = (size[0] + 2 * halo + 15) / 16 * 16;
        part = {cells, first, {size[0], size[1], size[2], pitch, pitch * (size[1] + 2 * halo)}, free_surface};
        for (unsigned field = 0; field < values.size(); ++field) {
            values[field].assign(static_cast<std::size_t>(32 + part.shape.plane * (size[2] + 2 * halo)), 0.0F);
            for (std::int64_t k = -halo; k < size[2] + halo; ++k) {
                for (std::int64_t j = -halo; j < size[1] + halo; ++j) {
                    for (std::int64_t i = -halo; i < size[0] + halo; ++i) {
                        const float value = any_value(field, i + first[0], j + first[1], k + first[2]);
                        at(field)[part.shape.at(i, j, k)] = field < 9 ? value : 1.25F + 0.75F * value;
                    }
                }
            }
        }
    }
    float* at(std::size_t field) { return values[field].data() + 16 + halo * (part.shape.pitch + part.shape.plane); }
    vector_field<float> v() { return {at(0), at(1), at(2)}; }
    tensor_field<float> stress() { return {at(3), at(4), at(5), at(6), at(7), at(8)}; }
    elastic_media media() {
        const auto medium = [&](std::size_t n) { return copies.of(values[n], at(n)); };
        return {{medium(9), medium(10), medium(11)}, medium(12), medium(13), medium(14), medium(15), medium(16)};
    }
    [[nodiscard]] cell_range cells() const { return {0, part.shape.nx, 0, part.shape.ny, 0, part.shape.nz}; }
    [[nodiscard]] bool on_surface() const { return part.free_surface && part.first[2] == 0; }
};

surface_closure any_closure() {
    std::mt19937 generator(7);
    std::uniform_real_distribution<double> values_of(-1, 1);
    surface_closure closure;
    for (auto* rows : {&closure.plus, &closure.minus}) {
        for (auto& row : *rows) std::generate(row.begin(), row.end(), [&] { return values_of(generator); });
    }
    return closure;
}
const surface_closure closure = any_closure();

absorbing_settings settings_of(absorbing_kind kind, double ratio) {
    absorbing_settings settings;
    settings.kind = kind;
    settings.width = 5;
    settings.speed_m_s = 5000;
    settings.alpha_per_s = 3;
    settings.multiaxial_ratio = ratio;
    settings.sponge_alpha = 0.05;
    return settings;
}

void expect_near(const float* values, const float* expected, std::size_t count, const std::string& what) {
    float largest = 0;
    float error = 0;
    for (std::size_t n = 0; n < count; ++n) {
        largest = std::max(largest, std::abs(expected[n]));
        error = std::max(error, std::abs(values[n] - expected[n]));
    }
    EXPECT_LE(error, 1e-6F * largest) << what;
}

struct how {
    absorbing_kind kind;
    double ratio;
    bool free_surface;
};
class absorbing : public testing::TestWithParam<how> {};
INSTANTIATE_TEST_SUITE_P(kinds, absorbing,
                         testing::Values(how{absorbing_kind::pml, 0, true}, how{absorbing_kind::pml, 0, false},
                                         how{absorbing_kind::pml, 0.1, true}, how{absorbing_kind::pml, 0.1, false},
                                         how{absorbing_kind::sponge, 0, true}, how{absorbing_kind::sponge, 0, false}));

// Some steps of the layers alone, by whichever kernels; memory is carried on.
void expect_as_plain(const extents& grid, const extents& first, const extents& size, const cell_range& cells) {
    const how with = absorbing::GetParam();
    brick fast(grid, first, size, with.free_surface);
    brick plain = fast;
    const auto settings = settings_of(with.kind, with.ratio);
    absorbing_layers layers(settings, fast.part, dt_s, h_m);
    absorbing_layers same(settings, fast.part, dt_s, h_m);
    const surface_closure* surface = fast.on_surface() ? &closure : nullptr;
    for (int n = 0; n < 3; ++n) {
        layers.before_velocity(cells, fast.v(), fast.stress(), fast.media(), step, surface);
        layers.before_stress(cells, fast.stress(), fast.v(), fast.media(), step, surface);
        const brick_shape& shape = plain.part.shape;
        const bool damped = with.kind == absorbing_kind::sponge || with.ratio > 0;
        if (damped) reference::damp_velocity(shape, cells, plain.v(), same.sponge());
        if (with.kind == absorbing_kind::pml)
            reference::correct_velocity(shape, cells, plain.v(), plain.stress(), plain.media(), step, surface, same.layers());
        if (damped) reference::damp_stress(shape, cells, plain.stress(), same.sponge());
        if (with.kind == absorbing_kind::pml)
            reference::correct_stress(shape, cells, plain.stress(), plain.v(), plain.media(), step, surface, same.layers());
    }
    const std::string what = "i " + std::to_string(cells.i0) + " to " + std::to_string(cells.i1);
    for (std::size_t field = 0; field < 17; ++field)
        expect_near(fast.values[field].data(), plain.values[field].data(), fast.values[field].size(),
                    what + ", field " + std::to_string(field));
    expect_near(layers.memory().data(), same.memory().data(), layers.memory().size(), what + ", memory");
}

TEST_P(absorbing, equals_plain_loops_on_a_whole_grid) {
    for (const std::int64_t nx : {14, 17, 32, 43}) expect_as_plain({nx, 15, 16}, {0, 0, 0}, {nx, 15, 16}, {0, nx, 0, 15, 0, 16});
}

TEST_P(absorbing, equals_plain_loops_on_parts_of_bricks) {
    for (std::int64_t i0 = 0; i0 < 23; ++i0) {
        for (const std::int64_t length : {1, 2, 7, 16, 19})
            expect_as_plain({40, 30, 30}, {0, 3, 0}, {23, 4, 12}, {i0, std::min<std::int64_t>(i0 + length, 23), 1, 3, 0, 7});
    }
    expect_as_plain({40, 30, 30}, {37, 27, 20}, {3, 3, 10}, {0, 3, 0, 3, 0, 10});
    expect_as_plain({40, 30, 30}, {2, 2, 2}, {2, 2, 2}, {0, 2, 0, 2, 0, 2});
}

// However the grid is cut in bricks and the bricks in ranges, not a bit changes.
TEST_P(absorbing, does_not_depend_on_the_decomposition) {
    const how with = GetParam();
    const extents grid{38, 21, 19};
    const auto settings = settings_of(with.kind, with.ratio);
    const auto steps_of = [&](brick& b, const std::vector<cell_range>& ranges) {
        absorbing_layers layers(settings, b.part, dt_s, h_m);
        const surface_closure* surface = b.on_surface() ? &closure : nullptr;
        for (int n = 0; n < 3; ++n) {
            for (const auto& r : ranges) layers.before_velocity(r, b.v(), b.stress(), b.media(), step, surface);
        }
        brick fresh(grid, b.part.first, {b.part.shape.nx, b.part.shape.ny, b.part.shape.nz}, with.free_surface);
        for (int n = 0; n < 3; ++n) {
            for (const auto& r : ranges) layers.before_stress(r, b.stress(), fresh.v(), b.media(), step, surface);
        }
    };
    brick whole(grid, {0, 0, 0}, grid, with.free_surface);
    steps_of(whole, {whole.cells()});
    for (const extents& cuts : {extents{3, 6, 7}, {19, 10, 9}, {35, 18, 16}}) {
        for (int corner = 0; corner < 8; ++corner) {
            extents first{};
            extents size{};
            for (std::size_t axis = 0; axis < 3; ++axis) {
                const bool upper = ((corner >> axis) & 1) != 0;
                first[axis] = upper ? cuts[axis] : 0;
                size[axis] = upper ? grid[axis] - cuts[axis] : cuts[axis];
            }
            brick piece(grid, first, size, with.free_surface);
            const cell_range all = piece.cells();
            std::vector<cell_range> ranges;
            for (std::int64_t k = 0; k < all.k1; ++k) {
                ranges.push_back({0, std::min<std::int64_t>(2, all.i1), 0, all.j1, k, k + 1});
                ranges.push_back({std::min<std::int64_t>(2, all.i1), all.i1, 0, all.j1, k, k + 1});
            }
            std::reverse(ranges.begin(), ranges.end());
            steps_of(piece, ranges);
            std::int64_t different = 0;
            for (std::size_t field = 0; field < 9; ++field) {
                for (std::int64_t k = 0; k < all.k1; ++k) {
                    for (std::int64_t j = 0; j < all.j1; ++j) {
                        for (std::int64_t i = 0; i < all.i1; ++i) {
                            different += piece.at(field)[piece.part.shape.at(i, j, k)] !=
                                         whole.at(field)[whole.part.shape.at(i + first[0], j + first[1], k + first[2])];
                        }
                    }
                }
            }
            EXPECT_EQ(different, 0) << "cut at " << cuts[0] << ", corner " << corner;
        }
    }
}

TEST(absorbing_layers, have_memory_in_layers_alone) {
    const auto floats = [](double ratio, bool free_surface) {
        const brick b({100, 90, 80}, {0, 0, 0}, {100, 90, 80}, free_surface);
        auto settings = settings_of(absorbing_kind::pml, ratio);
        settings.width = 16;
        return absorbing_layers(settings, b.part, dt_s, h_m).memory().size();
    };
    const std::size_t rows = 112;     // 100 cells in whole cache lines; the x layers' rows follow each other without gaps
    const std::size_t ends = 16 + 32; // cells 0 to 15 lie in one line, 84 to 99 in two
    EXPECT_EQ(floats(0, true), 6 * (ends * 90 * 80 + rows * (32 * 80 + 16 * 90)));
    EXPECT_EQ(floats(0, false), 6 * (ends * 90 * 80 + rows * (32 * 80 + 32 * 90)));
    EXPECT_EQ(floats(0.1, true), floats(0, true));
}

// Above a grid of coarser cells nothing is lost along z, as deep as the layers of the sides may be wide.
TEST(absorbing_layers, have_none_where_another_grid_follows_below) {
    const brick b({60, 50, 20}, {0, 0, 0}, {60, 50, 20}, true);
    auto part = b.part;
    part.grid_below = true;
    for (const auto kind : {absorbing_kind::pml, absorbing_kind::sponge}) {
        auto settings = settings_of(kind, 0.1);
        settings.width = 18;
        const absorbing_layers layers(settings, part, dt_s, h_m);
        for (std::size_t at = 0; at < 2; ++at) {
            EXPECT_LT(layers.sponge().factor[0][at][0], 1);
            EXPECT_LT(layers.sponge().factor[1][at][49], 1);
            for (std::int64_t k = 0; k < 20; ++k) EXPECT_EQ(layers.sponge().factor[2][at][k], 1) << k;
            if (kind == absorbing_kind::sponge) continue;
            for (std::int64_t k = 0; k < 20; ++k) {
                EXPECT_EQ(layers.layers().axis[2].decay[at][k], 1) << k;
                EXPECT_EQ(layers.layers().axis[2].gain[at][k], 0) << k;
            }
        }
    }
}

TEST(absorbing_layers, inside_the_grid_do_nothing) {
    for (const double power : {10.0, 0.0}) { // a loss that is the same all over the layers ends with them, too
        brick b({100, 90, 80}, {20, 20, 0}, {16, 8, 9}, true);
        const brick before = b;
        auto settings = settings_of(absorbing_kind::pml, 0.1);
        settings.multiaxial_power = power;
        absorbing_layers layers(settings, b.part, dt_s, h_m);
        EXPECT_TRUE(layers.memory().empty());
        layers.before_velocity(b.cells(), b.v(), b.stress(), b.media(), step, &closure);
        layers.before_stress(b.cells(), b.stress(), b.v(), b.media(), step, &closure);
        EXPECT_EQ(b.values, before.values) << power;
    }
}

TEST(sponge, has_the_factors_of_cerjan) {
    brick b({100, 90, 80}, {0, 0, 0}, {100, 90, 80}, true);
    absorbing_settings settings;
    settings.kind = absorbing_kind::sponge;
    settings.width = 20;
    const absorbing_layers layers(settings, b.part, dt_s, h_m);
    const auto& factor = layers.sponge().factor;
    EXPECT_NEAR(factor[0][0][0], 0.92, 1e-5);
    EXPECT_NEAR(factor[1][0][10], std::pow(0.92, 0.25), 1e-5);
    EXPECT_EQ(factor[0][0][20], 1);
    EXPECT_NEAR(factor[2][0][70], std::pow(0.92, 0.25), 1e-5);
    EXPECT_EQ(factor[2][0][0], 1); // the free surface
}

TEST(absorbing_layers, refuse_what_makes_no_sense) {
    const auto refused = [](const std::function<void(absorbing_settings&, grid_part&)>& spoil, const std::string& saying) {
        brick b({20, 20, 20}, {0, 0, 0}, {20, 20, 20}, true);
        absorbing_settings settings = settings_of(absorbing_kind::pml, 0);
        spoil(settings, b.part);
        try {
            const absorbing_layers layers(settings, b.part, dt_s, h_m);
            ADD_FAILURE() << "accepted: " << saying;
        } catch (const craton::user_error& error) {
            EXPECT_NE(std::string(error.what()).find(saying), std::string::npos) << error.what();
        }
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    refused([](auto& s, auto&) { s.width = 0; }, "width is 0");
    refused([](auto& s, auto&) { s.width = 9; }, "extent along x is 20, allowed: at least 22 cells");
    refused([](auto&, auto& part) { part.cells[2] = 12; }, "extent along z is 12, allowed: at least 13 cells");
    refused([](auto& s, auto&) { s.reflection = 1; }, "reflection is 1");
    refused([](auto& s, auto&) { s.reflection = 0; }, "reflection is 0");
    refused([](auto& s, auto&) { s.power = -1; }, "power is -1");
    refused([=](auto& s, auto&) { s.speed_m_s = nan; }, "speed_m_s is nan");
    refused([](auto& s, auto&) { s.alpha_per_s = -2; }, "alpha_per_s is -2");
    refused([](auto& s, auto&) { s.multiaxial_power = -3; }, "multiaxial_power is -3");
    refused([](auto& s, auto&) { s.multiaxial_ratio = 2; }, "multiaxial_ratio is 2");
    refused([](auto& s, auto&) { s.kind = absorbing_kind::sponge, s.sponge_alpha = -1; }, "sponge_alpha is -1");
    const brick b({20, 20, 20}, {0, 0, 0}, {20, 20, 20}, true);
    EXPECT_THROW(absorbing_layers(settings_of(absorbing_kind::pml, 0), b.part, 0, h_m), craton::user_error);
    EXPECT_THROW(absorbing_layers(settings_of(absorbing_kind::pml, 0), b.part, dt_s, -1), craton::user_error);
}

} // namespace

} // namespace absorbing_tests
