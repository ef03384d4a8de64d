#include "../../sanitized.hpp"
#include "small_problem.hpp"

#include <craton/apps/tomography/kernels/carrier_nodes.hpp>
#include <craton/apps/tomography/kernels/pair_response.hpp>
#include <craton/apps/tomography/mode_kernels.hpp>
#include <craton/apps/tomography/mode_synthetics.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <numbers>

namespace craton::tomography::nact_tests {
namespace {

using testing::problem_of_two_bases;
using testing::random_vector;
using testing::small_problem;
using testing::some_event;

using complex = std::complex<double>;

constexpr double pi = std::numbers::pi;

forward_problem problem(theory kind, int level = 2) {
    const forward_problem cheap = small_problem(true, true, level);
    return {cheap.shared_modes(), cheap.shared_basis(), {800, 500, 180, 150}, kind};
}

/// The same band with spheroidal modes, dlnVs and dlnxi.
forward_problem three_components(theory kind) {
    const forward_problem cheap = small_problem();
    static const auto spheroidal = std::make_shared<const spheroidal_catalogue>(
        spheroidal_catalogue::solve(earth_model::prem_isotropic(), {.shortest_period_s = 150, .order = 4}));
    const auto knots = cheap.basis().radial().knots_m();
    const auto basis = std::make_shared<const model_basis>(2, std::vector<double>(knots.begin(), knots.end()), 2);
    return {cheap.shared_modes(), basis, {800, 500, 180, 150}, kind, spheroidal};
}

/// Far from the node of the radiation, near it, and nearly a whole Earth away.
path_set paths_along(const forward_problem& forward, orbit along, component measured = component::transverse) {
    const std::vector<event> events{some_event()};
    const std::vector<station> stations{{48.3, 8.3}, {-35.3, 149.0}, {-12.0, -150.2}};
    std::vector<path_request> requests;
    for (std::int64_t s = 0; s < 3; ++s)
        requests.push_back({0, s, along == orbit::major ? 4000.0 : 600.0, 12.5, 90, along, measured});
    return {forward, events, stations, requests};
}

double norm(std::span<const double> x) {
    double sum = 0;
    for (const double value : x) sum += value * value;
    return std::sqrt(sum);
}

double difference(std::span<const double> x, std::span<const double> y) {
    std::vector<double> apart(x.begin(), x.end());
    for (std::size_t i = 0; i < apart.size(); ++i) apart[i] -= y[i];
    return norm(apart) / norm(y);
}

TEST(pair_response, is_the_quotient_and_its_limit) {
    const std::vector<double> omega{0.03, 0.0300002, 0.031, 0.05};
    const std::vector<double> decay{1e-4, 1.2e-4, 1e-4, 2e-4};
    std::vector<double> gain;
    std::vector<double> gain_slope; // dq / d(w^2)
    for (const double w : omega) {
        gain.push_back(1e-3 / (w * w));
        gain_slope.push_back(-1e-3 / (w * w * w * w));
    }
    const std::size_t count = omega.size();
    const double last = 2000;
    std::vector<double> re(count), im(count), mean(count), rise(count), turned(count);
    const auto response = [&](std::size_t k, double t) {
        respond({omega, decay, gain, omega, gain_slope}, k, 0, count, last, {re, im, mean, rise, turned});
        const complex wave = std::exp(complex(0, 1) * complex(omega[k], decay[k]) * t);
        std::vector<complex> out;
        for (std::size_t j = 0; j < count; ++j) {
            const complex direct = mean[j] * complex(re[j], im[j]) + rise[j];
            out.push_back((direct + complex(0, t * turned[j])) * wave);
        }
        return out;
    };
    for (const double t : {0.0, 300.0, 2000.0}) {
        for (std::size_t k = 0; k < count; ++k) {
            for (std::size_t j = 0; j < count; ++j) {
                const complex sum = response(k, t)[j] + response(j, t)[k];
                const complex s_k(omega[k], decay[k]);
                const complex s_j(omega[j], decay[j]);
                const complex ours = std::exp(complex(0, 1) * s_k * t);
                const complex theirs = std::exp(complex(0, 1) * s_j * t);
                const double slope = k == j ? gain_slope[k] : (gain[k] - gain[j]) / (omega[k] * omega[k] - omega[j] * omega[j]);
                const complex beat = k == j ? complex(0, t) * ours / (2.0 * s_k) : (ours - theirs) / (s_k * s_k - s_j * s_j);
                const complex exact = 0.5 * (gain[k] + gain[j]) * beat + 0.5 * slope * (ours + theirs);
                // Near the limit 1 / 2 s is taken real, 1 / 2Q off.
                const double scale = std::abs(0.5 * (gain[k] + gain[j]) * beat) + std::abs(slope);
                EXPECT_LT(std::abs(sum - exact), 5e-3 * scale + 1e-12) << k << " " << j << " at " << t << " s";
            }
        }
    }
}

/// Waves of a band, at its ends and between nodes, with decays of Q from 100 to 400, and i t times them, in windows of three
/// lengths.
TEST(carrier_nodes, have_every_wave_of_the_band) {
    const double lowest = 2 * pi / 400;
    const double highest = 2 * pi / 60;
    const std::vector<double> omega{lowest, highest, highest};
    const std::vector<double> decay{lowest / 800, highest / 200, highest / 800};
    for (const auto& [begin, end] : {std::pair{500.0, 2300.0}, std::pair{-100.0, 80.0}, std::pair{4000.0, 9000.0}}) {
        const carrier_nodes nodes(omega, decay, begin, end);
        std::vector<complex> waves(nodes.count());
        double worst = 0, worst_turned = 0;
        for (int at = 0; at <= 200; ++at) {
            const double frequency = lowest + (highest - lowest) * at / 200;
            for (const double q : {100.0, 200.0, 400.0}) {
                const complex s(frequency, frequency / (2 * q));
                const carrier_nodes::share share = nodes.of(s);
                ASSERT_LE(share.first + carrier_nodes::width, nodes.count());
                for (int sample = 0; sample <= 90; ++sample) {
                    const double t = begin + (end - begin) * sample / 90;
                    nodes.waves(t, waves);
                    complex sum = 0, turned = 0;
                    for (std::size_t v = 0; v < carrier_nodes::width; ++v) {
                        sum += share.values[v] * waves[share.first + v];
                        turned += share.slopes[v] * waves[share.first + v];
                    }
                    const double size = std::exp(-s.imag() * begin);
                    const complex wave = std::exp(complex(0, 1) * s * t);
                    const complex middle = complex(0, 0.5 * (begin + end)) * sum; // of the window: exact
                    worst = std::max(worst, std::abs(sum - wave) / size);
                    worst_turned = std::max(worst_turned, std::abs(turned - middle - complex(0, t - 0.5 * (begin + end)) * wave) /
                                                              (size * (end - begin)));
                }
            }
        }
        std::printf("%.0f to %.0f s: %zu nodes, waves within %.1e, turned ones within %.1e of the window's length\n", begin, end,
                    nodes.count(), worst, worst_turned);
        EXPECT_LT(worst, end - begin < 2000 ? 1e-5 : 5e-5); // where Q is 100, waves fade much faster than others within 5000 s
        EXPECT_LT(worst_turned, end - begin < 2000 ? 2e-5 : 2e-4);
    }
}

/// Re of what waves feel of H, G, D and B, in complex numbers (mode_coupling), against the amplitudes of their real and imaginary
/// parts: pairs on either side of k, and enough of them for whole vectors and a rest.
TEST(pair_excitation, is_the_real_part_of_what_both_waves_feel) {
    constexpr std::size_t count = 21;
    constexpr double fading = 5;
    std::vector<double> degree, branch;
    const auto random = [](unsigned seed) { return random_vector(2 * count, 1.0, seed); };
    for (std::size_t k = 0; k < count; ++k) {
        degree.push_back(static_cast<double>(4 + k / 3)); // three branches
        branch.push_back(static_cast<double>(k % 3));
    }
    const std::vector<double> source = random(1), receiver = random(2), turning = random(3), felt = random(4);
    const auto re = [&](const std::vector<double>& of) { return std::span(of).first(count); };
    const auto im = [&](const std::vector<double>& of) { return std::span(of).last(count); };
    const auto number = [&](const std::vector<double>& of, std::size_t k) { return complex(of[k], of[count + k]); };
    const complex on(felt[0], felt[1]), curved(felt[2], felt[3]), sloped(felt[4], felt[5]), twice(felt[6], felt[7]);
    for (const bool across : {false, true}) {
        const std::vector<double> none;
        const travelling_waves waves{degree,
                                     branch,
                                     re(source),
                                     im(source),
                                     re(receiver),
                                     im(receiver),
                                     across ? re(turning) : none,
                                     across ? im(turning) : none};
        std::array<std::vector<double>, most_parts> parts;
        std::array<std::span<double>, most_parts> spans;
        for (const std::size_t k : {0UL, 10UL, count - 1}) {
            for (std::size_t q = 0; q < most_parts; ++q) {
                parts[q].assign(count, -7);
                spans[q] = parts[q];
            }
            excite_pairs(waves, {false, 4, 2, fading}, k, k / 2, count, spans);
            for (std::size_t j = 0; j < count; ++j) {
                if (j < k / 2) {
                    EXPECT_EQ(parts[0][j], -7);
                    continue;
                }
                const std::size_t low = std::min(j, k);
                const std::size_t high = std::max(j, k);
                const double apart = degree[high] - degree[low];
                const double lambda = (degree[low] + degree[high] + 1) / 2;
                const complex forth = number(receiver, low) * number(source, high);
                const complex back = number(receiver, high) * number(source, low);
                double wanted = (forth * on + back * std::conj(on)).real();
                const complex beside = forth * curved + back * std::conj(curved) +
                                       number(receiver, low) * number(turning, high) * sloped +
                                       number(receiver, high) * number(turning, low) * std::conj(sloped);
                const double left = 1 / (1 + std::pow(fading / lambda, 4));
                if (across && apart <= 2) {
                    wanted += left * (complex(0, 1 / lambda) * beside).real();
                    wanted += left * (forth * twice + back * std::conj(twice)).real() / (lambda * lambda);
                }
                if (apart > 4 || branch[j] == branch[k]) wanted = 0;
                double ours = 0;
                for (std::size_t q = 0; q < (across ? most_parts : 2); ++q) ours += parts[q][j] * felt[q];
                EXPECT_NEAR(ours, wanted, 1e-12) << k << " with " << j;
            }
        }
    }
}

/// Modes of no lower degree, wherever they are: here before mode k.
TEST(pair_excitation, of_higher_degrees_takes_them_in_any_order) {
    constexpr std::size_t count = 21;
    std::vector<double> degree, branch;
    for (std::size_t k = 0; k < count; ++k) {
        degree.push_back(static_cast<double>(4 + k / 3));
        branch.push_back(static_cast<double>(k % 3));
    }
    std::array<std::vector<double>, 8> arrays{degree, branch};
    for (unsigned of = 2; of < arrays.size(); ++of) arrays[of] = random_vector(count, 1.0, of);
    std::array<std::vector<double>, 8> reversed = arrays;
    for (auto& each : reversed) std::ranges::reverse(each);
    const auto waves_of = [](const std::array<std::vector<double>, 8>& a) {
        return travelling_waves{a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]};
    };
    std::array<std::vector<double>, most_parts> wanted, found;
    std::array<std::span<double>, most_parts> to_wanted, to_found;
    for (std::size_t q = 0; q < most_parts; ++q) {
        wanted[q].assign(count, -7);
        found[q].assign(count, -7);
        to_wanted[q] = wanted[q];
        to_found[q] = found[q];
    }
    constexpr std::size_t k = 4;
    excite_pairs(waves_of(arrays), {false, 4, 2, 5}, k, k, count, to_wanted);
    excite_higher(waves_of(reversed), {false, 4, 2, 5}, count - 1 - k, 0, count - k, to_found);
    for (std::size_t q = 0; q < most_parts; ++q) {
        for (std::size_t j = 0; j < count; ++j) EXPECT_EQ(found[q][count - 1 - j], wanted[q][j]) << q << ", " << j;
    }
}

/// The formula as it stands: every ordered pair of modes, the integral over the great circle by the trapezoidal rule, no kernel
/// tabulated.
std::vector<double> born_by_plain_loops(const forward_problem& forward, const path& path, std::span<const double> model,
                                        theory kind) {
    const bool across = couples_across_branches(kind);
    const mode_arrays& all = forward.modes().arrays();
    const model_basis& basis = forward.basis();
    const earth_model& earth = forward.modes().earth();
    const auto [rr, tt, pp, rt, rp, tp] = path.source().moment_tensor_Nm;
    static_cast<void>(rr);
    const double phi_source = pi - path.azimuth_rad();
    const double delta = path.distance_rad();
    const double r_source = 6371e3 - path.source().depth_m;
    // Points of the mantle, and of the great circle.
    constexpr int radii = 2400;
    const double bottom = earth.cmb_radius_m();
    const double step = (earth.surface_radius_m() - bottom) / radii;
    constexpr int angles = 150;
    using table = std::vector<std::vector<double>>; // angle x radius
    std::vector<double> touched(model.size(), 0.0);
    for (const std::int64_t at : path.parameters()) touched[static_cast<std::size_t>(at)] = model[static_cast<std::size_t>(at)];
    std::vector<double> r(radii);
    for (int q = 0; q < radii; ++q) r[static_cast<std::size_t>(q)] = bottom + (q + 0.5) * step;
    const auto beside = [&](int a, double to_the_left) {
        const unit_vector on = path.arc().at(2 * pi * a / angles);
        const unit_vector left = path.arc().left();
        const double c = std::cos(to_the_left);
        const double s = std::sin(to_the_left);
        return unit_vector{c * on.x + s * left.x, c * on.y + s * left.y, c * on.z + s * left.z};
    };
    const auto along_circle = [&](double to_the_left, bool made_up) {
        table out(angles);
        // The path's splines together.
        const auto together = [&](const unit_vector& at) {
            sparse_weights splines;
            basis.lateral().weights_at(at, splines);
            double sum = 0;
            for (std::size_t i = 0; i < splines.knot.size(); ++i) {
                const auto& known = path.lateral().knot;
                if (std::binary_search(known.begin(), known.end(), splines.knot[i])) sum += splines.value[i];
            }
            return sum;
        };
        for (int a = 0; a < angles; ++a) {
            const unit_vector at = beside(a, to_the_left);
            const std::vector<double> lat(radii, latitude_rad(at) * 180 / pi), lon(radii, longitude_rad(at) * 180 / pi);
            out[static_cast<std::size_t>(a)] = basis.evaluate(touched, lat, lon, r);
            if (!made_up) continue;
            const double scale = together(beside(a, 0)) / together(at);
            for (double& value : out[static_cast<std::size_t>(a)]) value *= scale;
        }
        return out;
    };
    constexpr double aside = 1e-3;
    const double knot = basis.lateral().spacing_rad();
    const table dlnv = along_circle(0, false);
    table to_the_left = dlnv, to_the_right = dlnv, fourth = dlnv;
    if (sees_across_the_path(kind)) {
        to_the_left = along_circle(aside, false);
        to_the_right = along_circle(-aside, false);
        const table near_left = along_circle(knot, true), near_right = along_circle(-knot, true);
        const table far_left = along_circle(2 * knot, true), far_right = along_circle(-2 * knot, true);
        for (std::size_t a = 0; a < fourth.size(); ++a) {
            for (std::size_t q = 0; q < fourth[a].size(); ++q) {
                fourth[a][q] = (far_left[a][q] - 4 * near_left[a][q] + 6 * dlnv[a][q] - 4 * near_right[a][q] + far_right[a][q]) /
                               std::pow(knot, 4);
            }
        }
    }
    const double fading = 0.5 * std::max(std::tan(delta / 2), 1 / std::tan(delta / 2)) / (2 * knot * knot);
    struct mode {
        std::int64_t l, n;
        complex s, source, turning, receiver;
        double q, q_slope; // filter and moment rate over w^2, and d / d(w^2) of it
        std::vector<double> shear, tension;
    };
    std::vector<mode> modes;
    double bend = 0;
    for (std::size_t k = 0; k < all.l.size(); ++k) {
        const double omega = all.omega_rad_s[k];
        const double f = omega / (2 * pi);
        if (f <= 1 / 500.0 || f >= 1 / 250.0) continue;
        const auto gain = [&](double w) {
            const double at = w / (2 * pi);
            double band = 1; // (500, 400, 300, 250) s
            if (at < 1 / 400.0) band = 0.5 * (1 - std::cos(pi * (at - 1 / 500.0) / (1 / 400.0 - 1 / 500.0)));
            if (at > 1 / 300.0) band = 0.5 * (1 + std::cos(pi * (at - 1 / 300.0) / (1 / 250.0 - 1 / 300.0)));
            const double x = 0.5 * w * path.source().half_duration_s;
            return band * (std::sin(x) / x) * (std::sin(x) / x) / (w * w);
        };
        mode m;
        m.l = all.l[k];
        m.n = all.n[k];
        const double degree = static_cast<double>(m.l);
        const double k2 = degree * (degree + 1);
        const double lambda = degree + 0.5;
        m.s = {omega, omega / (2 * all.q[k])};
        m.q = gain(omega);
        m.q_slope = (gain(omega + 1e-7) - gain(omega - 1e-7)) / (2e-7 * 2 * omega);
        const auto index = static_cast<std::int64_t>(k);
        const auto [w, slope] = forward.modes().eigenfunction(index, r_source);
        const double order_1 = rp * std::cos(phi_source) - rt * std::sin(phi_source);
        const double order_2 = tp * std::cos(2 * phi_source) - 0.5 * (tt - pp) * std::sin(2 * phi_source);
        const double slope_1 = -rp * std::sin(phi_source) - rt * std::cos(phi_source); // by phi_source
        const double slope_2 = -2 * tp * std::sin(2 * phi_source) - (tt - pp) * std::cos(2 * phi_source);
        // The receiver sees one mode of a pair, the source excites the other; each has half of the root of lambda. Phases to the
        // next order in 1 / lambda.
        const double turn = 1 / (8 * lambda * std::tan(delta));
        const complex one = std::pow(lambda, 0.25) * (slope - w / r_source) * std::polar(1.0, std::atan(4 * turn));
        const complex two =
            std::pow(lambda, 0.25) * std::sqrt(k2 - 2) * w / r_source * std::polar(1.0, std::atan(16 * turn) - pi / 2);
        m.source = one * order_1 + two * order_2;
        m.turning = one * slope_1 + two * slope_2;
        const double surface = forward.modes().eigenfunction(index, earth.surface_radius_m()).first;
        m.receiver = std::polar(surface * std::pow(lambda, 0.25) / pi / std::sqrt(2 * pi * std::sin(delta)),
                                lambda * delta - pi / 4 + std::atan(3 * turn));
        for (int q = 0; q < radii; ++q) {
            const double here = r[static_cast<std::size_t>(q)];
            const auto [value, derivative] = forward.modes().eigenfunction(index, here);
            const double root = std::sqrt(2 * dispersed_shear_modulus_Pa(earth.evaluate(here), omega) * step);
            m.shear.push_back(root * (here * derivative - value));
            m.tension.push_back(root * std::sqrt(k2 - 2) * value);
        }
        const auto squares = [](const std::vector<double>& of) {
            double sum = 0;
            for (const double value : of) sum += value * value;
            return sum;
        };
        bend += (0.5 * squares(m.shear) + 2 * squares(m.tension)) / (squares(m.shear) + squares(m.tension));
        modes.push_back(m);
    }
    bend /= static_cast<double>(modes.size());
    std::vector<double> out(static_cast<std::size_t>(path.samples()), 0.0);
    for (const mode& k : modes) {
        for (const mode& j : modes) {
            if (across && k.n == j.n) continue;
            complex along = 0, curved = 0, leaning = 0,
                    second = 0; // int domega2(phi) exp(i (l' - l) phi) dphi, and across the path
            for (int a = 0; a < angles; ++a) {
                const double phi = 2 * pi * a / angles;
                const auto at = static_cast<std::size_t>(a);
                double change = 0, left = 0, right = 0, rough = 0;
                for (int q = 0; q < radii; ++q) {
                    const auto p = static_cast<std::size_t>(q);
                    const double pair = k.shear[p] * j.shear[p] + k.tension[p] * j.tension[p];
                    change += pair * dlnv[at][p];
                    left += pair * to_the_left[at][p];
                    right += pair * to_the_right[at][p];
                    rough += pair * fourth[at][p];
                }
                const complex wave = std::polar(2 * pi / angles, static_cast<double>(j.l - k.l) * phi);
                const double lean = std::sin(delta - phi) / std::sin(delta);
                along += change * wave;
                const double curvature = (left - 2 * change + right) / (aside * aside);
                const double spread = std::sin(phi) * lean;
                curved += 0.5 * spread * curvature * wave;
                second += (bend * curvature - spread * spread / 8 * rough) * wave;
                leaning += lean * (left - right) / (2 * aside) * wave;
            }
            const double mean = 0.5 * static_cast<double>(k.l + j.l + 1);
            const bool counted = sees_across_the_path(kind) && std::abs(j.l - k.l) <= static_cast<std::int64_t>(pi / knot);
            const double fade = counted ? 1 / (1 + std::pow(fading / mean, 4)) : 0;
            const complex first(0, fade / mean);
            const complex felt = along + first * curved + fade / (mean * mean) * second;
            const double z = (k.receiver * (j.source * felt + j.turning * first * leaning)).real() / (2 * pi);
            for (std::size_t i = 0; i < out.size(); ++i) {
                const double t = path.request().t_first_s + static_cast<double>(i) * path.request().sample_interval_s;
                const complex ours = std::exp(complex(0, 1) * k.s * t);
                const complex theirs = std::exp(complex(0, 1) * j.s * t);
                if (k.l == j.l && k.n == j.n) {
                    out[i] += z * (complex(0, t) * k.q * ours / (2 * k.s.real()) + k.q_slope * ours).real();
                    continue;
                }
                const double slope = (k.q - j.q) / (k.s.real() * k.s.real() - j.s.real() * j.s.real());
                const complex beat = (ours - theirs) / (k.s * k.s - j.s * j.s);
                out[i] += z * (0.5 * (k.q + j.q) * beat + 0.5 * slope * (ours + theirs)).real();
            }
        }
    }
    return out;
}

TEST(nact, born_coupling_equals_plain_loops) {
    if (craton::tests::sanitized)
        GTEST_SKIP() << "plain loops take too long under a sanitizer; the other tests run the same kernels";
    const forward_problem cheap = small_problem();
    const std::array<double, 4> band{500, 400, 300, 250}; // few modes, or the plain loops take minutes
    for (const theory kind : {theory::born, theory::nact, theory::nact_in_plane}) {
        const bool across = couples_across_branches(kind);
        const forward_problem forward(cheap.shared_modes(), cheap.shared_basis(), band, kind);
        const path_set paths = paths_along(forward, orbit::whole);
        const path& path = paths[0];
        const std::vector<double> zero(static_cast<std::size_t>(forward.basis().size()), 0.0);
        const std::vector<double> model = random_vector(forward.basis().size(), 0.01, 3);
        std::vector<double> first_order(static_cast<std::size_t>(path.samples()));
        forward.apply(path, zero, model, first_order);
        if (across) {
            // Less what the shifts along the branches add.
            const forward_problem shifted(cheap.shared_modes(), cheap.shared_basis(), band);
            std::vector<double> shift(first_order.size());
            shifted.apply(path, zero, model, shift);
            for (std::size_t i = 0; i < shift.size(); ++i) first_order[i] -= shift[i];
        }
        const std::vector<double> expected = born_by_plain_loops(forward, path, model, kind);
        const double error = difference(first_order, expected);
        std::printf("%s%s: %.1e of the plain loops\n", across ? "across branches" : "all pairs",
                    sees_across_the_path(kind) ? "" : ", in the plane", error);
        EXPECT_LT(error,
                  across ? 4e-3 : 2e-3); // couplings of widely different degrees are left out, which matter most across branches
    }
}

/// The largest error of a column, of its norm or of a hundredth of the largest column's.
double worst_column(const forward_problem& forward, const path_set& paths, unsigned seed) {
    const std::vector<double> model = random_vector(forward.basis().size(), 0.02, seed);
    double worst = 0;
    for (std::int64_t p = 0; p < paths.size(); ++p) {
        const path& path = paths[p];
        std::vector<double> g(static_cast<std::size_t>(path.samples())), up(g.size()), down(g.size()), column(g.size());
        std::vector<float> panel(g.size() * static_cast<std::size_t>(path.touched()));
        forward.panel(path, model, g, panel);
        forward.seismogram(path, model, up);
        EXPECT_LT(difference(g, up), 1e-12);
        double largest = 0;
        std::vector<std::pair<double, double>> errors; // of each column, and its norm
        std::vector<std::int64_t> parameters(static_cast<std::size_t>(path.touched()));
        path.parameters(parameters);
        EXPECT_TRUE(std::is_sorted(parameters.begin(), parameters.end()));
        for (std::size_t c = 0; c < parameters.size(); c += 7) {
            constexpr double step = 1e-5;
            std::vector<double> moved = model;
            moved[static_cast<std::size_t>(parameters[c])] += step;
            forward.seismogram(path, moved, up);
            moved[static_cast<std::size_t>(parameters[c])] -= 2 * step;
            forward.seismogram(path, moved, down);
            for (std::size_t i = 0; i < g.size(); ++i) {
                up[i] = (up[i] - down[i]) / (2 * step);
                column[i] = static_cast<double>(panel[i * parameters.size() + c]);
            }
            errors.emplace_back(difference(column, up) * norm(up), norm(up));
            largest = std::max(largest, norm(up));
        }
        for (const auto& [error, size] : errors) worst = std::max(worst, error / std::max(size, 0.01 * largest));
    }
    return worst;
}

TEST(nact, panel_equals_central_differences) {
    for (const theory kind : {theory::nact, theory::nact_in_plane, theory::born}) {
        for (const orbit along : {orbit::minor, orbit::major, orbit::whole}) {
            const forward_problem forward = problem(kind);
            const double worst = worst_column(forward, paths_along(forward, along), 5);
            std::printf("%s, %s: columns differ by up to %.1e\n",
                        kind == theory::nact   ? "NACT"
                        : kind == theory::born ? "Born"
                                               : "NACT in the plane",
                        along == orbit::minor   ? "minor arc"
                        : along == orbit::major ? "major arc"
                                                : "all round",
                        worst);
            EXPECT_LT(worst, 1e-3);
        }
    }
}

/// So long that waves of low Q fade a hundred times more than others: the panel is made of stretches.
TEST(nact, panels_of_long_windows_equal_central_differences) {
    const forward_problem forward = problem(theory::nact_in_plane);
    const std::vector<event> events{some_event()};
    const std::vector<station> stations{{48.3, 8.3}};
    const std::vector<path_request> requests{{0, 0, 600.0, 100.0, 1000}};
    const path_set paths(forward, events, stations, requests);
    const double worst = worst_column(forward, paths, 5);
    std::printf("NACT in the plane, 100,000 s: columns differ by up to %.1e\n", worst);
    EXPECT_LT(worst, 1e-3);
}

TEST(nact, panels_of_vertical_and_radial_motion_equal_central_differences) {
    for (const theory kind : {theory::path_average, theory::nact}) {
        const forward_problem forward = three_components(kind);
        for (const component measured : {component::vertical, component::radial, component::transverse}) {
            const double worst = worst_column(forward, paths_along(forward, orbit::minor, measured), 5);
            std::printf("%s, component %d: columns of dlnVs and dlnxi differ by up to %.1e\n",
                        kind == theory::nact ? "NACT" : "PAVA", static_cast<int>(measured), worst);
            EXPECT_LT(worst, 1e-3);
        }
    }
}

TEST(nact, panels_of_splines_of_their_own_equal_central_differences) {
    for (const theory kind : {theory::path_average, theory::nact}) {
        const forward_problem forward = problem_of_two_bases(kind);
        for (const orbit along : {orbit::minor, orbit::major}) {
            EXPECT_LT(worst_column(forward, paths_along(forward, along), 5), 1e-3);
        }
    }
}

/// The same dlnxi, once on splines that dlnVs shares, once on its own: the same change of the seismogram.
TEST(nact, splines_of_their_own_do_what_shared_ones_do) {
    const forward_problem cheap = small_problem();
    const std::vector<double> knots{3480e3, 4500e3, 5600e3, 6368e3};
    const model_basis fine(2, knots, 2);
    const model_basis apart(model_basis(1, {3480e3, 4000e3, 5000e3, 6368e3}), fine.part(1));
    const std::vector<double> xi = random_vector(fine.part(1).size(), 0.02, 4);
    for (const theory kind : {theory::path_average, theory::nact}) {
        const auto of = [&](const model_basis& basis) {
            const forward_problem forward(cheap.shared_modes(), std::make_shared<const model_basis>(basis), {800, 500, 180, 150},
                                          kind);
            std::vector<double> model(static_cast<std::size_t>(basis.size()), 0.0);
            std::ranges::copy(xi, model.end() - static_cast<std::ptrdiff_t>(xi.size()));
            const path_set paths = paths_along(forward, orbit::minor);
            std::vector<double> g(static_cast<std::size_t>(paths[1].samples())), reference(g.size());
            forward.seismogram(paths[1], model, g);
            forward.seismogram(paths[1], std::vector<double>(model.size(), 0.0), reference);
            EXPECT_GT(difference(g, reference), 1e-3); // dlnxi is seen
            std::ranges::transform(g, reference, g.begin(), std::minus<>());
            return g;
        };
        EXPECT_LT(difference(of(apart), of(fine)), 1e-9);
    }
}

TEST(nact, vertical_motion_of_the_reference_is_the_sum_of_modes) {
    const forward_problem forward = three_components(theory::nact);
    static const auto spheroidal = std::make_shared<const spheroidal_catalogue>(
        spheroidal_catalogue::solve(earth_model::prem_isotropic(), {.shortest_period_s = 150, .order = 4}));
    const mode_synthetics plain(spheroidal, forward.shared_modes(), std::array<double, 4>{800, 500, 180, 150});
    const std::vector<double> zero(static_cast<std::size_t>(forward.basis().size()), 0.0);
    const std::vector<station> stations{{48.3, 8.3}, {-35.3, 149.0}, {-12.0, -150.2}};
    std::vector<double> expected(3 * 3 * 90);
    plain.seismograms(some_event(), stations, {600, 12.5, 90}, expected);
    for (const component measured : {component::vertical, component::radial, component::transverse}) {
        const path_set paths = paths_along(forward, orbit::minor, measured);
        for (std::size_t s = 0; s < 3; ++s) {
            std::vector<double> ours(90);
            forward.seismogram(paths[static_cast<std::int64_t>(s)], zero, ours);
            const auto theirs = std::span(expected).subspan((3 * s + static_cast<std::size_t>(measured)) * 90, 90);
            // Modes of the other type move the ground horizontally, too, where a source radiates little of this one.
            EXPECT_LT(difference(ours, theirs), measured == component::vertical ? 1e-9 : 0.25)
                << static_cast<int>(measured) << " " << s;
        }
    }
}

TEST(nact, apply_and_its_transpose_are_the_panel) {
    const forward_problem forward = problem(theory::nact);
    const path_set paths = paths_along(forward, orbit::minor);
    const path& path = paths[1];
    const auto rows = static_cast<std::size_t>(path.samples());
    const auto columns = static_cast<std::size_t>(path.touched());
    const std::vector<double> model = random_vector(forward.basis().size(), 0.01, 7);
    const std::vector<double> dm = random_vector(forward.basis().size(), 0.01, 8);
    const std::vector<double> residual = random_vector(path.samples(), 1, 9);
    std::vector<double> g(rows), applied(rows), expected(rows, 0.0);
    std::vector<float> panel(rows * columns);
    forward.panel(path, model, g, panel);
    forward.apply(path, model, dm, applied);
    std::vector<double> back(dm.size(), 0.0), expected_back(dm.size(), 0.0);
    forward.apply_transpose(path, model, residual, back);
    const auto parameters = path.parameters();
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t c = 0; c < columns; ++c) {
            const auto at = static_cast<std::size_t>(parameters[c]);
            expected[i] += static_cast<double>(panel[i * columns + c]) * dm[at];
            expected_back[at] += static_cast<double>(panel[i * columns + c]) * residual[i];
        }
    }
    EXPECT_LT(difference(applied, expected), 1e-5);
    EXPECT_LT(difference(back, expected_back), 1e-12);
}

/// Without lateral structure nothing couples but modes of one degree, and of those the ones that the radial structure couples.
TEST(nact, a_change_along_one_branch_alone_is_the_path_average) {
    const forward_problem forward = problem(theory::nact);
    const forward_problem average = problem(theory::path_average);
    const path_set paths = paths_along(forward, orbit::minor);
    const std::vector<double> zero(static_cast<std::size_t>(forward.basis().size()), 0.0);
    std::vector<double> ours(static_cast<std::size_t>(paths[0].samples())), theirs(ours.size());
    forward.seismogram(paths[0], zero, ours);
    average.seismogram(paths[0], zero, theirs);
    EXPECT_EQ(difference(ours, theirs), 0);
}

} // namespace
} // namespace craton::tomography::nact_tests
