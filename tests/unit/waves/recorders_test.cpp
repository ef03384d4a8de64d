#include "../../expect_user_error.hpp"
#include "../../waves_brick.hpp"

#include <craton/apps/waves/recorders.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace recorders_tests {
namespace {

using namespace craton;
using namespace craton::waves;
using tests::brick_of;
using tests::expect_user_error;
using tests::plain_brick;

const grid_extent grid{{15, 13, 12}, 100.0};
constexpr std::array shears{field::xy, field::xz, field::yz};

// Strain number c: a polynomial of degree 3 along each axis.
double strain(std::size_t c, double x, double y, double z) {
    const double n = static_cast<double>(c) + 1;
    return 1e-6 * (1 + 0.1 * n * x - 0.02 * y * y + 0.001 * z * z * z + 0.003 * x * y * z * (n - 3) + 0.0004 * x * x * x);
}
// Media that jump from cell to cell.
double scatter(double x, double y, double z) { return std::abs(std::sin(12.9898 * x + 78.233 * y + 37.719 * z)); }
double lambda_at(double x, double y, double z) { return tests::of_eleven_bits(2e10 * (1 + scatter(x, y, z))); }
double mu_at(double x, double y, double z) { return tests::of_eleven_bits(1e10 * (0.2 + 3 * scatter(y, z, x))); }
double memory_at(std::size_t c, double x, double y, double z) {
    return 1e4 * std::sin(static_cast<double>(c) + 5 * x + 7 * y + 11 * z);
}

// Stress that those strains make in those media, less memory variables.
void fill(plain_brick& brick, bool with_memory) {
    const staggering centre{};
    brick.fill(plain_brick::lambda, centre, [](double x, double y, double z) { return lambda_at(x, y, z); });
    brick.fill(plain_brick::mu, centre, [](double x, double y, double z) { return mu_at(x, y, z); });
    for (std::size_t c = 0; c < 6; ++c) {
        const auto where = c < 3 ? centre : staggering_of(shears[c - 3]);
        if (c >= 3) brick.fill(plain_brick::mu_xy + c - 3, where, [](double x, double y, double z) { return mu_at(x, y, z); });
        brick.fill(plain_brick::memory + c, where, [&](double x, double y, double z) { return memory_at(c, x, y, z); });
        brick.fill(plain_brick::stress + c, where, [&](double x, double y, double z) {
            double stress = 2 * mu_at(x, y, z) * strain(c, x, y, z);
            if (c < 3) stress += lambda_at(x, y, z) * (strain(0, x, y, z) + strain(1, x, y, z) + strain(2, x, y, z));
            return stress - (with_memory ? memory_at(c, x, y, z) : 0.0);
        });
    }
}

std::vector<position_m> random_points(int count, bool on_centres) {
    std::mt19937 random(3);
    std::vector<position_m> points;
    for (int n = 0; n < count; ++n) {
        position_m point{};
        for (std::size_t d = 0; d < 3; ++d) {
            point[d] = std::uniform_real_distribution<double>(0.5, static_cast<double>(grid.cells[d]) - 1.5)(random);
            if (on_centres) point[d] = std::floor(point[d]) + 0.5;
            point[d] *= grid.h_m;
        }
        points.push_back(point);
    }
    return points;
}

TEST(strain_recorder, gives_back_the_strain_that_made_the_stress) {
    for (const bool with_memory : {false, true}) {
        for (const bool on_centres : {false, true}) {
            plain_brick whole({{0, 0, 0}, grid.cells});
            fill(whole, with_memory);
            const auto points = random_points(200, on_centres);
            const strain_recorder recorder(points, grid, whole.place(), whole.view().media, nullptr);
            ASSERT_EQ(recorder.points().size(), points.size());
            std::vector<float> values(recorder.values());
            recorder.record(whole.view(with_memory), values);
            for (std::size_t n = 0; n < points.size(); ++n) {
                const auto& p = points[static_cast<std::size_t>(recorder.points()[n])];
                for (std::size_t c = 0; c < 6; ++c)
                    EXPECT_NEAR(values[c * points.size() + n], strain(c, p[0] / grid.h_m, p[1] / grid.h_m, p[2] / grid.h_m),
                                2e-6 * 1e-6 * 10)
                        << c;
            }
        }
    }
}

TEST(strain_recorder, parts_of_bricks_add_up_and_a_team_records_the_same) {
    plain_brick whole({{0, 0, 0}, grid.cells});
    fill(whole, false);
    auto points = random_points(1500, false);
    points.push_back({0, 0, 0}); // corners of the grid
    points.push_back({1500, 1300, 1200});
    const strain_recorder all(points, grid, whole.place(), whole.view().media, nullptr);
    std::vector<float> expected(all.values());
    all.record(whole.view(), expected);
    std::vector<double> sum(6 * points.size());
    base::thread_team team(3);
    for (std::int64_t b = 0; b < 12; ++b) {
        plain_brick brick(brick_of(grid.cells, {3, 2, 2}, b));
        fill(brick, false);
        const strain_recorder part(points, grid, brick.place(), brick.view().media, nullptr);
        std::vector<float> values(part.values());
        std::vector<float> by_team(part.values());
        part.record(brick.view(), values);
        part.record(brick.view(), by_team, &team);
        EXPECT_EQ(values, by_team);
        for (std::size_t c = 0; c < 6; ++c) {
            for (std::size_t n = 0; n < part.points().size(); ++n)
                sum[c * points.size() + static_cast<std::size_t>(part.points()[n])] +=
                    static_cast<double>(values[c * part.points().size() + n]);
        }
    }
    for (std::size_t c = 0; c < 6; ++c) {
        for (std::size_t n = 0; n < points.size(); ++n) {
            const auto here = static_cast<double>(expected[c * points.size() + n]);
            EXPECT_NEAR(sum[c * points.size() + static_cast<std::size_t>(all.points()[n])], here, 2e-11);
        }
    }
}

TEST(strain_recorder, in_fluids_strain_is_the_change_of_volume) {
    plain_brick whole({{0, 0, 0}, grid.cells});
    const auto pressure = [](double, double, double) { return 3e-5 * 0x1p31; };
    for (std::size_t c = 0; c < 3; ++c) whole.fill(plain_brick::stress + c, {}, pressure);
    for (std::size_t c = 3; c < 6; ++c)
        whole.fill(plain_brick::stress + c, staggering_of(shears[c - 3]), [](double, double, double) { return 0.0; });
    whole.fill(plain_brick::lambda, {}, [](double, double, double) { return 0x1p31; });
    for (std::size_t m = plain_brick::mu; m <= plain_brick::mu_yz; ++m) {
        whole.fill(m, m == plain_brick::mu ? staggering{} : staggering_of(shears[m - plain_brick::mu_xy]),
                   [](double, double, double) { return 0.0; });
    }
    const std::vector<position_m> points{{512, 631, 320}};
    const strain_recorder recorder(points, grid, whole.place(), whole.view().media, nullptr);
    std::vector<float> values(6);
    recorder.record(whole.view(), values);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(values[c], 1e-5, 1e-11); // p = lambda * 3 e
    for (std::size_t c = 3; c < 6; ++c) EXPECT_EQ(values[c], 0.0F);
}

TEST(station_recorder, reads_each_velocity_where_the_station_is) {
    plain_brick whole({{0, 0, 0}, grid.cells});
    constexpr std::array velocities{field::vx, field::vy, field::vz};
    for (std::size_t c = 0; c < 3; ++c)
        whole.fill(c, staggering_of(velocities[c]), [&](double x, double y, double z) { return 1e6 * strain(c, x, y, z); });
    auto stations = random_points(40, false);
    stations.push_back({730, 555, 0}); // on the surface: half a cell above the first vx
    station_recorder recorder(stations, grid, whole.place(), nullptr);
    std::vector<float> values(recorder.values());
    recorder.record(whole.view(), values);
    for (std::size_t n = 0; n < stations.size(); ++n) {
        const auto& p = stations[static_cast<std::size_t>(recorder.points()[n])];
        for (std::size_t c = 0; c < 3; ++c)
            EXPECT_NEAR(values[c * stations.size() + n], 1e6 * strain(c, p[0] / grid.h_m, p[1] / grid.h_m, p[2] / grid.h_m), 3e-5);
    }
}

TEST(recorders, refuse_points_outside_and_numbers_that_are_none) {
    plain_brick whole({{0, 0, 0}, grid.cells});
    std::vector<position_m> points{{100, 100, 100}, {1501, 100, 100}};
    expect_user_error([&] { station_recorder(points, grid, whole.place(), nullptr); },
                      "station 2 of 2: x = 1501 m is not in the grid; allowed: 0 to 1500 m");
    points[1] = {100, std::numeric_limits<double>::quiet_NaN(), 100};
    expect_user_error([&] { strain_recorder(points, grid, whole.place(), whole.view().media, nullptr); },
                      "strain point 2 of 2: y = nan m is not in the grid");
    brick_place large = whole.place();
    large.shape.plane = std::int64_t{1} << 30;
    expect_user_error([&] { station_recorder({}, grid, large, nullptr); }, "allowed where points are recorded: up to 2147483647");
}

} // namespace

} // namespace recorders_tests
