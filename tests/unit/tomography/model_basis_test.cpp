#include <craton/apps/tomography/model_basis.hpp>

#include "../../expect_user_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>

namespace craton::tomography::model_basis_tests {
namespace {

using craton::tests::expect_user_error;
constexpr double degree = std::numbers::pi / 180;

unit_vector random_point(std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    const double x = normal(random), y = normal(random), z = normal(random);
    const double r = std::sqrt(x * x + y * y + z * z);
    return {x / r, y / r, z / r};
}

/// All knots, one after the other; the piecewise cubic written out.
std::map<std::int32_t, double> weights_by_brute_force(const lateral_splines& splines, const unit_vector& p) {
    std::map<std::int32_t, double> out;
    for (std::size_t a = 0; a < splines.knots().size(); ++a) {
        const unit_vector& k = splines.knots()[a];
        const double d = std::acos(std::clamp(p.x * k.x + p.y * k.y + p.z * k.z, -1.0, 1.0)) / splines.spacing_rad();
        double value = 0;
        if (d < 1) {
            value = 0.75 * std::pow(d, 3) - 1.5 * std::pow(d, 2) + 1;
        } else if (d < 2) {
            value = std::pow(2 - d, 3) / 4;
        }
        if (value > 0) {
            out[static_cast<std::int32_t>(a)] = value;
        }
    }
    return out;
}

TEST(lateral_splines, knots_are_as_many_as_they_should_be_and_evenly_spread) {
    for (int level = 1; level <= 6; ++level) {
        const lateral_splines splines(level);
        EXPECT_EQ(splines.size(), 10 * (1ll << (2 * (level - 1))) + 2);
        for (const unit_vector& k : splines.knots()) {
            EXPECT_NEAR(k.x * k.x + k.y * k.y + k.z * k.z, 1, 1e-14);
        }
    }
    // Every knot's nearest neighbour is about one spacing away: the edges of the subdivided icosahedron differ by up to 20%.
    const lateral_splines splines(4);
    for (const unit_vector& a : splines.knots()) {
        double nearest = 10;
        for (const unit_vector& b : splines.knots()) {
            if (&a != &b) {
                nearest = std::min(nearest, distance_rad(a, b));
            }
        }
        EXPECT_NEAR(nearest / splines.spacing_rad(), 1, 0.2);
    }
}

TEST(lateral_splines, a_coarser_levels_knots_come_first) {
    const lateral_splines coarse(3);
    const lateral_splines fine(4);
    for (std::size_t a = 0; a < coarse.knots().size(); ++a) {
        EXPECT_EQ(coarse.knots()[a].x, fine.knots()[a].x);
        EXPECT_EQ(coarse.knots()[a].y, fine.knots()[a].y);
        EXPECT_EQ(coarse.knots()[a].z, fine.knots()[a].z);
    }
}

TEST(lateral_splines, weights_equal_brute_force_everywhere_poles_included) {
    std::mt19937_64 random(3);
    for (int level = 1; level <= 5; ++level) {
        const lateral_splines splines(level);
        std::vector<unit_vector> points{{0, 0, 1},  {0, 0, -1}, {1, 0, 0},
                                        {-1, 0, 0}, {0, 1, 0},  position(89.9 * degree, -179.9 * degree)};
        for (int i = 0; i < 200; ++i) {
            points.push_back(random_point(random));
        }
        for (const unit_vector& p : points) {
            sparse_weights found;
            splines.weights_at(p, found);
            // acos loses half its digits near 0, so knots at the very rim, where the spline is below 1e-12, do not count.
            std::map<std::int32_t, double> missing = weights_by_brute_force(splines, p);
            for (std::size_t at = 0; at < found.knot.size(); ++at) {
                if (at > 0) {
                    EXPECT_LT(found.knot[at - 1], found.knot[at]);
                }
                EXPECT_NEAR(found.value[at], missing.contains(found.knot[at]) ? missing[found.knot[at]] : 0.0, 1e-9);
                missing.erase(found.knot[at]);
            }
            for (const auto& [knot, value] : missing) {
                EXPECT_LT(value, 1e-12) << knot;
            }
        }
    }
}

TEST(lateral_splines, sum_of_the_splines_is_2_14) {
    std::mt19937_64 random(5);
    const lateral_splines splines(7);
    sparse_weights found;
    double sum = 0;
    double active = 0;
    const int points = 20000;
    for (int i = 0; i < points; ++i) {
        splines.weights_at(random_point(random), found);
        for (const double value : found.value) {
            sum += value;
        }
        active += static_cast<double>(found.knot.size());
    }
    EXPECT_NEAR(sum / points, 2.14, 0.02);
    EXPECT_NEAR(active / points, 12.2, 0.15);
}

TEST(lateral_splines, path_average_equals_a_fine_trapezoidal_sum_over_all_knots) {
    std::mt19937_64 random(9);
    for (const int level : {1, 3, 4}) {
        const lateral_splines splines(level);
        for (int i = 0; i < 3; ++i) {
            const unit_vector from = random_point(random);
            const unit_vector to = random_point(random);
            const great_circle_arc arc(from, to);
            std::map<std::int32_t, double> expected;
            const int steps = 4000;
            for (int s = 0; s <= steps; ++s) {
                const double share = (s == 0 || s == steps ? 0.5 : 1.0) / steps;
                for (const auto& [knot, value] : weights_by_brute_force(splines, arc.at(arc.length_rad() * s / steps))) {
                    expected[knot] += share * value;
                }
            }
            const sparse_weights found = splines.path_average(from, to);
            for (std::size_t at = 0; at < found.knot.size(); ++at) {
                EXPECT_NEAR(found.value[at], expected[found.knot[at]], 1e-5);
                if (at > 0) {
                    EXPECT_LT(found.knot[at - 1], found.knot[at]);
                }
                expected.erase(found.knot[at]);
            }
            for (const auto& [knot, value] : expected) {
                EXPECT_LT(value, 1e-5) << knot;
            }
        }
    }
}

TEST(radial_splines, sum_to_one_between_the_ends_and_vanish_outside) {
    const radial_splines splines({3480e3, 3900e3, 4500e3, 5200e3, 5701e3, 6000e3, 6151e3, 6300e3, 6346e3});
    std::vector<double> values(9);
    for (double r = 3480e3; r <= 6346e3; r += 999.7) {
        splines.evaluate(r, values);
        double sum = 0;
        for (const double v : values) {
            EXPECT_GE(v, 0);
            sum += v;
        }
        EXPECT_NEAR(sum, 1, 1e-14);
    }
    splines.evaluate(3480e3, values);
    EXPECT_DOUBLE_EQ(values.front(), 1);
    splines.evaluate(6346e3, values);
    EXPECT_DOUBLE_EQ(values.back(), 1);
    for (const double outside : {3479e3, 6347e3}) {
        splines.evaluate(outside, values);
        for (const double v : values) {
            EXPECT_EQ(v, 0);
        }
    }
}

TEST(radial_splines, every_spline_peaks_near_its_knot) {
    const std::vector<double> knots{3480e3, 3900e3, 4500e3, 5200e3, 5701e3, 6000e3, 6151e3, 6300e3, 6346e3};
    const radial_splines splines(knots);
    std::vector<double> values(knots.size()), best(knots.size(), 0.0), where(knots.size(), 0.0);
    for (double r = knots.front(); r <= knots.back(); r += 500) {
        splines.evaluate(r, values);
        for (std::size_t i = 0; i < knots.size(); ++i) {
            if (values[i] > best[i]) {
                best[i] = values[i];
                where[i] = r;
            }
        }
    }
    for (std::size_t i = 0; i < knots.size(); ++i) {
        const double below = i > 0 ? knots[i - 1] : knots[i];
        const double above = i + 1 < knots.size() ? knots[i + 1] : knots[i];
        EXPECT_GE(where[i], below - 500) << i;
        EXPECT_LE(where[i], above + 500) << i;
    }
}

TEST(model_basis, evaluates_the_product_of_the_splines_with_the_radial_index_fastest) {
    const model_basis basis(3, {3480e3, 4500e3, 5500e3, 6100e3, 6371e3});
    std::vector<double> model(static_cast<std::size_t>(basis.size()), 0.0);
    model[17 * 5 + 2] = 0.04;
    const unit_vector& knot = basis.lateral().knots()[17];
    const std::vector<double> latitude{latitude_rad(knot) / degree, latitude_rad(knot) / degree};
    const std::vector<double> longitude{longitude_rad(knot) / degree, longitude_rad(knot) / degree};
    const std::vector<double> radius{5400e3, 6371e3};
    std::vector<double> splines(5);
    basis.radial().evaluate(5400e3, splines);
    const auto values = basis.evaluate(model, latitude, longitude, radius);
    EXPECT_NEAR(values[0], 0.04 * splines[2], 1e-15);
    EXPECT_EQ(values[1], 0);
}

TEST(model_basis, errors) {
    const std::vector<double> knots{3480e3, 4500e3, 5500e3, 6371e3};
    expect_user_error([&] { const model_basis basis(0, knots); }, {"level 0", "1 to 8"});
    expect_user_error([&] { const model_basis basis(9, knots); }, {"level 9", "1 to 8"});
    expect_user_error([] { const model_basis basis(2, {3480e3, 4500e3, 6371e3}); }, {"3 radial knots", "4 or more"});
    expect_user_error([] { const model_basis basis(2, {3480e3, 4500e3, 4500e3, 6371e3}); }, {"knot 2", "4500000"});
    expect_user_error([] { const model_basis basis(2, {-1, 4500e3, 5000e3, 6371e3}); }, {"knot 0", "-1"});
    expect_user_error([] { const model_basis basis(2, {3480e3, 4500e3, 5000e3, std::nan("")}); }, {"knot 3", "nan"});
    expect_user_error([] { const model_basis basis(2, {3480e3, 4500e3, 5000e3, HUGE_VAL}); }, {"knot 3", "inf"});
    const model_basis basis(2, knots);
    const std::vector<double> one{0.0}, two{0.0, 0.0}, model(static_cast<std::size_t>(basis.size()), 0.0);
    expect_user_error([&] { static_cast<void>(basis.evaluate(two, one, one, one)); }, {"2 parameters", "168"});
    expect_user_error([&] { static_cast<void>(basis.evaluate(model, one, two, one)); }, {"equally many"});
}

TEST(model_basis, parameters_may_have_splines_of_their_own) {
    const std::vector<double> fine{3480e3, 4000e3, 4700e3, 5500e3, 6000e3, 6368e3}, coarse{3480e3, 4500e3, 5600e3, 6368e3};
    const model_basis vs(3, fine), xi(2, coarse), both(vs, xi);
    EXPECT_FALSE(both.same_splines());
    EXPECT_TRUE(model_basis(2, coarse, 2).same_splines());
    EXPECT_EQ(both.size(), 162 * 6 + 42 * 4);
    EXPECT_EQ(both.columns(), 10);
    EXPECT_EQ(both.spacing_rad(), vs.lateral().spacing_rad());
    EXPECT_EQ(both.part(1).shape(), xi.shape());
    EXPECT_EQ(both.part(0).shape(), vs.shape());

    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    std::vector<double> model(static_cast<std::size_t>(both.size()));
    for (double& m : model) m = normal(random);
    const std::span<const double> all(model);
    const std::vector<double> latitude{-41, 7, 80}, longitude{-170, 20, 100}, radius{3500e3, 5000e3, 6300e3};
    EXPECT_EQ(both.evaluate(all, latitude, longitude, radius, 0), vs.evaluate(all.first(162 * 6), latitude, longitude, radius));
    EXPECT_EQ(both.evaluate(all, latitude, longitude, radius, 1), xi.evaluate(all.last(42 * 4), latitude, longitude, radius));

    expect_user_error([&] { model_basis(vs, model_basis(2, {3480e3, 4500e3, 5600e3, 6300e3})); }, "the same ends");
    expect_user_error([&] { (void)both.part(2); }, "allowed: 0 to 1");
}

} // namespace
} // namespace craton::tomography::model_basis_tests
