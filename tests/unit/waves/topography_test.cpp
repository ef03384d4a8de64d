// Ground of any shape: the updates beside plain loops over random columns, with and without layers and attenuation; that forces are
// the transpose of strains; that a row's bits do not depend on how the grid is cut; what is dead, and what cells count for.

#include "random_brick.hpp"

#include "../../expect_user_error.hpp"

#include <craton/apps/waves/absorbing_layers.hpp>
#include <craton/apps/waves/kernels/absorbing.hpp>
#include <craton/apps/waves/kernels/layered_updates.hpp>
#include <craton/apps/waves/kernels/reference_updates.hpp>
#include <craton/apps/waves/kernels/updates.hpp>
#include <craton/apps/waves/topography.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace topography_tests {
namespace {

using namespace craton::waves;
using craton::array::index3;
using staggered = std::array<bool, 3>;

constexpr staggered centre{}, at_vx{true, false, false}, at_vy{false, true, false}, at_vz{false, false, true},
    at_xy{true, true, false}, at_xz{true, false, true}, at_yz{false, true, true};
constexpr std::array<staggered, 3> velocities{at_vx, at_vy, at_vz};
constexpr std::array<staggered, 6> stresses{centre, centre, centre, at_xy, at_xz, at_yz};
constexpr std::array<staggered, 8> media{at_vx, at_vy, at_vz, centre, centre, at_xy, at_xz, at_yz};

topography random_land(const index3& cells, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> depths(topography::least_air, static_cast<double>(cells[2] - topography::least_air));
    std::vector<double> surface(static_cast<std::size_t>(cells[0] * cells[1]));
    std::ranges::generate(surface, [&] { return 10 * depths(generator); });
    return {cells, 10, surface};
}

// A brick with what a solver has in its arrays: 0 outside the grid and where points are dead.
brick brick_of(const topography& land, const brick_shape& shape, const index3& first, unsigned seed) {
    brick made(shape, seed);
    const auto clear = [&](field& values, const staggered& where) {
        for (std::int64_t k = -halo; k < shape.nz + halo; ++k) {
            for (std::int64_t j = -halo; j < shape.ny + halo; ++j) {
                for (std::int64_t i = -halo; i < shape.nx + halo; ++i) {
                    const index3 at{first[0] + i, first[1] + j, first[2] + k};
                    bool inside = land.live(where, at[0], at[1], at[2]);
                    for (std::size_t d = 0; d < 3; ++d) inside = inside && at[d] >= 0 && at[d] < land.cells()[d];
                    if (!inside) values.first()[shape.at(i, j, k)] = 0;
                }
            }
        }
    };
    for (std::size_t n = 0; n < 3; ++n) clear(made.v[n], velocities[n]);
    for (std::size_t n = 0; n < 6; ++n) {
        clear(made.stress[n], stresses[n]);
        clear(made.memory[n], stresses[n]);
    }
    for (std::size_t n = 0; n < 8; ++n) clear(made.media[n], media[n]);
    return made;
}

void expect_near(const std::vector<field>& values, const std::vector<field>& expected, const std::string& what) {
    for (std::size_t n = 0; n < values.size(); ++n) {
        float largest = 1; // of what they are computed from
        float error = 0;
        for (std::size_t m = 0; m < values[n].values().size(); ++m) {
            largest = std::max(largest, std::abs(expected[n].values()[m]));
            error = std::max(error, std::abs(values[n].values()[m] - expected[n].values()[m]));
        }
        EXPECT_LE(error, 1e-6F * largest) << what << ", component " << n;
    }
}

struct how {
    bool layers, lossy;
};
class topography_updates : public testing::TestWithParam<how> {};
INSTANTIATE_TEST_SUITE_P(kinds, topography_updates,
                         testing::Values(how{false, false}, how{false, true}, how{true, false}, how{true, true}));

absorbing_layers layers_of(const grid_part& part) {
    absorbing_settings settings;
    settings.width = 4;
    settings.speed_m_s = 5000;
    settings.alpha_per_s = 3;
    settings.multiaxial_ratio = 0;
    return {settings, part, 0.004, 40};
}

TEST_P(topography_updates, equal_plain_loops_over_random_columns) {
    const auto [layered, lossy] = GetParam();
    const index3 grid{43, 17, 18};
    const topography land = random_land(grid, 5);
    for (const index3& first : {index3{0, 0, 0}, index3{9, 4, 5}}) {
        const brick_shape shape = shape_of(grid[0] - first[0], grid[1] - first[1], grid[2] - first[2]);
        const rows_beside_air rows(land, shape, first);
        differences d = step;
        d.reduced = &rows.rows();
        brick fast = brick_of(land, shape, first, 11);
        brick plain = fast;
        const grid_part part{grid, first, shape, true};
        absorbing_layers of_fast = layers_of(part), of_plain = layers_of(part);
        const cell_range all{0, shape.nx, 0, shape.ny, 0, shape.nz};
        for (int n = 0; n < 3; ++n) { // so that layers have memory
            if (layered) {
                update_velocity(shape, all, fast.velocities(), fast.stresses(), fast.elasticity(), d, nullptr, of_fast.layers(),
                                of_fast.damping());
                reference::correct_velocity(shape, all, plain.velocities(), plain.stresses(), plain.elasticity(), d, nullptr,
                                            of_plain.layers());
            } else {
                update_velocity(shape, all, fast.velocities(), fast.stresses(), fast.elasticity(), d, nullptr);
            }
            reference::update_velocity(shape, all, plain.velocities(), plain.stresses(), plain.elasticity(), d, nullptr);
            if (layered)
                reference::correct_stress(shape, all, plain.stresses(), plain.velocities(), plain.elasticity(), d, nullptr,
                                          of_plain.layers());
            if (lossy) {
                if (layered)
                    update_stress(shape, all, fast.stresses(), fast.memories(), fast.velocities(), fast.elasticity(),
                                  fast.attenuation(), d, nullptr, of_fast.layers(), of_fast.damping());
                else
                    update_stress(shape, all, fast.stresses(), fast.memories(), fast.velocities(), fast.elasticity(),
                                  fast.attenuation(), d, nullptr);
                reference::update_stress(shape, all, plain.stresses(), plain.memories(), plain.velocities(), plain.elasticity(),
                                         plain.attenuation(), d, nullptr);
            } else {
                if (layered)
                    update_stress(shape, all, fast.stresses(), fast.velocities(), fast.elasticity(), d, nullptr, of_fast.layers(),
                                  of_fast.damping());
                else
                    update_stress(shape, all, fast.stresses(), fast.velocities(), fast.elasticity(), d, nullptr);
                reference::update_stress(shape, all, plain.stresses(), plain.velocities(), plain.elasticity(), d, nullptr);
            }
        }
        const std::string what = "from " + std::to_string(first[0]);
        expect_near(fast.v, plain.v, what + ", v");
        expect_near(fast.stress, plain.stress, what + ", stress");
        expect_near(fast.memory, plain.memory, what + ", memory variables");
    }
}

// Power of stress on strain rates, and of forces on velocities: their sum is 0 for any fields.
TEST(topography, forces_are_the_transpose_of_strains) {
    const index3 grid{21, 14, 16};
    const topography land = random_land(grid, 7);
    const brick_shape shape = shape_of(grid[0], grid[1], grid[2]);
    const rows_beside_air rows(land, shape, {0, 0, 0});
    differences d = step;
    d.reduced = &rows.rows();
    const brick given = brick_of(land, shape, {0, 0, 0}, 3);
    const cell_range all{0, shape.nx, 0, shape.ny, 0, shape.nz};
    // With all moduli and buoyancies 1 where points are not dead, and no lambda: increments are strains, of which shear counts once
    // and normal ones twice.
    brick unit = given;
    for (std::size_t n = 0; n < 8; ++n) {
        for (std::int64_t m = 0; m < static_cast<std::int64_t>(unit.media[n].values().size()); ++m) {
            float& value = unit.media[n].first()[m - unit.media[n].first_index()];
            const bool live = m >= unit.media[n].first_index() && value != 0;
            value = live && n != 3 ? 1.0F : 0.0F;
        }
    }
    brick strained = unit;
    brick moved = unit;
    for (auto& each : strained.stress) std::fill_n(each.first() - each.first_index(), each.values().size(), 0.0F);
    for (auto& each : moved.v) std::fill_n(each.first() - each.first_index(), each.values().size(), 0.0F);
    update_stress(shape, all, strained.stresses(), strained.velocities(), strained.elasticity(), d, nullptr);
    update_velocity(shape, all, moved.velocities(), moved.stresses(), moved.elasticity(), d, nullptr);
    double of_strain = 0, of_force = 0, size = 0;
    for (std::int64_t k = 0; k < shape.nz; ++k) {
        for (std::int64_t j = 0; j < shape.ny; ++j) {
            for (std::int64_t i = 0; i < shape.nx; ++i) {
                const std::int64_t at = shape.at(i, j, k);
                for (std::size_t n = 0; n < 6; ++n) {
                    const double power = double{strained.stress[n].first()[at]} * unit.stress[n].first()[at] * (n < 3 ? 0.5 : 1);
                    of_strain += power;
                    size += std::abs(power);
                }
                for (std::size_t n = 0; n < 3; ++n) of_force += double{moved.v[n].first()[at]} * unit.v[n].first()[at];
            }
        }
    }
    EXPECT_GT(size, 100);
    EXPECT_NEAR(of_strain + of_force, 0, 1e-6 * size);
}

// The same bits whether a row is of one brick or of two, of which one may have nothing beside air.
TEST(topography, bits_do_not_depend_on_the_cut) {
    const index3 grid{40, 12, 20};
    std::vector<double> surface(static_cast<std::size_t>(grid[0] * grid[1]), 40.0);
    for (std::size_t n = 0; n < surface.size(); ++n) {
        if (n % 40 < 8) surface[n] = 120;
    }
    const topography land(grid, 10, surface);
    const brick_shape whole = shape_of(grid[0], grid[1], grid[2]);
    const brick_shape part = shape_of(20, grid[1], grid[2]);
    const index3 first{20, 0, 0};
    const rows_beside_air of_whole(land, whole, {0, 0, 0}), of_part(land, part, first);
    EXPECT_GE(of_whole.rows().first[6 + 12 * 10], 0); // a step lies in this row, not in the part
    EXPECT_EQ(of_part.rows().first[6 + 12 * 10], reduced_rows::ground);
    differences d = step;
    d.reduced = &of_whole.rows();
    brick one = brick_of(land, whole, {0, 0, 0}, 9);
    brick other = brick_of(land, part, first, 9);
    const auto copy = [&](std::vector<field>& to, std::vector<field>& from) {
        for (std::size_t n = 0; n < to.size(); ++n) {
            for (std::int64_t k = -halo; k < part.nz + halo; ++k) {
                for (std::int64_t j = -halo; j < part.ny + halo; ++j) {
                    for (std::int64_t i = -halo; i < part.nx + halo; ++i)
                        to[n].first()[part.at(i, j, k)] = from[n].first()[whole.at(i + 20, j, k)];
                }
            }
        }
    };
    copy(other.v, one.v);
    copy(other.stress, one.stress);
    copy(other.media, one.media);
    for (std::size_t n = 0; n < 8; ++n) { // the same unit of 16 bits
        one.media[n].first()[whole.at(30, 6, 18)] = 2;
        other.media[n].first()[part.at(10, 6, 18)] = 2;
    }
    update_velocity(whole, {0, 40, 0, 12, 0, 20}, one.velocities(), one.stresses(), one.elasticity(), d, nullptr);
    d.reduced = &of_part.rows();
    update_velocity(part, {0, 20, 0, 12, 0, 20}, other.velocities(), other.stresses(), other.elasticity(), d, nullptr);
    std::int64_t different = 0;
    for (std::size_t n = 0; n < 3; ++n) {
        for (std::int64_t k = 0; k < 20; ++k) {
            for (std::int64_t j = 0; j < 12; ++j) {
                for (std::int64_t i = 0; i < 20; ++i)
                    different += one.v[n].first()[whole.at(i + 20, j, k)] != other.v[n].first()[part.at(i, j, k)] ? 1 : 0;
            }
        }
    }
    EXPECT_EQ(different, 0);
}

TEST(topography, knows_what_is_dead_at_a_step) {
    // Columns of 4 and of 6 cells of air, from i = 5 on.
    std::vector<double> surface;
    for (int j = 0; j < 8; ++j) {
        for (int i = 0; i < 10; ++i) surface.push_back(i < 5 ? 40 : 60);
    }
    const topography land({10, 8, 12}, 10, surface);
    EXPECT_EQ(land.highest_top(), 4);
    EXPECT_EQ(land.lowest_top(), 6);
    EXPECT_EQ(land.first_live(centre, 4, 3), 4);
    EXPECT_EQ(land.first_live(centre, 5, 3), 6);
    EXPECT_EQ(land.first_live(at_vx, 5, 3), 4); // the step's face
    EXPECT_EQ(land.first_live(at_vz, 5, 3), 6);
    EXPECT_EQ(land.first_live(at_xz, 4, 3), 5); // traction is 0 on the surface
    EXPECT_EQ(land.first_live(at_xz, 5, 3), 6); // at the foot of the step
    EXPECT_EQ(land.first_live(at_xz, 6, 3), 7);
    EXPECT_EQ(land.first_live(at_xy, 5, 3), 6);
    EXPECT_EQ(land.first_live(at_yz, 4, 3), 5);
    EXPECT_EQ(land.top(-3, 20), 4);
    EXPECT_EQ(land.top(30, -1), 6);
    EXPECT_DOUBLE_EQ(land.surface_at(5.0, 3.0), 5.0);
    EXPECT_DOUBLE_EQ(land.surface_at(0.0, 3.0), 4.0);
    // Shear energy of the first cells moves to the edges that are left.
    EXPECT_DOUBLE_EQ(land.part(at_xz, 3, 3, 5), 1.5);
    EXPECT_DOUBLE_EQ(land.part(at_xz, 3, 3, 7), 1.0);
}

TEST(topography, counts_the_first_cell_with_its_thickness) {
    const topography land({6, 6, 12}, 10, std::vector<double>(36, 37.5)); // 3.75 cells: 4 of air
    EXPECT_EQ(land.top(2, 2), 4);
    EXPECT_DOUBLE_EQ(land.part(centre, 2, 2, 4), 1.25);
    EXPECT_DOUBLE_EQ(land.part(centre, 2, 2, 5), 1.0);
    EXPECT_DOUBLE_EQ(land.part(at_vz, 2, 2, 4), 1.25); // of half a cell
    EXPECT_DOUBLE_EQ(land.part(at_vz, 2, 2, 5), 1.125);
    EXPECT_DOUBLE_EQ(land.part(at_vx, 2, 2, 4), 1.25);
}

TEST(topography, is_level_at_the_sides_where_layers_are) {
    const index3 grid{14, 12, 20};
    const topography land = random_land(grid, 2);
    const topography level = land.levelled_at_sides(4);
    EXPECT_NE(level.fingerprint(), land.fingerprint());
    EXPECT_EQ(level.levelled_at_sides(4).fingerprint(), level.fingerprint());
    for (std::int64_t j = 0; j < grid[1]; ++j) {
        for (std::int64_t i = 0; i < grid[0]; ++i)
            EXPECT_EQ(level.top(i, j), land.top(std::clamp<std::int64_t>(i, 4, 9), std::clamp<std::int64_t>(j, 4, 7)));
    }
}

TEST(topography, refuses_what_leaves_no_air_or_no_ground) {
    const auto made_of = [](double depth) { return topography({4, 4, 10}, 10, std::vector<double>(16, depth)); };
    for (const double depth : {20.0, -1.0, 80.0, std::nan(""), std::numeric_limits<double>::infinity()})
        craton::tests::expect_user_error([&] { made_of(depth); }, {"topography: the surface lies at z", "allowed: 30 to 70 m"});
    craton::tests::expect_user_error([] { topography({4, 4, 10}, 10, std::vector<double>(15, 40.0)); },
                                     {"topography: 15 depths", "allowed: 16"});
}

} // namespace
} // namespace topography_tests
