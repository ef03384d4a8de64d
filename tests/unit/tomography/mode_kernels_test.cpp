#include "../../sanitized.hpp"
#include <craton/apps/tomography/mode_kernels.hpp>

#include "../../expect_user_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace craton::tomography::mode_kernels_tests {
namespace {

using craton::tests::expect_user_error;

constexpr double inner_m = 5701e3; // the layer that is perturbed
constexpr double outer_m = 5771e3;

/// Isotropic PREM as an anisotropic model whose five speeds can be moved one by one in one layer.
earth_model moved_earth(const std::function<void(earth_layer&)>& move) {
    const earth_model prem = earth_model::prem_isotropic_ocean();
    std::vector<earth_layer> layers;
    for (earth_layer layer : prem.layers()) {
        if (layer.inner_radius_m == inner_m) {
            layer.anisotropic = true;
            layer.vph = layer.vp;
            layer.vsh = layer.vs;
            layer.eta = {0.97, 0, 0, 0};
            move(layer);
        }
        layers.push_back(layer);
    }
    return earth_model::from_layers("moved", layers);
}

void scale(std::array<double, 4>& polynomial, double factor) {
    for (double& c : polynomial) {
        c *= factor;
    }
}

struct perturbation {
    std::string name;
    std::function<void(earth_layer&, double)> move;                        // by a relative amount
    std::function<love_parameters(const love_parameters&, double)> change; // of the moduli, per relative amount; eta given
};

const std::vector<perturbation>& perturbations() {
    static const std::vector<perturbation> all{
        {"vpv", [](earth_layer& l, double by) { scale(l.vp, 1 + by); },
         [](const love_parameters& m, double) { return love_parameters{0, 2 * m.C, 0, 0, 0}; }},
        {"vph", [](earth_layer& l, double by) { scale(l.vph, 1 + by); },
         [](const love_parameters& m, double eta) { return love_parameters{2 * m.A, 0, 2 * eta * m.A, 0, 0}; }},
        {"vsv", [](earth_layer& l, double by) { scale(l.vs, 1 + by); },
         [](const love_parameters& m, double eta) { return love_parameters{0, 0, -4 * eta * m.L, 2 * m.L, 0}; }},
        {"vsh", [](earth_layer& l, double by) { scale(l.vsh, 1 + by); },
         [](const love_parameters& m, double) { return love_parameters{0, 0, 0, 0, 2 * m.N}; }},
        {"eta", [](earth_layer& l, double by) { scale(l.eta, 1 + by); },
         [](const love_parameters& m, double) { return love_parameters{0, 0, m.F, 0, 0}; }}};
    return all;
}

/// Over the perturbed layer, Gauss-Legendre with five points (DLMF 3.5) in twenty pieces.
double integrate(const std::function<double(double)>& f) {
    const std::array<double, 5> x{-0.9061798459386640, -0.5384693101056831, 0, 0.5384693101056831, 0.9061798459386640};
    const std::array<double, 5> w{0.2369268850561891, 0.4786286704993665, 0.5688888888888889, 0.4786286704993665,
                                  0.2369268850561891};
    constexpr int pieces = 20;
    const double half = 0.5 * (outer_m - inner_m) / pieces;
    double sum = 0;
    for (int i = 0; i < pieces; ++i) {
        for (std::size_t q = 0; q < 5; ++q) {
            sum += half * w[q] * f(inner_m + half * (2 * i + 1 + x[q]));
        }
    }
    return sum;
}

double contracted(const love_kernels& k, const love_parameters& m) {
    return k.A * m.A + k.C * m.C + k.F * m.F + k.L * m.L + k.N * m.N;
}

template <class Catalogue> double omega_squared(const Catalogue& modes, std::size_t i) {
    return std::pow(modes.arrays().omega_rad_s[i], 2);
}

/// The largest difference between kernels and finite differences, relative to the perturbation's largest effect on any mode.
template <class Catalogue, class Solve> double largest_difference(const Solve& solve, const perturbation& what) {
    const double step = 1e-3;
    const Catalogue lower = solve(moved_earth([&](earth_layer& l) { what.move(l, -step); }));
    const Catalogue middle = solve(moved_earth([](earth_layer&) {}));
    const Catalogue upper = solve(moved_earth([&](earth_layer& l) { what.move(l, step); }));
    EXPECT_EQ(lower.size(), upper.size());
    EXPECT_GT(middle.size(), 10);
    double worst = 0;
    double largest = 0;
    for (std::int64_t i = 0; i < middle.size(); ++i) {
        const std::size_t at = static_cast<std::size_t>(i);
        const double difference = (omega_squared(upper, at) - omega_squared(lower, at)) / (2 * step) / omega_squared(middle, at);
        const double kernel = integrate([&](double r) {
            const material here = middle.earth().evaluate(r);
            return contracted(pair_kernel(middle, i, i, r), what.change(here.love(), here.eta));
        });
        worst = std::max(worst, std::abs(kernel / omega_squared(middle, at) - difference));
        largest = std::max(largest, std::abs(difference));
    }
    return largest > 0 ? worst / largest : worst;
}

TEST(mode_kernels, spheroidal_ones_are_derivatives_of_the_frequencies) {
    if (craton::tests::sanitized) GTEST_SKIP() << "takes too long under a sanitizer; the other tests run the same code";
    const auto solve = [](const earth_model& earth) { return spheroidal_catalogue::solve(earth, {250, false, true}); };
    for (const perturbation& what : perturbations()) {
        const double worst = largest_difference<spheroidal_catalogue>(solve, what);
        std::printf("spheroidal, %s: largest difference %.2e\n", what.name.c_str(), worst);
        EXPECT_LE(worst, 1e-4) << what.name;
    }
}

TEST(mode_kernels, toroidal_ones_are_derivatives_of_the_frequencies) {
    const auto solve = [](const earth_model& earth) { return mode_catalogue::solve(earth, {150, false, true, 5, 80}); };
    for (const perturbation& what : perturbations()) {
        if (what.name == "vsv" || what.name == "vsh") {
            const double worst = largest_difference<mode_catalogue>(solve, what);
            std::printf("toroidal, %s: largest difference %.2e\n", what.name.c_str(), worst);
            EXPECT_LE(worst, 1e-4) << what.name;
        }
    }
}

TEST(mode_kernels, all_of_them_together_make_the_elastic_energy) {
    // Without gravity w^2 is the strain energy: scaling all moduli scales it.
    spheroidal_options options{300, false, true};
    options.gravity = gravity_kind::none;
    const auto modes = spheroidal_catalogue::solve(earth_model::prem(), options);
    for (std::int64_t i = 0; i < modes.size(); i += 7) {
        double sum = 0;
        const auto nodes = modes.mesh().nodes_m();
        for (std::size_t n = 0; n + 1 < nodes.size(); ++n) {
            for (const double x : {-0.7745966692414834, 0.0, 0.7745966692414834}) {
                const double half = 0.5 * (nodes[n + 1] - nodes[n]);
                const double r = nodes[n] + half * (1 + x);
                sum +=
                    half * (x == 0 ? 8.0 / 9 : 5.0 / 9) * contracted(pair_kernel(modes, i, i, r), modes.earth().evaluate(r).love());
            }
        }
        EXPECT_NEAR(sum / omega_squared(modes, static_cast<std::size_t>(i)), 1, 1e-4) << i;
    }
}

TEST(mode_kernels, pairs_are_symmetric_and_bilinear) {
    const auto modes = spheroidal_catalogue::solve(earth_model::prem(), {400, false, true});
    for (const double r : {4000e3, 6200e3}) {
        const love_kernels ab = pair_kernel(modes, 3, 17, r);
        const love_kernels ba = pair_kernel(modes, 17, 3, r);
        EXPECT_NEAR(ab.F / ba.F, 1, 1e-9);
        EXPECT_NEAR(ab.N / ba.N, 1, 1e-9);
        // A, C and L are products of one factor per mode.
        const love_kernels aa = pair_kernel(modes, 3, 3, r);
        const love_kernels bb = pair_kernel(modes, 17, 17, r);
        EXPECT_NEAR(ab.A * ab.A / (aa.A * bb.A), 1, 1e-12);
        EXPECT_NEAR(ab.C * ab.C / (aa.C * bb.C), 1, 1e-12);
        EXPECT_NEAR(ab.L * ab.L / (aa.L * bb.L), 1, 1e-12);
    }
}

TEST(mode_kernels, shear_kernels_follow_the_definitions_of_vs_and_xi) {
    const love_kernels k{0.3, -0.2, 0.5, 1.1, -0.7};
    const love_parameters m = earth_model::prem().evaluate(6200e3).love();
    const double eta = m.F / (m.A - 2 * m.L);
    const auto change = [&](double ln_vs, double ln_xi, double ratio) {
        const double vs2 = (2 * m.L + m.N) / 3 * std::exp(2 * ln_vs); // times the density
        const double xi = m.N / m.L * std::exp(ln_xi);
        love_parameters moved;
        moved.L = 3 * vs2 / (2 + xi);
        moved.N = xi * moved.L;
        moved.A = m.A * std::exp(2 * ratio * ln_vs);
        moved.C = m.C * std::exp(2 * ratio * ln_vs);
        moved.F = eta * (moved.A - 2 * moved.L);
        return contracted(k, moved);
    };
    const double h = 1e-5;
    for (const double ratio : {0.0, 0.5}) {
        const shear_kernels s = shear_kernels_of(k, m, ratio);
        EXPECT_NEAR(s.ln_vs / ((change(h, 0, ratio) - change(-h, 0, ratio)) / (2 * h)), 1, 1e-8);
        EXPECT_NEAR(s.ln_xi / ((change(0, h, ratio) - change(0, -h, ratio)) / (2 * h)), 1, 1e-8);
    }
    EXPECT_EQ(shear_kernels_of(k, earth_model::prem().evaluate(2000e3).love()).ln_vs, 0);
}

TEST(mode_kernels, errors) {
    const auto modes = spheroidal_catalogue::solve(earth_model::prem(), {1000, false, true});
    expect_user_error([&] { return pair_kernel(modes, 0, 1000, 6000e3); }, {"1000", "0 to"});
    expect_user_error([&] { return pair_kernel(modes, 0, 0, -1); }, {"-1"});
}

} // namespace
} // namespace craton::tomography::mode_kernels_tests
