#include "../../waves_brick.hpp"

#include <craton/apps/waves/point_weights.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace point_weights_tests {
namespace {

using namespace craton;
using namespace craton::waves;
using tests::brick_of;
using tests::plain_brick;

constexpr std::array all_fields{field::vx, field::vy, field::vz, field::xx, field::xy, field::xz, field::yz};

const grid_extent grid{{17, 14, 12}, 50.0};

// A product of polynomials, one per axis.
double polynomial(double x, double y, double z, int degree) {
    const auto one = [degree](double t, double turn) {
        double sum = 0;
        for (int n = 0; n <= degree; ++n) sum = sum * (t / 10) + std::sin(turn + n);
        return sum;
    };
    return one(x, 0.3) * one(y, 1.1) * one(z, 2.7);
}

double read(const std::vector<weighted_cell>& cells, const float* values) {
    double sum = 0;
    for (const auto& cell : cells) sum += cell.weight * static_cast<double>(values[cell.offset]);
    return sum;
}

position_m metres(double x, double y, double z) { return {x * grid.h_m, y * grid.h_m, z * grid.h_m}; }

TEST(point_weights, polynomials_of_degree_five_are_read_exactly_between_planes) {
    plain_brick whole({{0, 0, 0}, grid.cells});
    std::mt19937 random(1);
    std::uniform_real_distribution<double> unit(0, 1);
    for (const field which : all_fields) {
        const auto where = staggering_of(which);
        whole.fill(0, where, [](double x, double y, double z) { return polynomial(x, y, z, 5); });
        for (int n = 0; n < 300; ++n) {
            std::array<double, 3> at{};
            for (std::size_t d = 0; d < 3; ++d) {
                const double first = where[d] ? 0.0 : 0.5; // to the last plane: within half a cell or a cell of the sides too
                at[d] = first + unit(random) * static_cast<double>(grid.cells[d] - 1);
            }
            const auto cells = reading_weights(where, metres(at[0], at[1], at[2]), grid, whole.place(), nullptr);
            EXPECT_EQ(cells.size(), 216U);
            EXPECT_NEAR(read(cells, whole.array(0)), polynomial(at[0], at[1], at[2], 5), 2e-5);
        }
    }
}

TEST(point_weights, beyond_the_outer_planes_polynomials_of_degree_three_are_continued) {
    plain_brick whole({{0, 0, 0}, grid.cells});
    for (const field which : all_fields) {
        const auto where = staggering_of(which);
        whole.fill(0, where, [](double x, double y, double z) { return polynomial(x, y, z, 3); });
        for (const double x : {0.0, 0.3, 16.7, 17.0}) {
            for (const double z : {0.0, 0.2, 11.6, 12.0}) {
                const auto cells = reading_weights(where, metres(x, 6.3, z), grid, whole.place(), nullptr);
                EXPECT_NEAR(read(cells, whole.array(0)), polynomial(x, 6.3, z, 3), 5e-5)
                    << name_of(which) << " at " << x << ", " << z;
            }
        }
    }
}

TEST(point_weights, the_fields_own_positions_are_single_cells) {
    const plain_brick whole({{0, 0, 0}, grid.cells});
    for (const field which : all_fields) {
        const auto where = staggering_of(which);
        const auto at = [&](std::int64_t n, std::size_t d) {
            return (static_cast<double>(n) + (where[d] ? 0.0 : 0.5)) * grid.h_m + 1e-9;
        };
        const auto cells = reading_weights(where, {at(16, 0), at(0, 1), at(5, 2)}, grid, whole.place(), nullptr);
        ASSERT_EQ(cells.size(), 1U);
        EXPECT_EQ(cells[0], (weighted_cell{whole.place().shape.at(16, 0, 5), 1.0}));
    }
    // On one axis only: a row of six.
    const auto row = reading_weights(staggering_of(field::vx), metres(4, 4.5, 4.2), grid, whole.place(), nullptr);
    EXPECT_EQ(row.size(), 6U);
}

TEST(point_weights, bricks_share_a_point_and_their_parts_make_the_whole) {
    std::mt19937 random(2);
    std::uniform_real_distribution<double> unit(0, 1);
    const auto value = [](double x, double y, double z) { return std::sin(x) * std::cos(2 * y) + z; };
    plain_brick whole({{0, 0, 0}, grid.cells});
    for (const auto& cuts : {array::index3{2, 1, 1}, array::index3{1, 3, 2}, array::index3{2, 2, 2}, array::index3{8, 7, 6}}) {
        for (const field which : {field::vx, field::yz}) {
            const auto where = staggering_of(which);
            whole.fill(0, where, value);
            std::vector<plain_brick> bricks;
            for (std::int64_t n = 0; n < cuts[0] * cuts[1] * cuts[2]; ++n) {
                bricks.emplace_back(brick_of(grid.cells, cuts, n));
                bricks.back().fill(0, where, value);
            }
            for (int n = 0; n < 50; ++n) {
                const auto point = metres(17 * unit(random), 14 * unit(random), 12 * unit(random));
                double sum = 0;
                std::size_t cells = 0;
                for (auto& brick : bricks) {
                    const auto part = reading_weights(where, point, grid, brick.place(), nullptr);
                    EXPECT_TRUE(
                        std::is_sorted(part.begin(), part.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; }));
                    sum += read(part, brick.array(0));
                    cells += part.size();
                }
                const auto all = reading_weights(where, point, grid, whole.place(), nullptr);
                EXPECT_EQ(cells, all.size());
                EXPECT_NEAR(sum, read(all, whole.array(0)), 1e-10);
            }
        }
    }
}

// In the norm h^3 * thickness: <injected, f> = f at the point, which is what reciprocity needs.
TEST(point_weights, injecting_is_the_adjoint_of_reading) {
    surface_closure surface;
    static_assert(surface_closure::planes == 5);
    surface.face_norm = {0.35, 1.2, 0.9, 1.02, 0.99};
    surface.centre_norm = {0.8, 1.15, 0.95, 1.01, 1.003};
    plain_brick whole({{0, 0, 0}, grid.cells});
    for (const field which : all_fields) {
        const auto where = staggering_of(which);
        whole.fill(0, where, [](double x, double y, double z) { return std::sin(3 * x + y * z); });
        for (const double z : {0.0, 0.4, 1.0, 2.5, 7.1}) {
            const auto point = metres(3.3, 7.9, z);
            const auto injected = injection_weights(where, point, grid, whole.place(), &surface);
            double product = 0;
            for (const auto& cell : injected) {
                const std::int64_t k = cell.offset / whole.place().shape.plane;
                const double norm =
                    k >= 5 ? 1.0 : (where[2] ? surface.face_norm : surface.centre_norm)[static_cast<std::size_t>(k)];
                product += cell.weight * 50.0 * 50.0 * 50.0 * norm * static_cast<double>(whole.array(0)[cell.offset]);
            }
            EXPECT_NEAR(product, read(reading_weights(where, point, grid, whole.place(), &surface), whole.array(0)), 1e-12);
        }
    }
}

TEST(point_weights, traction_on_the_free_surface_is_neither_read_nor_driven) {
    const plain_brick whole({{0, 0, 0}, grid.cells});
    const surface_closure surface;
    for (const field which : all_fields) {
        const bool traction = which == field::xz || which == field::yz;
        const auto with = reading_weights(staggering_of(which), metres(5.2, 5.2, 0.6), grid, whole.place(), &surface);
        const auto without = reading_weights(staggering_of(which), metres(5.2, 5.2, 0.6), grid, whole.place(), nullptr);
        EXPECT_EQ(with.size(), without.size() - (traction ? 36U : 0U)) << name_of(which);
        if (traction) {
            EXPECT_EQ(reading_weights(staggering_of(which), metres(5.2, 5.2, 0), grid, whole.place(), &surface).size(), 0U);
        }
    }
    EXPECT_EQ(reading_weights(staggering_of(field::vz), metres(5.5, 5.5, 0), grid, whole.place(), &surface).size(), 1U);
}

TEST(point_weights, few_planes_are_enough_and_points_outside_are_told_in_words) {
    const auto narrow = interpolate(0.9, false, 2);
    EXPECT_EQ(narrow.count, 2);
    EXPECT_NEAR(narrow.weight[0], 0.6, 1e-14);
    EXPECT_NEAR(narrow.weight[1], 0.4, 1e-14);
    EXPECT_EQ(interpolate(0.9, false, 1).count, 1);
    EXPECT_EQ(why_not_inside({0, 700, 600}, grid), "");
    EXPECT_EQ(why_not_inside({0, 701, 600}, grid), "y = 701 m is not in the grid; allowed: 0 to 700 m");
    EXPECT_EQ(why_not_inside({0, 0, -1}, grid), "z = -1 m is not in the grid; allowed: 0 to 600 m");
    EXPECT_EQ(why_not_inside({std::numeric_limits<double>::quiet_NaN(), 0, 0}, grid),
              "x = nan m is not in the grid; allowed: 0 to 850 m");
}

std::vector<double> columns_of(double base, double slope) {
    std::vector<double> surface;
    for (int j = 0; j < 14; ++j) {
        for (int i = 0; i < 17; ++i) surface.push_back(50 * (base + slope * (i + 0.5)));
    }
    return surface;
}

// Depth below the ground is what a field is a function of, near it: read exactly where that is linear, by points that can move.
TEST(point_weights, follow_the_ground) {
    const topography land(grid.cells, 50, columns_of(3.1, 0.25));
    const grid_extent under{grid.cells, grid.h_m, &land};
    plain_brick whole({{0, 0, 0}, grid.cells});
    for (const field which : all_fields) {
        const auto where = staggering_of(which);
        whole.fill(0, where, [](double x, double y, double z) { return 3 + x - 2 * y + 4 * (z - 3.1 - 0.25 * x); });
        for (const double x : {5.3, 6.0, 8.75, 11.2}) {
            for (const double depth : {0.0, 0.3, 1.0, 2.5, 4.0}) {
                const double z = land.surface_at(x, 6.2) + depth;
                const auto weights = reading_weights(where, metres(x, 6.2, z), under, whole.place(), nullptr);
                double sum = 0;
                for (const auto& cell : weights) {
                    const auto& shape = whole.place().shape;
                    const std::int64_t k = cell.offset / shape.plane, j = cell.offset % shape.plane / shape.pitch;
                    EXPECT_TRUE(land.live(where, cell.offset % shape.pitch, j, k)) << name_of(which);
                    sum += cell.weight;
                }
                EXPECT_NEAR(sum, 1, 1e-12);
                // Shear stress on the surface lies too far from points that are not dead: the nearest counts.
                if (depth > 0 || (which != field::xz && which != field::yz)) {
                    EXPECT_NEAR(read(weights, whole.array(0)), 3 + x - 2 * 6.2 + 4 * depth, 1e-4) << name_of(which) << " at " << x;
                }
                double parts = 0;
                std::size_t cells = 0;
                for (std::int64_t n = 0; n < 8; ++n) {
                    plain_brick part(brick_of(grid.cells, {2, 2, 2}, n));
                    part.fill(0, where, [](double a, double b, double c) { return 3 + a - 2 * b + 4 * (c - 3.1 - 0.25 * a); });
                    const auto some = reading_weights(where, metres(x, 6.2, z), under, part.place(), nullptr);
                    parts += read(some, part.array(0));
                    cells += some.size();
                }
                EXPECT_EQ(cells, weights.size());
                EXPECT_NEAR(parts, read(weights, whole.array(0)), 1e-4);
            }
        }
    }
}

TEST(point_weights, beneath_flat_air_are_those_of_flat_ground) {
    const topography land(grid.cells, 50, columns_of(3, 0));
    const plain_brick whole({{0, 0, 0}, grid.cells});
    const grid_extent shallow{{17, 14, 9}, 50.0};
    const plain_brick part({{0, 0, 0}, shallow.cells});
    for (const field which :
         {field::vx, field::vy, field::vz, field::xx, field::xy}) { // others have a plane of zeros on the surface
        for (const double depth : {0.0, 0.2, 0.5, 1.3, 6.0}) {
            const auto under = reading_weights(staggering_of(which), metres(6.3, 5.5, 3 + depth), {grid.cells, 50.0, &land},
                                               whole.place(), nullptr);
            const auto flat = reading_weights(staggering_of(which), metres(6.3, 5.5, depth), shallow, part.place(), nullptr);
            ASSERT_EQ(under.size(), flat.size());
            for (std::size_t n = 0; n < flat.size(); ++n) {
                EXPECT_EQ(under[n].offset, flat[n].offset + 3 * whole.place().shape.plane);
                EXPECT_NEAR(under[n].weight, flat[n].weight, 1e-12);
            }
        }
    }
}

// A needle of one column, on which no polynomial fits.
TEST(point_weights, take_the_nearest_point_where_ground_is_narrow) {
    auto surface = columns_of(9, 0);
    surface[8 + 17 * 6] = 50 * 3;
    const topography land(grid.cells, 50, surface);
    const grid_extent under{grid.cells, grid.h_m, &land};
    const plain_brick whole({{0, 0, 0}, grid.cells});
    const auto weights = reading_weights(staggering_of(field::vz), metres(8.5, 6.5, 3), under, whole.place(), nullptr);
    ASSERT_EQ(weights.size(), 1U);
    EXPECT_EQ(weights[0].offset, whole.place().shape.at(8, 6, 3));
    const auto of_stress = reading_weights(staggering_of(field::xz), metres(8.5, 6.5, 3.2), under, whole.place(), nullptr);
    ASSERT_EQ(of_stress.size(), 1U);
    EXPECT_EQ(of_stress[0].weight, 1);
}

TEST(point_weights, know_the_air) {
    const topography land(grid.cells, 50, columns_of(4, 0));
    const grid_extent under{grid.cells, grid.h_m, &land};
    EXPECT_EQ(why_not_inside({100, 100, 200}, under), "");
    EXPECT_EQ(why_not_inside({100, 100, 190}, under),
              "z = 190 m is in the air at x = 100 m, y = 100 m; allowed: 200 m (the ground's surface) or more");
}

} // namespace

} // namespace point_weights_tests
