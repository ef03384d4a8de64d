#include <craton/apps/tomography/spheroidal_catalogue.hpp>

#include "../../expect_user_error.hpp"
#include "../../sanitized.hpp"
#include "reference_periods.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <numbers>

namespace craton::tomography::spheroidal_catalogue_tests {
namespace {

using craton::tests::expect_user_error;
constexpr double pi = std::numbers::pi;

/// Rows of an independent mode code's table (PREM with its ocean), so that the test says something without the table too.
const std::array<reference_row, 8> some_rows{{{{0, 2}, 3217.008, 3233.471},
                                              {{0, 11}, 533.9966, 537.3584},
                                              {{1, 2}, 1460.189, 1471.265},
                                              {{2, 2}, 1041.525, 1066.283},
                                              {{2, 10}, 411.9744, 416.4142},
                                              {{3, 2}, 898.4907, 904.0852},
                                              {{4, 8}, 288.3777, 294.3828},
                                              {{4, 11}, 247.8205, 249.3618}}};

const spheroidal_catalogue& elastic() {
    static const auto modes = spheroidal_catalogue::solve(earth_model::prem_isotropic_ocean(), {100, false, true});
    return modes;
}

const spheroidal_catalogue& dispersed() {
    static const auto modes = spheroidal_catalogue::solve(earth_model::prem_isotropic_ocean(), {100, true, true});
    return modes;
}

TEST(spheroidal_catalogue, periods_of_a_few_modes) { expect_periods(some_rows, "S", elastic(), dispersed(), 1e-6); }

TEST(spheroidal_catalogue, periods_of_the_reference_table) {
    if (craton::tests::sanitized) GTEST_SKIP() << "takes too long under a sanitizer; the other tests run the same code";
    const std::vector<reference_row> rows = reference_rows("S");
    if (!std::ifstream(reference_table())) {
        GTEST_SKIP() << "the reference table is not at " << reference_table() << " (set CRATON_SHARED)";
    }
    ASSERT_GT(rows.size(), 30u);
    expect_periods(rows, "S", elastic(), dispersed(), 1e-6);
}

TEST(spheroidal_catalogue, fundamental_modes_agree_with_the_published_ones) {
    const std::array<double, 8> published_s{3233.45, 2134.44, 1545.73, 1190.19, 963.51, 812.16, 707.83, 634.01};
    const auto own = periods(dispersed());
    double worst = 0;
    for (std::size_t i = 0; i < published_s.size(); ++i) {
        const mode_name name{0, static_cast<std::int64_t>(i) + 2};
        EXPECT_NEAR(own.at(name) / published_s[i], 1, 3e-5) << "0S" << i + 2;
        worst = std::max(worst, std::abs(own.at(name) / published_s[i] - 1));
    }
    std::printf("0S2 to 0S9: largest relative difference from the published periods %.2e\n", worst);
}

TEST(spheroidal_catalogue, anisotropy_moves_long_fundamental_modes_little) {
    // PREM's two forms were fitted to the same modes: beyond 300 s fundamental spheroidal modes agree within 0.1%.
    const auto isotropic = periods(dispersed());
    const auto anisotropic = periods(spheroidal_catalogue::solve(earth_model::prem(), {300}));
    double worst = 0;
    for (const auto& [name, period] : anisotropic) {
        if (name.first == 0) {
            worst = std::max(worst, std::abs(isotropic.at(name) / period - 1));
        }
    }
    EXPECT_GT(worst, 1e-5);
    EXPECT_LT(worst, 1e-3);
    std::printf("anisotropic against isotropic PREM, 0Sl beyond 300 s: up to %.2e\n", worst);
}

TEST(spheroidal_catalogue, is_complete_and_ordered) {
    if (craton::tests::sanitized) GTEST_SKIP() << "takes too long under a sanitizer; the other tests run the same code";
    const spheroidal_arrays& a = dispersed().arrays();
    std::map<std::int64_t, std::int64_t> next{{1, 2}};
    for (std::size_t i = 0; i < a.n.size(); ++i) {
        EXPECT_EQ(a.n[i], next[a.l[i]]++);
        EXPECT_GE(2 * pi / a.omega_rad_s[i], 100);
        if (i > 0) {
            EXPECT_GE(a.l[i], a.l[i - 1]);
            if (a.l[i] == a.l[i - 1]) {
                EXPECT_GT(a.omega_rad_s[i], a.omega_rad_s[i - 1]);
            }
        }
    }
    // Another window, other bands of frequency: the same modes.
    const auto own = periods(dispersed());
    const auto wide = periods(spheroidal_catalogue::solve(earth_model::prem_isotropic_ocean(), {87}));
    const auto count = std::count_if(wide.begin(), wide.end(), [](const auto& mode) { return mode.second > 100; });
    EXPECT_EQ(static_cast<std::int64_t>(own.size()), count);
    for (const auto& [name, period] : own) {
        EXPECT_NEAR(wide.at(name) / period, 1, 2e-5) << name.first << "S" << name.second;
    }
}

/// Integrates along the mesh by composite Gauss-Legendre with five points (DLMF 3.5) between neighbouring nodes; f(r).
template <class Function> double integrate(const radial_mesh& mesh, Function f) {
    const std::array<double, 5> x{-0.9061798459386640, -0.5384693101056831, 0, 0.5384693101056831, 0.9061798459386640};
    const std::array<double, 5> w{0.2369268850561891, 0.4786286704993665, 0.5688888888888889, 0.4786286704993665,
                                  0.2369268850561891};
    double sum = 0;
    const auto nodes = mesh.nodes_m();
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
        const double half = 0.5 * (nodes[i + 1] - nodes[i]);
        for (std::size_t q = 0; q < 5; ++q) {
            sum += half * w[q] * f(nodes[i] + half * (1 + x[q]));
        }
    }
    return sum;
}

TEST(spheroidal_catalogue, overtones_are_orthonormal) {
    const spheroidal_catalogue& modes = elastic();
    double worst = 0;
    for (const std::int64_t degree : {0, 1, 2, 9, 30}) {
        std::vector<std::int64_t> branch;
        for (std::int64_t i = 0; i < modes.size(); ++i) {
            if (modes.arrays().l[static_cast<std::size_t>(i)] == degree) {
                branch.push_back(i);
            }
        }
        ASSERT_GE(branch.size(), 2u);
        for (const std::int64_t a : branch) {
            for (const std::int64_t b : branch) {
                const double product = integrate(modes.mesh(), [&](double r) {
                    const spheroidal_point p = modes.evaluate(a, r);
                    const spheroidal_point q = modes.evaluate(b, r);
                    return modes.earth().evaluate(r).density_kg_m3 * r * r * (p.u * q.u + p.v * q.v);
                });
                worst = std::max(worst, std::abs(product - (a == b ? 1 : 0)));
            }
        }
    }
    EXPECT_LE(worst, 1e-7);
    std::printf("orthonormality: largest error %.2e\n", worst);
}

TEST(spheroidal_catalogue, frequency_is_the_rayleigh_quotient_of_the_eigenfunction) {
    // The functional written out at one point, integrated by another rule, with the potential of the mode itself.
    const spheroidal_catalogue& modes = elastic();
    const earth_model& earth = modes.earth();
    const double a = earth.surface_radius_m();
    double worst = 0;
    for (const mode_name& name : {mode_name{0, 0}, {0, 2}, {1, 2}, {2, 1}, {3, 5}, {0, 30}, {7, 12}}) {
        std::int64_t mode = 0;
        while (mode_name{modes.arrays().n[static_cast<std::size_t>(mode)], modes.arrays().l[static_cast<std::size_t>(mode)]} !=
               name) {
            ++mode;
        }
        const double l = static_cast<double>(name.second);
        const double k = std::sqrt(l * (l + 1));
        const double four_pi_G = 4 * pi * gravitational_constant;
        double energy = integrate(modes.mesh(), [&](double r) {
            const spheroidal_point s = modes.evaluate(mode, r);
            const material at = earth.evaluate(r);
            const love_parameters m = at.love();
            const double g = earth.gravity_m_s2(r);
            const double G = 2 * s.u - k * s.v;
            const double rX = r * s.dv - s.v + k * s.u;
            // V' has no meaning in fluids, where L and N vanish.
            const double shear = m.L == 0 ? 0 : m.L * rX * rX + m.N * (k * k - 2) * s.v * s.v;
            return m.C * r * r * s.du * s.du + 2 * m.F * r * s.du * G + (m.A - m.N) * G * G + shear +
                   at.density_kg_m3 * (four_pi_G * at.density_kg_m3 * s.u * s.u * r * r - 4 * g * r * s.u * s.u +
                                       2 * k * g * r * s.u * s.v + 2 * r * r * s.u * s.dp + 2 * k * r * s.v * s.p) +
                   (r * r * s.dp * s.dp + k * k * s.p * s.p) / four_pi_G;
        });
        const double p = modes.evaluate(mode, a).p;
        energy += (l + 1) * a * p * p / four_pi_G;
        const double omega = modes.arrays().omega_rad_s[static_cast<std::size_t>(mode)];
        worst = std::max(worst, std::abs(energy / (omega * omega) - 1));
    }
    EXPECT_LE(worst, 1e-6);
    std::printf("Rayleigh quotient: largest relative error of w^2 %.2e\n", worst);
}

TEST(spheroidal_catalogue, the_potential_solves_poissons_equation) {
    // Radial modes: P' = -4 pi G rho U at every radius, and no change of gravity outside.
    const spheroidal_catalogue& modes = elastic();
    const earth_model& earth = modes.earth();
    for (const double r : {900e3, 2500e3, 4700e3, 6000e3}) {
        const spheroidal_point s = modes.evaluate(0, r);
        const double expected = -4 * pi * gravitational_constant * earth.evaluate(r).density_kg_m3 * s.u;
        EXPECT_NEAR(s.dp / expected, 1, 1e-4) << r;
    }
    EXPECT_EQ(modes.arrays().l[0], 0);
    EXPECT_NEAR(modes.evaluate(0, earth.surface_radius_m()).p / modes.evaluate(0, 3480e3).p, 0, 1e-6);
}

TEST(spheroidal_catalogue, group_velocity_is_the_slope_of_the_frequency) {
    const spheroidal_catalogue& modes = elastic();
    const spheroidal_options options{90, false, true}; // wider, so that a branch does not leave the window between two degrees
    double worst = 0;
    for (const std::int64_t degree : {2, 5, 20, 60}) {
        const double l = static_cast<double>(degree);
        const double h = 5e-4;
        const auto below = spheroidal_frequencies(modes.earth(), l - h, options);
        const auto above = spheroidal_frequencies(modes.earth(), l + h, options);
        const auto at = spheroidal_frequencies(modes.earth(), l, options);
        for (std::size_t i = 0; i < modes.arrays().n.size(); ++i) {
            if (modes.arrays().l[i] != degree) {
                continue;
            }
            // Undertones of the core may come or go between degrees: the branch is found by its frequency.
            const double omega = modes.arrays().omega_rad_s[i];
            const auto index = [&](const std::vector<double>& all) {
                return std::min_element(all.begin(), all.end(),
                                        [&](double a, double b) { return std::abs(a - omega) < std::abs(b - omega); });
            };
            ASSERT_NEAR(*index(at) / omega, 1, 1e-4);
            const double slope = (*index(above) - *index(below)) / (2 * h);
            const double velocity = modes.earth().solid_surface_radius_m() * slope;
            worst = std::max(worst, std::abs(modes.arrays().group_velocity_m_s[i] - velocity));
        }
    }
    EXPECT_LE(worst, 1);
    std::printf("group velocity: largest error %.2e m/s\n", worst);
}

TEST(spheroidal_catalogue, group_velocity_with_dispersion_is_the_slope_of_the_dispersed_frequencies) {
    if (craton::tests::sanitized) GTEST_SKIP() << "takes too long under a sanitizer; the other tests run the same code";
    // Between neighbouring integer degrees of 0Sl, fourth order; leaving out the factor 1 / (pi Q) would be an error of 2e-3.
    const auto own = periods(dispersed());
    const spheroidal_arrays& a = dispersed().arrays();
    double worst = 0;
    for (std::size_t i = 0; i < a.n.size(); ++i) {
        if (a.l[i] < 25 || a.n[i] != 0 || !own.contains({0, a.l[i] + 2})) {
            continue;
        }
        const auto omega = [&](std::int64_t step) { return 2 * pi / own.at({0, a.l[i] + step}); };
        const double slope = (8 * (omega(1) - omega(-1)) - (omega(2) - omega(-2))) / 12;
        worst = std::max(worst, std::abs(a.group_velocity_m_s[i] / (dispersed().earth().solid_surface_radius_m() * slope) - 1));
    }
    EXPECT_GT(worst, 0);
    EXPECT_LE(worst, 3e-4);
    std::printf("group velocity with dispersion: largest relative error %.2e\n", worst);
}

TEST(spheroidal_catalogue, q_is_the_derivative_of_the_frequency_by_the_moduli) {
    if (craton::tests::sanitized) GTEST_SKIP() << "takes too long under a sanitizer; the other tests run the same code";
    // 1/Q = (2 / w) dw/d(ln modulus) / Q_modulus: a model whose moduli are moved by loss() times a small number.
    const spheroidal_options options{250, false, true};
    const double step = 1e-3;
    const auto moved = [&](double by) {
        const earth_model prem = earth_model::prem_isotropic_ocean();
        std::vector<earth_layer> layers;
        for (earth_layer layer : prem.layers()) {
            // Polynomials of speeds cannot follow sums of squares; a constant factor in each can: dln mu = by / Q_mu where kappa
            // moves by the same ratio, so Q_kappa is made equal to Q_mu.
            const double q = std::isinf(layer.q_mu) ? 300 : layer.q_mu;
            layer.q_kappa = q;
            layer.q_mu = std::isinf(layer.q_mu) ? layer.q_mu : q;
            for (auto* speed : {&layer.vp, &layer.vs}) {
                for (double& c : *speed) {
                    c *= std::sqrt(1 + by / q);
                }
            }
            layers.push_back(layer);
        }
        return spheroidal_catalogue::solve(earth_model::from_layers("moved", layers), options);
    };
    const auto lower = moved(-step);
    const auto middle = moved(0);
    const auto upper = moved(step);
    ASSERT_EQ(lower.size(), upper.size());
    double worst = 0;
    for (std::size_t i = 0; i < middle.arrays().q.size(); ++i) {
        const double difference = std::pow(upper.arrays().omega_rad_s[i], 2) - std::pow(lower.arrays().omega_rad_s[i], 2);
        const double inverse_q = difference / (2 * step) / std::pow(middle.arrays().omega_rad_s[i], 2);
        worst = std::max(worst, std::abs(middle.arrays().q[i] * inverse_q - 1));
    }
    EXPECT_LE(worst, 1e-5);
    std::printf("Q: largest relative error %.2e\n", worst);
}

TEST(spheroidal_catalogue, q_of_known_modes) {
    // PREM (Dziewonski & Anderson 1981): Q of 0S0 is 5327, of 0S2 510, of 0S6 347.
    const spheroidal_arrays& a = elastic().arrays();
    const std::map<mode_name, double> expected{{{0, 0}, 5327}, {{0, 2}, 510}, {{0, 6}, 347}};
    int found = 0;
    for (std::size_t i = 0; i < a.n.size(); ++i) {
        const auto at = expected.find({a.n[i], a.l[i]});
        if (at != expected.end()) {
            EXPECT_NEAR(a.q[i] / at->second, 1, 5e-3) << a.n[i] << "S" << a.l[i];
            ++found;
        }
    }
    EXPECT_EQ(found, 3);
}

TEST(spheroidal_catalogue, frequencies_converge_under_refinement) {
    if (craton::tests::sanitized) GTEST_SKIP() << "takes too long under a sanitizer; the other tests run the same code";
    // Modes down to 90 s, those of the interfaces and the inner core included, which no table here has.
    const auto error = [](const std::map<mode_name, double>& coarse, const std::map<mode_name, double>& fine, double shortest_s) {
        double worst = 0;
        for (const auto& [name, period] : fine) {
            if (period > 1.01 * shortest_s) { // coarse meshes raise frequencies past the window
                worst = std::max(worst, std::abs(coarse.at(name) / period - 1));
            }
        }
        return worst;
    };
    struct window {
        earth_model earth;
        double shortest_s;
    };
    for (const window& each : {window{earth_model::prem_isotropic_ocean(), 110}, window{earth_model::prem(), 90}}) {
        const auto solve = [&](int order, double per_wavelength) {
            return periods(spheroidal_catalogue::solve(each.earth, {each.shortest_s, false, true, order, per_wavelength}));
        };
        const spheroidal_options standard_options;
        const auto fine = solve(8, 2);
        const auto standard = solve(standard_options.order, standard_options.elements_per_wavelength);
        const auto coarse = solve(5, 1);
        EXPECT_EQ(fine.size(), standard.size());
        const double standard_error = error(standard, fine, each.shortest_s);
        const double coarse_error = error(coarse, fine, each.shortest_s);
        std::printf("%s, %zu modes beyond %g s: largest error %.2e as standard, %.2e with a coarse mesh\n",
                    each.earth.name().c_str(), fine.size(), each.shortest_s, standard_error, coarse_error);
        EXPECT_LE(standard_error, 1e-5);
        EXPECT_LE(standard_error, 0.05 * coarse_error);
    }
}

TEST(spheroidal_catalogue, gravity_lengthens_and_its_perturbation_shortens) {
    // What each part does to 0S2: Cowling is a good approximation at high degrees.
    const earth_model earth = earth_model::prem_isotropic();
    const auto with = [&](gravity_kind kind) {
        spheroidal_options options{120, false, false};
        options.gravity = kind;
        return periods(spheroidal_catalogue::solve(earth, options));
    };
    const auto full = with(gravity_kind::full);
    const auto cowling = with(gravity_kind::cowling);
    const auto none = with(gravity_kind::none);
    EXPECT_GT(std::abs(cowling.at({0, 2}) / full.at({0, 2}) - 1), 0.01);
    EXPECT_LT(std::abs(cowling.at({0, 60}) / full.at({0, 60}) - 1), 1e-4);
    EXPECT_GT(std::abs(none.at({0, 60}) / full.at({0, 60}) - 1), 2 * std::abs(cowling.at({0, 60}) / full.at({0, 60}) - 1));
    std::printf("0S2: full %.2f s, Cowling %.2f s, none %.2f s; 0S60: %.4f, %.4f, %.4f s\n", full.at({0, 2}), cowling.at({0, 2}),
                none.at({0, 2}), full.at({0, 60}), cowling.at({0, 60}), none.at({0, 60}));
}

TEST(spheroidal_catalogue, stored_arrays_rebuild_it_exactly) {
    const spheroidal_catalogue again(earth_model::prem_isotropic_ocean(), dispersed().arrays());
    for (const double r : {0.0, 1221.5e3, 3480e3, 5000e3, 6368e3, 6371e3}) {
        EXPECT_EQ(again.evaluate(7, r).v, dispersed().evaluate(7, r).v);
        EXPECT_EQ(again.evaluate(7, r, true).dp, dispersed().evaluate(7, r, true).dp);
    }
}

TEST(spheroidal_catalogue, motion_along_fluid_boundaries_jumps_and_across_does_not) {
    for (std::int64_t mode = 10; mode < elastic().size(); mode += 41) {
        if (elastic().arrays().l[static_cast<std::size_t>(mode)] == 0) {
            continue; // V = 0
        }
        const spheroidal_point above = elastic().evaluate(mode, 3480e3);
        const spheroidal_point below = elastic().evaluate(mode, 3480e3, true);
        EXPECT_DOUBLE_EQ(above.u, below.u);
        EXPECT_DOUBLE_EQ(above.p, below.p);
        EXPECT_NE(above.v, below.v);
    }
    EXPECT_GT(elastic().evaluate(20, 6368e3, true).u, 0);
}

TEST(spheroidal_catalogue, errors) {
    const earth_model earth = earth_model::prem_isotropic();
    expect_user_error([&] { spheroidal_catalogue::solve(earth, {5}); }, {"5", "10 to 2000"});
    expect_user_error([&] { spheroidal_catalogue::solve(earth, {std::nan("")}); }, {"nan"});
    expect_user_error([&] { spheroidal_catalogue::solve(earth, {300, true, true, 1}); }, {"order 1", "2 to 8"});
    expect_user_error([&] { spheroidal_catalogue::solve(earth, {300, true, true, 5, 0.1}); }, {"0.1", "0.5 to 10"});
    expect_user_error([&] { return spheroidal_frequencies(earth, 1, {300}); }, {"degree 1", "1.5"});
    expect_user_error([] { return elastic().evaluate(-1, 6000e3); }, {"-1", "0 to"});
    expect_user_error([] { return elastic().evaluate(elastic().size(), 6000e3); }, {"0 to"});
    expect_user_error([] { return elastic().evaluate(0, 6372e3); }, {"6372000", "6371000"});
    const auto spoiled = [&](auto spoil) {
        spheroidal_arrays arrays = elastic().arrays();
        spoil(arrays);
        return [arrays] { const spheroidal_catalogue rebuilt(earth_model::prem_isotropic_ocean(), arrays); };
    };
    expect_user_error(spoiled([](spheroidal_arrays& a) { a.q.pop_back(); }), {"contradict"});
    expect_user_error(spoiled([](spheroidal_arrays& a) { a.eigenfunctions.pop_back(); }), {"contradict"});
    expect_user_error(spoiled([](spheroidal_arrays& a) { a.order = 20; }), {"20"});
    expect_user_error(spoiled([](spheroidal_arrays& a) { a.omega_rad_s[3] = -1; }), {"mode 3", "-1"});
    expect_user_error([&] { const spheroidal_catalogue other(earth, elastic().arrays()); }, {"prem_isotropic", "6368000"});
}

} // namespace
} // namespace craton::tomography::spheroidal_catalogue_tests
