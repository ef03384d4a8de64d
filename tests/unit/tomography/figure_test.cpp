// The Earth's ellipticity and rotation, and what they do to modes.

#include "small_problem.hpp"

#include <craton/apps/tomography/figure.hpp>
#include <craton/apps/tomography/forward_problem.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace {

using namespace craton;
using namespace craton::tomography;

// Dahlen & Tromp 1998, section 14.1: 1 / 299.8 at the surface of PREM; 1 / 392.7 at the core.
TEST(figure_test, ellipticity_of_prem) {
    const hydrostatic_figure figure(earth_model::prem());
    EXPECT_NEAR(1 / figure.ellipticity(6371e3), 299.8, 0.15);
    EXPECT_NEAR(1 / figure.ellipticity(3480e3), 392.7, 0.15);
    EXPECT_LT(figure.ellipticity(0), figure.ellipticity(1221.5e3));
    EXPECT_EQ(figure.ellipticity(7000e3), figure.ellipticity(6371e3));
}

TEST(figure_test, a_stretched_earth_has_the_same_material_elsewhere) {
    for (const earth_model& earth : {earth_model::prem(), earth_model::prem_isotropic()}) {
        const hydrostatic_figure figure(earth);
        for (const double s : {-0.5, 0.5}) {
            const earth_model other = stretched(earth, s);
            EXPECT_NE(other.name(), earth.name());
            for (const double r : {500e3, 2000e3, 3480e3, 4000e3, 5701e3, 6000e3, 6200e3, 6360e3}) {
                const material here = earth.evaluate(r, true);
                const material there = other.evaluate(r * (1 + s * figure.ellipticity(r)) * (1 - 1e-12), true);
                EXPECT_NEAR(there.density_kg_m3, here.density_kg_m3, 1e-6 * here.density_kg_m3) << r;
                EXPECT_NEAR(there.vsh_m_s, here.vsh_m_s, 2e-6 * here.vsh_m_s + 1e-6) << r;
                EXPECT_NEAR(there.eta, here.eta, 1e-6) << r;
            }
        }
        EXPECT_NEAR(stretched(earth, 0).surface_radius_m(), earth.surface_radius_m(), 1e-6);
    }
}

// Rotational splitting b = chi W / omega of Dahlen & Sailor (1979), times 1000.
TEST(figure_test, coriolis_splitting_of_low_modes) {
    const auto modes = spheroidal_catalogue::solve(earth_model::prem(), {.shortest_period_s = 1000});
    const auto chi = coriolis_parameters(modes);
    const std::vector<double> published{0, 0, 14.905, 4.621, 1.834};
    for (std::size_t i = 0; i < chi.size(); ++i) {
        const auto l = static_cast<std::size_t>(modes.arrays().l[i]);
        if (modes.arrays().n[i] != 0) continue;
        if (l == 0) {
            EXPECT_EQ(chi[i], 0);
        }
        if (l < 2 || l > 4) continue;
        EXPECT_NEAR(1e3 * chi[i] * rotation_rad_s / modes.arrays().omega_rad_s[i], published[l], 3e-3 * published[l]);
    }
}

TEST(figure_test, means_along_paths_are_those_of_many_points) {
    const forward_problem forward = tomography::testing::small_problem();
    const std::vector<event> events{tomography::testing::some_event()};
    const std::vector<station> stations{{48.3, 8.3}, {71.3, -156.8}};
    for (const orbit along : {orbit::minor, orbit::major}) {
        for (std::int64_t s = 0; s < 2; ++s) {
            const std::vector<path_request> requests{{.event = 0, .station = s, .samples = 10, .along = along}};
            const path_set paths(forward, events, stations, requests);
            const path& p = paths[0];
            const int points = 20000;
            const double step = (p.end_rad() - p.begin_rad()) / points;
            double mean = 0;
            for (int i = 0; i < points; ++i) {
                const double phi = p.begin_rad() + (i + 0.5) * step;
                const double z = p.arc().at(phi).z;
                mean += (1.0 / 3 - z * z) / points; // -2/3 P_2
            }
            EXPECT_NEAR(p.stretch(), mean, 1e-8);
        }
    }
}

TEST(figure_test, waves_to_the_east_go_round_the_same_axis_as_the_earth) {
    const forward_problem forward = tomography::testing::small_problem();
    const std::vector<event> events{{0, 10, 30e3, {0, 0, 0, 1e20, 0, 0}, 0}};
    const std::vector<station> stations{{0, 80}, {60, 10}};
    const auto eastward = [&](std::int64_t station, orbit along) {
        const std::vector<path_request> requests{{.event = 0, .station = station, .samples = 10, .along = along}};
        return path_set(forward, events, stations, requests)[0].eastward();
    };
    EXPECT_NEAR(eastward(0, orbit::minor), 1, 1e-12);
    EXPECT_NEAR(eastward(0, orbit::major), -1, 1e-12);
    EXPECT_NEAR(eastward(1, orbit::minor), 0, 1e-12);
}

} // namespace
