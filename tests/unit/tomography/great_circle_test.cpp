#include <craton/apps/tomography/kernels/great_circle.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace craton::tomography::great_circle_tests {
namespace {

constexpr double degree = std::numbers::pi / 180;

unit_vector at_deg(double latitude, double longitude) { return position(latitude * degree, longitude * degree); }

TEST(great_circle, distances_and_azimuths_of_known_pairs) {
    EXPECT_NEAR(distance_rad(at_deg(0, 0), at_deg(0, 90)), 90 * degree, 1e-15);
    EXPECT_NEAR(distance_rad(at_deg(90, 0), at_deg(-30, 77)), 120 * degree, 1e-15);
    EXPECT_NEAR(distance_rad(at_deg(10, 0), at_deg(10, 1e-7)), 1e-7 * degree * std::cos(10 * degree), 1e-17);
    EXPECT_NEAR(azimuth_rad(at_deg(0, 0), at_deg(0, 50)), 90 * degree, 1e-15);
    EXPECT_NEAR(azimuth_rad(at_deg(0, 0), at_deg(0, -50)), 270 * degree, 1e-15);
    EXPECT_NEAR(azimuth_rad(at_deg(0, 0), at_deg(-50, 0)), 180 * degree, 1e-15);
    EXPECT_NEAR(azimuth_rad(at_deg(0, 0), at_deg(50, 0)), 0, 1e-15);
    // Paris to New York on a sphere, by the haversine formula.
    const double a1 = 48.8567 * degree, a2 = 40.7128 * degree, lon = (-74.0060 - 2.3508) * degree;
    const double haversine = std::pow(std::sin((a2 - a1) / 2), 2) + std::cos(a1) * std::cos(a2) * std::pow(std::sin(lon / 2), 2);
    EXPECT_NEAR(distance_rad(at_deg(48.8567, 2.3508), at_deg(40.7128, -74.0060)), 2 * std::asin(std::sqrt(haversine)), 1e-14);
    EXPECT_NEAR(azimuth_rad(at_deg(48.8567, 2.3508), at_deg(40.7128, -74.0060)) / degree, 291.79, 0.01);
}

TEST(great_circle, geocentric_latitudes) {
    EXPECT_EQ(geocentric_latitude_rad(0), 0);
    EXPECT_NEAR(geocentric_latitude_rad(90 * degree), 90 * degree, 1e-15);
    EXPECT_NEAR(geocentric_latitude_rad(-90 * degree), -90 * degree, 1e-15);
    // The difference is largest near 45 degrees: 11.55 minutes of arc on WGS84.
    EXPECT_NEAR((45 * degree - geocentric_latitude_rad(45 * degree)) / degree * 60, 11.55, 0.01);
}

TEST(great_circle, left_of_the_way_east_is_north) {
    const unit_vector left = great_circle_arc(position(0, 0.3), position(0, 1.7)).left();
    EXPECT_NEAR(left.x, 0, 1e-15);
    EXPECT_NEAR(left.y, 0, 1e-15);
    EXPECT_NEAR(left.z, 1, 1e-15);
}

TEST(great_circle, points_of_an_arc_are_at_their_distance_on_the_same_course) {
    const unit_vector from = at_deg(35, 140);
    const unit_vector to = at_deg(-12, -77);
    const great_circle_arc arc(from, to);
    EXPECT_DOUBLE_EQ(arc.length_rad(), distance_rad(from, to));
    for (int i = 1; i <= 8; ++i) {
        const double angle = arc.length_rad() * i / 8;
        const unit_vector p = arc.at(angle);
        EXPECT_NEAR(distance_rad(from, p), angle, 1e-14);
        EXPECT_NEAR(azimuth_rad(from, p), azimuth_rad(from, to), 1e-13);
    }
    EXPECT_NEAR(distance_rad(arc.at(arc.length_rad()), to), 0, 1e-15);
}

} // namespace
} // namespace craton::tomography::great_circle_tests
