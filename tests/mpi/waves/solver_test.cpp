// The whole solver: every way of cutting the grid gives the same fields, energy stays, source and receiver can be swapped.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/apps/waves/solver.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace {

using namespace craton;
using namespace craton::waves;
using array::index3;

constexpr double h = 100;
constexpr index3 cells{30, 26, 33};

// Smoothly varying rock with a sharp step.
void heterogeneous(const sample_plane& points, const ground_values& into) {
    for (std::int64_t b = 0; b < points.ny; ++b) {
        for (std::int64_t a = 0; a < points.nx; ++a) {
            const double x = points.x_m(a);
            const double y = points.y_m(b);
            const double bump = std::sin(x / 300) * std::cos(y / 400) * std::sin(points.z_m() / 350);
            const double vs = 2000 + 500 * bump + (points.z_m() > 1230 ? 900 : 0);
            const auto n = static_cast<std::size_t>(a + b * points.nx);
            into.vs[n] = static_cast<float>(vs);
            into.vp[n] = static_cast<float>(1.75 * vs + 200);
            into.rho[n] = static_cast<float>(2000 + 0.2 * vs);
            if (into.qp != nullptr) {
                into.qs[n] = static_cast<float>(30 + 20 * bump);
                into.qp[n] = 2 * into.qs[n];
            }
        }
    }
}

solver_options options_of_tests() {
    solver_options options;
    options.spacing_m = h;
    options.dt_s = 0.008;
    options.absorbing.kind = absorbing_kind::none;
    return options;
}

// Half a cycle of a smooth pulse.
std::vector<float> pulse(std::int64_t steps, double dt, double sigma) {
    std::vector<float> values;
    for (std::int64_t n = 0; n < steps; ++n) {
        const double t = (static_cast<double>(n) * dt - 4 * sigma) / sigma;
        values.push_back(static_cast<float>(std::exp(-t * t / 2)));
    }
    return values;
}

constexpr std::int64_t pulse_steps = 60;

void put_sources(solver& into) {
    const std::vector<moment_source> moments{{{1510, 1290, 1100}, {1e15, -2e15, 5e14, 3e15, 1e15, -1e15}},
                                             {{333, 2001, 2500}, {0, 0, 0, 2e15, 0, 0}}};
    const std::vector<force_source> forces{{{2000, 700, 0}, {1e12, 0, 2e12}}};
    into.set_sources(moments, forces);
    auto rates = pulse(pulse_steps, into.options().dt_s, 0.06);
    into.set_force_series({0, pulse_steps, rates});
    rates.insert(rates.end(), rates.begin(), rates.end());
    into.set_moment_rates({0, pulse_steps, rates});
}

class waves_solver_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(waves_solver_test);

struct nine_fields {
    std::vector<const float*> first;

    explicit nine_fields(const solver& of)
        : first{of.velocity().x, of.velocity().y, of.velocity().z, of.stress().xx, of.stress().yy,
                of.stress().zz,  of.stress().xy,  of.stress().xz,  of.stress().yz} {}
};

// Largest difference over largest value, field by field, on this rank's cells.
double difference(const solver& some, const solver& whole) {
    const nine_fields a(some), b(whole);
    const auto own = some.own_cells();
    double worst = 0;
    for (std::size_t f = 0; f < a.first.size(); ++f) {
        double most = 0, apart = 0;
        for (std::int64_t k = 0; k < cells[2]; ++k) {
            for (std::int64_t j = 0; j < cells[1]; ++j) {
                for (std::int64_t i = 0; i < cells[0]; ++i) {
                    const float expected = b.first[f][whole.shape().at(i, j, k)];
                    most = std::max(most, std::abs(double{expected}));
                    if (!own.contains({i, j, k})) continue;
                    const float found = a.first[f][some.shape().at(i - own.low[0], j - own.low[1], k - own.low[2])];
                    apart = std::max(apart, std::abs(double{found} - expected));
                }
            }
        }
        EXPECT_GT(most, 0);
        worst = std::max(worst, apart / most);
    }
    return worst;
}

std::vector<index3> process_grids(int ranks) {
    std::vector<index3> found;
    for (std::int64_t x = 1; x <= ranks; ++x) {
        for (std::int64_t y = 1; x * y <= ranks; ++y) {
            const std::int64_t z = ranks / (x * y);
            if (x * y * z == ranks && cells[2] / z >= 8) found.push_back({x, y, z});
        }
    }
    return found;
}

// On one rank, by itself.
struct alone {
    runtime::world world{comm::communicator::world().split(comm::communicator::world().rank()), {}};
    solver run;

    explicit alone(const solver_options& options) : run(world, array::brick_layout(cells, {1, 1, 1}), options, heterogeneous) {}
};

TEST_P(waves_solver_test, all_decompositions_agree) {
    for (const bool anelastic : {false, true}) {
        for (const auto kind : {absorbing_kind::none, absorbing_kind::pml, absorbing_kind::sponge}) {
            auto options = options_of_tests();
            options.absorbing.kind = kind;
            options.absorbing.width = 5;
            if (anelastic) options.attenuation = relaxation(0.1, 10, 1);
            alone expected(options);
            put_sources(expected.run);
            expected.run.advance(80);
            for (const auto& processes : process_grids(world().size())) {
                options.threads = 1 + world().size() % 2;
                solver run(world(), array::brick_layout(cells, processes), options, heterogeneous);
                put_sources(run);
                run.advance(80);
                EXPECT_LT(difference(run, expected.run), 1e-6) << processes[0] << " x " << processes[1] << " x " << processes[2];
            }
        }
    }
}

TEST_P(waves_solver_test, conserves_energy_in_a_closed_box) {
    auto options = options_of_tests();
    solver run(world(), array::brick_layout(cells, process_grids(world().size()).back()), options, heterogeneous);
    put_sources(run);
    run.advance(pulse_steps + 1);
    const double first = run.energy();
    EXPECT_GT(first, 0);
    for (int n = 0; n < 4; ++n) {
        run.advance(100);
        EXPECT_NEAR(run.energy() / first, 1, 2e-5);
    }
}

} // namespace
