#pragma once

#include <craton/apps/waves/solver.hpp>
#include <craton/array/brick_layout.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/runtime/world.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

// Runs of the wave solver that tests share: a small piece of rock, its sources, every way of cutting it.
namespace solver_tests {

using namespace craton;
using namespace craton::waves;
using array::index3;

inline constexpr double h = 100;
inline constexpr index3 cells{34, 26, 33}; // the upper x layer crosses a cache line

// Smoothly varying rock with a sharp step.
inline void heterogeneous(const sample_plane& points, const ground_values& into) {
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

inline solver_options options_of_tests() {
    solver_options options;
    options.spacing_m = h;
    options.dt_s = 0.0075;
    options.absorbing.kind = absorbing_kind::none;
    return options;
}

// Half a cycle of a smooth pulse.
inline std::vector<float> pulse(std::int64_t steps, double dt, double sigma) {
    std::vector<float> values;
    for (std::int64_t n = 0; n < steps; ++n) {
        const double t = (static_cast<double>(n) * dt - 4 * sigma) / sigma;
        values.push_back(static_cast<float>(std::exp(-t * t / 2)));
    }
    return values;
}

inline constexpr std::int64_t pulse_steps = 60;

inline void put_sources(solver& into) {
    const std::vector<moment_source> moments{{{1510, 1290, 1100}, {1e15, -2e15, 5e14, 3e15, 1e15, -1e15}},
                                             {{333, 2001, 2500}, {0, 0, 0, 2e15, 0, 0}}};
    const std::vector<force_source> forces{{{2000, 700, 0}, {1e12, 0, 2e12}}};
    into.set_sources(moments, forces);
    auto rates = pulse(pulse_steps, into.options().dt_s, 0.06);
    into.set_force_series({0, pulse_steps, rates});
    rates.insert(rates.end(), rates.begin(), rates.end());
    into.set_moment_rates({0, pulse_steps, rates});
}

struct nine_fields {
    std::vector<const float*> first;

    explicit nine_fields(const solver& of)
        : first{of.velocity().x, of.velocity().y, of.velocity().z, of.stress().xx, of.stress().yy,
                of.stress().zz,  of.stress().xy,  of.stress().xz,  of.stress().yz} {}
};

// Largest difference over largest value, field by field, on this rank's cells.
inline double difference(const solver& some, const solver& whole) {
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
                    const double now = std::abs(double{found} - expected);
                    if (!(now <= apart)) apart = std::isnan(now) ? INFINITY : now;
                }
            }
        }
        EXPECT_GT(most, 0);
        worst = std::max(worst, apart / most);
    }
    return worst;
}

inline std::vector<index3> process_grids(int ranks) {
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

inline void expect_same_bits(const solver& some, const solver& others) {
    const nine_fields a(some), b(others);
    const auto& shape = some.shape();
    for (std::size_t f = 0; f < a.first.size(); ++f) {
        for (std::int64_t k = 0; k < shape.nz; ++k) {
            for (std::int64_t j = 0; j < shape.ny; ++j) {
                const auto row = shape.at(0, j, k);
                ASSERT_EQ(std::memcmp(a.first[f] + row, b.first[f] + row, sizeof(float) * static_cast<std::size_t>(shape.nx)), 0);
            }
        }
    }
}

} // namespace solver_tests
