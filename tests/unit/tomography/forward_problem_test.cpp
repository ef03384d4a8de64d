#include "../../expect_user_error.hpp"
#include "small_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <thread>

namespace craton::tomography::forward_problem_tests {
namespace {

using craton::tests::expect_user_error;
using testing::random_vector;
using testing::small_problem;
using testing::some_event;
using testing::some_paths;

constexpr double pi = std::numbers::pi;

std::vector<double> seismogram(const forward_problem& forward, const path& path, std::span<const double> model) {
    std::vector<double> g(static_cast<std::size_t>(path.samples()));
    forward.seismogram(path, model, g);
    return g;
}

double norm(std::span<const double> x) {
    double sum = 0;
    for (const double value : x) {
        sum += value * value;
    }
    return std::sqrt(sum);
}

double dot(std::span<const double> x, std::span<const double> y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}

/// sin^m P_l^(m) by the standard library, which leaves out Condon and Shortley's phase as we do.
double legendre(std::int64_t l, unsigned m, double delta) {
    return std::assoc_legendre(static_cast<unsigned>(l), m, std::cos(delta));
}

/// The mode sum as it stands in the literature, one mode, one sample, one call at a time; the shift by the model's path averages of
/// dlnVs taken from a fine integration along the radius.
std::vector<double> seismogram_by_plain_loops(const forward_problem& forward, const path& path, std::span<const double> model) {
    const mode_arrays& modes = forward.modes().arrays();
    const earth_model& earth = forward.modes().earth();
    const auto& [rr, tt, pp, rt, rp, tp] = path.source().moment_tensor_Nm;
    static_cast<void>(rr);
    const double phi = pi - path.azimuth_rad();
    const double delta = path.distance_rad();
    const double r_source = 6371e3 - path.source().depth_m;
    const std::int64_t nr = forward.basis().n_radial();
    std::vector<double> out(static_cast<std::size_t>(path.samples()), 0.0);
    std::vector<double> splines(static_cast<std::size_t>(nr));
    for (std::int64_t k = 0; k < forward.modes().size(); ++k) {
        const std::size_t at = static_cast<std::size_t>(k);
        const double omega = modes.omega_rad_s[at];
        const double f = omega / (2 * pi);
        double gain = 1;
        if (f <= 1.0 / 800 || f >= 1.0 / 150) {
            gain = 0;
        } else if (f < 1.0 / 500) {
            gain = std::pow(std::sin(pi / 2 * (f - 1.0 / 800) / (1.0 / 500 - 1.0 / 800)), 2);
        } else if (f > 1.0 / 180) {
            gain = std::pow(std::cos(pi / 2 * (f - 1.0 / 180) / (1.0 / 150 - 1.0 / 180)), 2);
        }
        if (gain == 0) {
            continue;
        }
        const double half = omega * path.source().half_duration_s / 2;
        gain *= std::pow(std::sin(half) / half, 2);

        const double degree = static_cast<double>(modes.l[at]);
        const double wave = std::sqrt(degree * (degree + 1));
        const auto [w, slope] = forward.modes().eigenfunction(k, r_source);
        const double w_surface = forward.modes().eigenfunction(k, earth.surface_radius_m()).first;
        const double h = 1e-5;
        const auto d_legendre = [&](unsigned m) {
            return (8 * (legendre(modes.l[at], m, delta + h) - legendre(modes.l[at], m, delta - h)) -
                    (legendre(modes.l[at], m, delta + 2 * h) - legendre(modes.l[at], m, delta - 2 * h))) /
                   (12 * h);
        };
        // The literature's transverse component points counter-clockwise about the source, ours clockwise.
        const double amplitude =
            gain * (2 * degree + 1) / (4 * pi) * (w_surface / wave) / (omega * omega) *
            ((slope - w / r_source) / wave * (rp * std::cos(phi) - rt * std::sin(phi)) * d_legendre(1) +
             w / (r_source * wave) * (tp * std::cos(2 * phi) - (tt - pp) / 2 * std::sin(2 * phi)) * d_legendre(2));

        double shift = 0;
        for (const earth_layer& layer : earth.layers()) {
            if (layer.inner_radius_m < earth.cmb_radius_m()) {
                continue;
            }
            const int steps = 500;
            const double dr = (layer.outer_radius_m - layer.inner_radius_m) / steps;
            for (int s = 0; s < steps; ++s) {
                const double r = layer.inner_radius_m + (s + 0.5) * dr;
                const auto [here, derivative] = forward.modes().eigenfunction(k, r);
                forward.basis().radial().evaluate(r, splines);
                double dlnvs = 0;
                for (std::size_t a = 0; a < path.lateral().knot.size(); ++a) {
                    for (std::int64_t i = 0; i < nr; ++i) {
                        dlnvs += path.lateral().value[a] * splines[static_cast<std::size_t>(i)] *
                                 model[static_cast<std::size_t>(path.lateral().knot[a] * nr + i)];
                    }
                }
                const double mu = dispersed_shear_modulus_Pa(earth.evaluate(r), omega);
                shift += dr * 2 * mu * (std::pow(r * derivative - here, 2) + (wave * wave - 2) * here * here) * dlnvs / (2 * omega);
            }
        }
        for (std::size_t j = 0; j < out.size(); ++j) {
            const double t = path.request().t_first_s + static_cast<double>(j) * path.request().sample_interval_s;
            out[j] += amplitude * std::cos((omega + shift) * t) * std::exp(-omega * t / (2 * modes.q[at]));
        }
    }
    return out;
}

TEST(forward_problem, seismogram_equals_plain_loops) {
    const auto forward = small_problem();
    const auto paths = some_paths(forward);
    const auto model = random_vector(forward.basis().size(), 0.02, 1);
    for (const std::int64_t i : {0, 3}) {
        const auto expected = seismogram_by_plain_loops(forward, paths[i], model);
        const auto g = seismogram(forward, paths[i], model);
        ASSERT_GT(norm(expected), 0);
        for (std::size_t j = 0; j < g.size(); ++j) {
            EXPECT_NEAR(g[j], expected[j], 1e-5 * norm(expected));
        }
    }
}

TEST(forward_problem, kernels_of_a_mode_sum_to_its_frequency) {
    // dlnVs = 1 everywhere changes mu by 2, w^2 by 2 w^2, hence w by w: exactly so without dispersion.
    const auto forward = small_problem(false, false);
    const auto kernels = forward.frequency_kernels();
    for (std::size_t k = 0; k < forward.active_omega_rad_s().size(); ++k) {
        double sum = 0;
        for (std::size_t i = 0; i < 6; ++i) {
            EXPECT_GE(kernels[k * 6 + i], 0);
            sum += kernels[k * 6 + i];
        }
        EXPECT_NEAR(sum / forward.active_omega_rad_s()[k], 1, 1e-9);
    }
}

TEST(forward_problem, an_explosion_makes_no_transverse_motion) {
    const auto forward = small_problem();
    event source = some_event();
    source.moment_tensor_Nm = {1e20, 1e20, 1e20, 0, 0, 0};
    const std::vector<station> stations{{48.3, 8.3}};
    const std::vector<path_request> requests{{0, 0, 500, 10, 100}};
    const path_set paths(forward, std::span(&source, 1), stations, requests);
    for (const double value : seismogram(forward, paths[0], random_vector(forward.basis().size(), 0, 1))) {
        EXPECT_EQ(value, 0);
    }
}

TEST(forward_problem, faster_earth_arrives_earlier) {
    const auto forward = small_problem();
    const auto paths = some_paths(forward);
    const std::vector<double> slow(static_cast<std::size_t>(forward.basis().size()), 0.0);
    const std::vector<double> fast(slow.size(), 0.005 / 2.14); // the splines sum to 2.14: dlnVs is about 0.5%
    const path& p = paths[0];
    const auto before = seismogram(forward, p, slow);
    const auto after = seismogram(forward, p, fast);
    // g_fast(t) is close to g_slow(t + 0.005 t): compare with the time derivative.
    double projection = 0;
    for (std::size_t j = 1; j + 1 < before.size(); ++j) {
        const double t = p.request().t_first_s + static_cast<double>(j) * p.request().sample_interval_s;
        projection += (after[j] - before[j]) * t * (before[j + 1] - before[j - 1]);
    }
    EXPECT_GT(projection, 0);
}

TEST(forward_problem, panel_equals_central_differences) {
    const auto forward = small_problem();
    const auto paths = some_paths(forward);
    double worst = 0;
    for (std::int64_t i = 0; i < paths.size(); ++i) {
        const path& p = paths[i];
        const auto model = random_vector(forward.basis().size(), 0.02, 2);
        const auto direction = random_vector(forward.basis().size(), 1, 3 + static_cast<unsigned>(i));
        std::vector<double> g(static_cast<std::size_t>(p.samples()));
        std::vector<float> panel(g.size() * static_cast<std::size_t>(p.touched()));
        forward.panel(p, model, g, panel);
        EXPECT_EQ(g, seismogram(forward, p, model));

        const double h = 1e-5;
        auto above = model, below = model;
        for (std::size_t a = 0; a < model.size(); ++a) {
            above[a] += h * direction[a];
            below[a] -= h * direction[a];
        }
        const auto g_above = seismogram(forward, p, above);
        const auto g_below = seismogram(forward, p, below);
        const auto parameters = p.parameters();
        std::vector<double> difference(g.size()), error(g.size());
        for (std::size_t j = 0; j < g.size(); ++j) {
            difference[j] = (g_above[j] - g_below[j]) / (2 * h);
            double product = 0;
            for (std::size_t c = 0; c < parameters.size(); ++c) {
                product +=
                    static_cast<double>(panel[j * parameters.size() + c]) * direction[static_cast<std::size_t>(parameters[c])];
            }
            error[j] = product - difference[j];
        }
        worst = std::max(worst, norm(error) / norm(difference));
    }
    EXPECT_LE(worst, 1e-6);
    std::printf("panel against central differences: largest relative error %.2e\n", worst);
}

TEST(forward_problem, panel_is_the_double_precision_jacobian_rounded) {
    const auto forward = small_problem();
    const auto paths = some_paths(forward);
    const path& p = paths[1];
    const auto model = random_vector(forward.basis().size(), 0.02, 2);
    std::vector<double> g(static_cast<std::size_t>(p.samples())), column(g.size());
    std::vector<float> panel(g.size() * static_cast<std::size_t>(p.touched()));
    forward.panel(p, model, g, panel);
    const std::vector<std::int64_t> parameters(p.parameters().begin(), p.parameters().end());
    std::vector<double> unit(model.size(), 0.0);
    for (std::size_t c = 0; c < parameters.size(); c += 5) {
        unit[static_cast<std::size_t>(parameters[c])] = 1;
        forward.apply(p, model, unit, column);
        unit[static_cast<std::size_t>(parameters[c])] = 0;
        for (std::size_t j = 0; j < g.size(); ++j) {
            const double entry = static_cast<double>(panel[j * parameters.size() + c]);
            EXPECT_NEAR(entry, column[j], 6e-8 * std::abs(column[j]) + 1e-44);
        }
    }
}

TEST(forward_problem, the_transpose_is_the_transpose) {
    const auto forward = small_problem();
    const auto paths = some_paths(forward);
    double worst = 0;
    for (std::int64_t i = 0; i < paths.size(); ++i) {
        const auto model = random_vector(forward.basis().size(), 0.02, 5);
        const auto dm = random_vector(forward.basis().size(), 1, 6 + static_cast<unsigned>(i));
        const auto residual = random_vector(paths[i].samples(), 1, 77);
        std::vector<double> data(residual.size()), back(dm.size(), 0.0);
        forward.apply(paths[i], model, dm, data);
        forward.apply_transpose(paths[i], model, residual, back);
        worst = std::max(worst, std::abs(dot(data, residual) - dot(dm, back)) / (norm(data) * norm(residual)));
    }
    EXPECT_LE(worst, 1e-10);
    std::printf("dot-product test: largest error %.2e\n", worst);
}

TEST(forward_problem, threads_get_the_same_bits) {
    const auto forward = small_problem();
    const auto paths = some_paths(forward);
    const auto model = random_vector(forward.basis().size(), 0.02, 8);
    const auto panels = [&] {
        std::vector<std::vector<float>> out;
        for (std::int64_t i = 0; i < paths.size(); ++i) {
            std::vector<double> g(static_cast<std::size_t>(paths[i].samples()));
            out.emplace_back(g.size() * static_cast<std::size_t>(paths[i].touched()));
            forward.panel(paths[i], model, g, out.back());
        }
        return out;
    };
    const auto alone = panels();
    std::vector<std::vector<std::vector<float>>> together(4);
    {
        std::vector<std::jthread> team;
        for (auto& mine : together) {
            team.emplace_back([&] { mine = panels(); });
        }
    }
    for (const auto& mine : together) {
        EXPECT_EQ(mine, alone);
    }
}

TEST(forward_problem, a_source_in_the_ocean_is_moved_onto_the_solid_surface) {
    const auto forward = small_problem();
    event in_ocean = some_event();
    in_ocean.depth_m = 0;
    event on_floor = some_event();
    on_floor.depth_m = 3000;
    const std::vector<event> events{in_ocean, on_floor};
    const std::vector<station> stations{{48.3, 8.3}};
    const std::vector<path_request> requests{{0, 0, 500, 10, 100}, {1, 0, 500, 10, 100}};
    const path_set paths(forward, events, stations, requests);
    const auto model = random_vector(forward.basis().size(), 0.02, 8);
    EXPECT_EQ(seismogram(forward, paths[0], model), seismogram(forward, paths[1], model));
}

TEST(forward_problem, errors) {
    const auto good = small_problem();
    const auto modes = good.shared_modes();
    const auto basis = good.shared_basis();
    expect_user_error([&] { const forward_problem f(modes, basis, {500, 800, 180, 150}); }, {"500, 800", "decreasing"});
    expect_user_error([&] { const forward_problem f(modes, basis, {800, 500, 180, 180}); }, {"180", "decreasing"});
    expect_user_error([&] { const forward_problem f(modes, basis, {800, 500, 180, -1}); }, {"-1", "positive"});
    expect_user_error([&] { const forward_problem f(modes, basis, {HUGE_VAL, 500, 180, 150}); }, {"inf", "finite"});
    expect_user_error([&] { const forward_problem f(modes, basis, {800, 500, 180, 100}); }, {"100 s", "150 s or more"});
    expect_user_error([&] { const forward_problem f(modes, basis, {9000, 8000, 7000, 6000}); },
                      {"no toroidal mode", "6000", "9000"});
    const auto in_km = std::make_shared<const model_basis>(2, std::vector<double>{3480, 4300, 5200, 6368});
    expect_user_error([&] { const forward_problem f(modes, in_km, {800, 500, 180, 150}); }, {"6368 m", "3480000"});

    const auto paths = some_paths(good);
    std::vector<double> g(static_cast<std::size_t>(paths[0].samples()));
    const std::vector<double> short_model(7, 0.0);
    expect_user_error([&] { good.seismogram(paths[0], short_model, g); }, {"7 parameters", "252"});
    const auto finer = small_problem(true, true, 3);
    const std::vector<double> model(static_cast<std::size_t>(finer.basis().size()), 0.0);
    expect_user_error([&] { finer.seismogram(paths[0], model, g); }, {"42 lateral knots x 6", "162 lateral knots x 6"});
}

} // namespace
} // namespace craton::tomography::forward_problem_tests
