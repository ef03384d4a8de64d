#include <craton/apps/scf/angular_parts.hpp>
#include <craton/apps/scf/functions_at_points.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace craton::scf {
namespace functions_at_points_tests {

using position = std::array<double, 3>;

const std::vector<double> exponents{0.4, 1.7};
const std::vector<double> coefficients{0.3, -0.8, 1.1, 0.2}; // of two contractions
const position centre{0.3, -0.2, 0.5};

std::vector<double> values(int l, const std::vector<position>& points, bool derivatives, bool cartesian = false) {
    const plain_shell shell{centre, l, exponents, coefficients};
    const shell_values of(l, cartesian);
    std::array<std::vector<double>, 3> along;
    for (std::size_t x = 0; x < 3; ++x)
        for (const position& each : points) along[x].push_back(each[x]);
    const std::size_t stride = 2 * static_cast<std::size_t>(angular_parts(l, cartesian)) * points.size();
    std::vector<double> out((derivatives ? 4 : 1) * stride), scratch(of.scratch_doubles(points.size()));
    of.compute(shell, {along[0].data(), along[1].data(), along[2].data()}, points.size(), derivatives, out.data(), stride,
               scratch.data());
    return out;
}

TEST(scf_functions_at_points, are_gaussians_times_harmonics) {
    const position at{1.1, 0.4, -0.3};
    const double x = at[0] - centre[0], y = at[1] - centre[1], z = at[2] - centre[2], square = x * x + y * y + z * z;
    const auto radial = [&](std::size_t c) {
        return coefficients[2 * c] * std::exp(-exponents[0] * square) + coefficients[2 * c + 1] * std::exp(-exponents[1] * square);
    };
    const double pi = std::numbers::pi;
    for (std::size_t c = 0; c < 2; ++c) {
        EXPECT_NEAR(values(0, {at}, false)[c], radial(c) / std::sqrt(4 * pi), 1e-15);
        const std::vector<double> p = values(1, {at}, false), d = values(2, {at}, false);
        const double of_p = std::sqrt(3 / (4 * pi)), of_d = std::sqrt(15 / (4 * pi));
        EXPECT_NEAR(p[3 * c], of_p * x * radial(c), 1e-15);
        EXPECT_NEAR(p[3 * c + 1], of_p * y * radial(c), 1e-15);
        EXPECT_NEAR(p[3 * c + 2], of_p * z * radial(c), 1e-15);
        EXPECT_NEAR(d[5 * c], of_d * x * y * radial(c), 1e-15);
        EXPECT_NEAR(d[5 * c + 2], std::sqrt(5 / (16 * pi)) * (3 * z * z - square) * radial(c), 1e-15);
        EXPECT_NEAR(d[5 * c + 4], of_d / 2 * (x * x - y * y) * radial(c), 1e-15);
        const std::vector<double> cartesian = values(2, {at}, false, true);
        EXPECT_EQ(values(1, {at}, false, true), p);
        EXPECT_NEAR(cartesian[6 * c], x * x * radial(c), 1e-15);
        EXPECT_NEAR(cartesian[6 * c + 1], x * y * radial(c), 1e-15);
        EXPECT_NEAR(cartesian[6 * c + 2], x * z * radial(c), 1e-15);
        EXPECT_NEAR(cartesian[6 * c + 3], y * y * radial(c), 1e-15);
        EXPECT_NEAR(cartesian[6 * c + 5], z * z * radial(c), 1e-15);
    }
}

void expect_derivatives_of_values(int l, bool cartesian) {
    constexpr double step = 1e-4;
    const std::vector<position> points{{1.1, 0.4, -0.3}, {0.3, -0.2, 0.5}, {-1, 2, 0.1}};
    const std::size_t stride = 2 * static_cast<std::size_t>(angular_parts(l, cartesian)) * points.size();
    const std::vector<double> found = values(l, points, true, cartesian);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        auto ahead = points, behind = points;
        for (position& each : ahead) each[axis] += step;
        for (position& each : behind) each[axis] -= step;
        const std::vector<double> more = values(l, ahead, false, cartesian), less = values(l, behind, false, cartesian);
        for (std::size_t n = 0; n < stride; ++n)
            EXPECT_NEAR(found[(1 + axis) * stride + n], (more[n] - less[n]) / (2 * step), 2e-6) << l << ' ' << axis << ' ' << n;
    }
    const std::vector<double> alone = values(l, points, false, cartesian);
    for (std::size_t n = 0; n < stride; ++n) EXPECT_EQ(found[n], alone[n]);
}

TEST(scf_functions_at_points, derivatives_are_those_of_the_values) {
    for (int l = 0; l <= 6; ++l) {
        expect_derivatives_of_values(l, false);
        expect_derivatives_of_values(l, true);
    }
}

} // namespace functions_at_points_tests
} // namespace craton::scf
