#include <craton/apps/tomography/mode_synthetics.hpp>

#include <craton/apps/tomography/forward_problem.hpp>
#include <craton/apps/tomography/kernels/legendre.hpp>

#include "../../expect_user_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

namespace craton::tomography::mode_synthetics_tests {
namespace {

using craton::tests::expect_user_error;
constexpr double pi = std::numbers::pi;

using vector = std::array<double, 3>;
using field = std::function<vector(const vector&)>;

double norm(const vector& x) { return std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

/// A real spherical harmonic as a function of place, orthonormal on the unit sphere; m < 0 are the sines.
double harmonic(int l, int m, const vector& x) {
    const double theta = std::acos(x[2] / norm(x));
    const double phi = std::atan2(x[1], x[0]);
    const double legendre = std::sph_legendre(static_cast<unsigned>(l), static_cast<unsigned>(std::abs(m)), theta);
    return m == 0 ? legendre : std::numbers::sqrt2 * legendre * (m > 0 ? std::cos(m * phi) : std::sin(-m * phi));
}

/// By central differences of fourth order.
template <class Function> auto slope(const Function& f, vector x, std::size_t axis, double h) {
    const auto at = [&](double by) {
        vector moved = x;
        moved[axis] += by;
        return f(moved);
    };
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
}

/// Radial functions that are linear about the source's radius: their values and slopes there are those of the scalars.
struct radial_functions {
    double u, du, v, dv, w, dw;
};

constexpr double source_radius = 0.9;

/// U Y r + (V / k) grad_1 Y - (W / k) r x grad_1 Y.
vector displacement(int l, int m, const radial_functions& f, const vector& x) {
    const double r = norm(x);
    const double k = std::sqrt(l * (l + 1.0));
    const double by = r - source_radius;
    const vector up{x[0] / r, x[1] / r, x[2] / r};
    vector gradient{};
    for (std::size_t i = 0; i < 3; ++i) {
        gradient[i] = r * slope([&](const vector& at) { return harmonic(l, m, at); }, x, i, 1e-3);
    }
    const vector around{up[1] * gradient[2] - up[2] * gradient[1], up[2] * gradient[0] - up[0] * gradient[2],
                        up[0] * gradient[1] - up[1] * gradient[0]};
    vector out{};
    for (std::size_t i = 0; i < 3; ++i) {
        out[i] = (f.u + by * f.du) * harmonic(l, m, x) * up[i];
        out[i] += k > 0 ? (f.v + by * f.dv) / k * gradient[i] - (f.w + by * f.dw) / k * around[i] : 0;
    }
    return out;
}

struct frame {
    vector up, south, east;
};

frame frame_at(double theta, double phi) {
    return {{std::sin(theta) * std::cos(phi), std::sin(theta) * std::sin(phi), std::cos(theta)},
            {std::cos(theta) * std::cos(phi), std::cos(theta) * std::sin(phi), -std::sin(theta)},
            {-std::sin(phi), std::cos(phi), 0}};
}

double dot(const vector& a, const vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// M : grad s at the source, by finite differences in Cartesian coordinates.
double work(const std::array<double, 6>& moment, const frame& at, const field& s) {
    const auto& [rr, tt, pp, rt, rp, tp] = moment;
    const std::array<vector, 3> axes{at.up, at.south, at.east};
    const double m[3][3] = {{rr, rt, rp}, {rt, tt, tp}, {rp, tp, pp}};
    const vector x{source_radius * at.up[0], source_radius * at.up[1], source_radius * at.up[2]};
    double sum = 0;
    for (std::size_t a = 0; a < 3; ++a) {
        for (std::size_t i = 0; i < 3; ++i) {
            double derivative = 0; // of the component along axis a, in the direction of axis i
            for (std::size_t c = 0; c < 3; ++c) {
                derivative += axes[i][c] * slope([&](const vector& p) { return dot(axes[a], s(p)); }, x, c, 1e-3);
            }
            sum += m[a][i] * derivative;
        }
    }
    return sum;
}

TEST(mode_scalars, amplitudes_equal_the_sum_over_vector_harmonics) {
    // The reference sums all 2l + 1 singlets in geographic coordinates: no addition theorem, no rotated frame.
    const std::array<double, 6> moment{0.8, -0.3, 0.4, 0.9, -1.1, 0.6};
    const double theta_s = 1.1, phi_s = 0.4, theta = 2.0, phi = 1.7;
    const frame source = frame_at(theta_s, phi_s);
    const frame receiver = frame_at(theta, phi);
    const double delta = std::acos(dot(source.up, receiver.up));
    // Azimuth from south toward east, and the directions of propagation at the receiver.
    const double azimuth = std::atan2(dot(receiver.up, source.east), dot(receiver.up, source.south));
    vector away{};
    for (std::size_t i = 0; i < 3; ++i) {
        away[i] = (std::cos(delta) * receiver.up[i] - source.up[i]) / std::sin(delta);
    }
    const vector right{away[1] * receiver.up[2] - away[2] * receiver.up[1], away[2] * receiver.up[0] - away[0] * receiver.up[2],
                       away[0] * receiver.up[1] - away[1] * receiver.up[0]};
    for (const int l : {0, 1, 2, 3, 5}) {
        const double k = std::sqrt(l * (l + 1.0));
        legendre_values legendre{};
        for (int m = 0; m < 3; ++m) {
            std::vector<double> p(static_cast<std::size_t>(l) + 1), dp(p.size());
            legendre_functions(delta, m, p, dp);
            legendre.p[static_cast<std::size_t>(m)] = p.back();
            legendre.dp[static_cast<std::size_t>(m)] = dp.back();
        }
        for (const mode_type type : {mode_type::spheroidal, mode_type::toroidal}) {
            if (l == 0 && type == mode_type::toroidal) {
                continue;
            }
            const bool s = type == mode_type::spheroidal;
            const radial_functions f{s ? 0.7 : 0,          s ? -1.3 : 0, s && l > 0 ? 0.4 : 0,
                                     s && l > 0 ? 2.1 : 0, s ? 0 : 0.6,  s ? 0 : -1.7};
            mode_scalars mode{type, 0, l, 1, 1};
            mode.strain_rr = f.du;
            mode.strain_h = (f.u - 0.5 * k * f.v) / source_radius;
            mode.strain_1 = l == 0 ? 0
                            : s    ? (f.dv - f.v / source_radius) / k + f.u / source_radius
                                   : (f.dw - f.w / source_radius) / k;
            mode.strain_2 = l == 0 ? 0 : (s ? f.v : f.w) / (k * source_radius);
            mode.vertical = f.u;
            mode.horizontal = l == 0 ? 0 : (s ? f.v : f.w) / k;
            vector expected{};
            const vector place{source_radius * receiver.up[0], source_radius * receiver.up[1], source_radius * receiver.up[2]};
            for (int m = -l; m <= l; ++m) {
                const field singlet = [&](const vector& x) { return displacement(l, m, f, x); };
                const double amplitude = work(moment, source, singlet);
                const vector there = singlet(place);
                expected[0] += amplitude * dot(there, receiver.up);
                expected[1] += amplitude * dot(there, away);
                expected[2] += amplitude * dot(there, right);
            }
            const auto own = mode_amplitudes(mode, moment, azimuth, std::sin(delta), legendre);
            for (std::size_t c = 0; c < 3; ++c) {
                EXPECT_NEAR(own[c], expected[c], 1e-7 * norm(expected))
                    << "l = " << l << ", component " << c << ", spheroidal " << s;
            }
        }
    }
}

TEST(legendre, functions_equal_the_standard_librarys) {
    for (const double delta : {0.3, 1.4, 2.9}) {
        for (int m = 0; m < 3; ++m) {
            std::vector<double> p(12), dp(12), beyond(12), before(12), unused(12);
            legendre_functions(delta, m, p, dp);
            const double h = 1e-5;
            legendre_functions(delta + h, m, beyond, unused);
            legendre_functions(delta - h, m, before, unused);
            for (unsigned l = 0; l < 12; ++l) {
                const double expected =
                    l < static_cast<unsigned>(m) ? 0 : std::assoc_legendre(l, static_cast<unsigned>(m), std::cos(delta));
                EXPECT_NEAR(p[l], expected, 1e-12 * (1 + std::abs(expected)));
                const double difference = (beyond[l] - before[l]) / (2 * h);
                EXPECT_NEAR(dp[l], difference, 1e-6 * (1 + std::abs(difference)));
            }
        }
    }
}

struct small_earth {
    std::shared_ptr<const spheroidal_catalogue> spheroidal;
    std::shared_ptr<const mode_catalogue> toroidal;
};

const small_earth& modes() {
    static const small_earth all{
        std::make_shared<const spheroidal_catalogue>(spheroidal_catalogue::solve(earth_model::prem(), {150})),
        std::make_shared<const mode_catalogue>(mode_catalogue::solve(earth_model::prem(), {150, true, true, 4, 80}))};
    return all;
}

const event source{-20.3, -70.8, 35e3, {0.8e20, -0.3e20, -0.5e20, 0.4e20, -1.1e20, 0.6e20}, 12};
const std::array<station, 2> stations{{{48.3, 8.3}, {-35.3, 149.0}}};

TEST(mode_synthetics, transverse_component_without_spheroidal_modes_is_the_forward_problems) {
    // The same filter and source; the forward problem sums toroidal modes alone, so the difference must be what spheroidal modes
    // add.
    const std::array<double, 4> filter{800, 500, 180, 150};
    const mode_synthetics all(modes().spheroidal, modes().toroidal, filter);
    std::vector<double> out(2 * 3 * 200);
    all.seismograms(source, stations, {300, 10, 200}, out);
    spheroidal_arrays none = modes().spheroidal->arrays();
    for (double& value : none.eigenfunctions) {
        value = 0;
    }
    const mode_synthetics toroidal(std::make_shared<const spheroidal_catalogue>(earth_model::prem(), none), modes().toroidal,
                                   filter);
    std::vector<double> alone(out.size());
    toroidal.seismograms(source, stations, {300, 10, 200}, alone);
    const std::vector<double> knots{3480e3, 4500e3, 5500e3, 6368e3};
    const forward_problem forward(modes().toroidal, std::make_shared<const model_basis>(1, knots), filter);
    const std::vector<event> events{source};
    const std::vector<path_request> requests{{0, 0, 300, 10, 200}, {0, 1, 300, 10, 200}};
    const path_set paths(forward, events, stations, requests);
    const std::vector<double> model(static_cast<std::size_t>(forward.basis().size()), 0.0);
    for (std::size_t s = 0; s < 2; ++s) {
        std::vector<double> g(200);
        forward.seismogram(paths[static_cast<std::int64_t>(s)], model, g);
        double largest = 0;
        for (const double value : g) {
            largest = std::max(largest, std::abs(value));
        }
        double spheroidal = 0;
        for (std::size_t j = 0; j < g.size(); ++j) {
            EXPECT_NEAR(alone[(3 * s + 2) * 200 + j], g[j], 1e-12 * largest);
            EXPECT_EQ(alone[3 * s * 200 + j], 0);
            spheroidal = std::max(spheroidal, std::abs(out[(3 * s + 2) * 200 + j] - g[j]));
        }
        EXPECT_GT(spheroidal, 1e-3 * largest);
        EXPECT_LT(spheroidal, 0.5 * largest);
    }
}

TEST(forward_problem, kernels_of_an_anisotropic_earth_add_up_to_the_frequencies) {
    // dlnVs = 1 everywhere scales L and N alike, and w with them: w_k without dispersion.
    const auto elastic =
        std::make_shared<const mode_catalogue>(mode_catalogue::solve(earth_model::prem(), {150, false, true, 4, 80}));
    const std::vector<double> knots{3480e3, 4500e3, 5500e3, 6151e3, 6368e3};
    const forward_problem forward(elastic, std::make_shared<const model_basis>(1, knots), {800, 500, 180, 150});
    const std::size_t columns = knots.size();
    for (std::size_t k = 0; k < forward.active_omega_rad_s().size(); ++k) {
        double sum = 0;
        for (std::size_t i = 0; i < columns; ++i) {
            sum += forward.frequency_kernels()[k * columns + i];
        }
        EXPECT_NEAR(sum / forward.active_omega_rad_s()[k], 1, 1e-8);
    }
}

TEST(mode_synthetics, nothing_moves_before_the_origin_time_and_little_at_it) {
    const mode_synthetics all(modes().spheroidal, modes().toroidal);
    std::vector<double> out(2 * 3 * 400);
    all.seismograms(source, stations, {-50, 10, 400}, out);
    for (std::size_t trace = 0; trace < 6; ++trace) {
        double largest = 0;
        for (std::size_t j = 0; j < 400; ++j) {
            largest = std::max(largest, std::abs(out[400 * trace + j]));
        }
        for (std::size_t j = 0; j < 5; ++j) {
            EXPECT_EQ(out[400 * trace + j], 0);
        }
        EXPECT_LT(std::abs(out[400 * trace + 5]), 1e-10 * largest); // 1 - cos(0)
    }
}

TEST(mode_synthetics, a_seismometer_feels_gravity_at_long_periods) {
    const auto ground = scalars_of(*modes().spheroidal, 6300e3);
    const auto sensor = scalars_of(*modes().spheroidal, 6300e3, receiver_kind::seismometer);
    for (std::size_t i = 0; i < ground.size(); ++i) {
        const double change = std::abs(sensor[i].vertical / ground[i].vertical - 1);
        const double period = 2 * pi / ground[i].omega_rad_s;
        if (ground[i].n == 0 && ground[i].l == 2) {
            EXPECT_GT(change, 0.2); // 2 g / (a w^2) = 0.82 of free air, of which the potential takes back 0.59
        }
        if (ground[i].n == 0 && period < 160) {
            EXPECT_LT(change, 0.01);
        }
        EXPECT_EQ(sensor[i].strain_1, ground[i].strain_1);
    }
}

TEST(mode_synthetics, receivers_above_and_opposite_the_source_are_allowed) {
    const mode_synthetics all(modes().spheroidal, modes().toroidal);
    const event pole{90, 0, 100e3, source.moment_tensor_Nm, 0};
    const std::array<station, 4> places{{{90, 0}, {89.999, 0}, {-90, 0}, {-89.999, 0}}};
    std::vector<double> out(4 * 3 * 50);
    all.seismograms(pole, places, {0, 20, 50}, out);
    double largest = 0;
    for (const double value : out) {
        ASSERT_TRUE(std::isfinite(value));
        largest = std::max(largest, std::abs(value));
    }
    for (std::size_t j = 0; j < 50; ++j) {
        EXPECT_NEAR(out[j], out[3 * 50 + j], 1e-3 * largest);
        EXPECT_NEAR(out[6 * 50 + j], out[9 * 50 + j], 1e-3 * largest);
    }
}

TEST(mode_synthetics, errors) {
    const mode_synthetics all(modes().spheroidal, modes().toroidal);
    std::vector<double> out(2 * 3 * 10);
    event deep = source;
    deep.depth_m = 3000e3;
    expect_user_error([&] { all.seismograms(deep, stations, {0, 1, 10}, out); }, {"3000000", "0 to 2891000"});
    expect_user_error([&] { all.seismograms(source, stations, {0, 0, 10}, out); }, {"every 0 s", "positive"});
    expect_user_error([&] { all.seismograms(source, stations, {0, 1, 9}, out); }, {"60", "54"});
    expect_user_error([&] { mode_synthetics(modes().spheroidal, modes().toroidal, std::array<double, 4>{800, 500, 180, 140}); },
                      {"140", "150"});
    const auto other =
        std::make_shared<const mode_catalogue>(mode_catalogue::solve(earth_model::prem_isotropic(), {500, true, true, 3, 80}));
    expect_user_error([&] { mode_synthetics(modes().spheroidal, other); }, {"prem", "prem_isotropic", "one Earth"});
}

} // namespace
} // namespace craton::tomography::mode_synthetics_tests
