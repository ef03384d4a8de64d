// Problems of a user's own: every boundary, arrays, coefficients that jump, constants left free, bad input.

#include "../deliveries.hpp"

#include <craton/apps/multigrid/conjugate_gradients.hpp>
#include <craton/apps/multigrid/solver.hpp>
#include <craton/base/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace craton;
using array::box_layout;
using multigrid::boundary;
using multigrid::discretisation;
using multigrid::problem;
using multigrid::smoother;

constexpr double pi = std::numbers::pi;

class boundary_test : public tests::every_delivery {
  protected:
    [[nodiscard]] box_layout cube(std::int64_t cells, std::int64_t side, const std::array<bool, 3>& periodic = {}) {
        return box_layout({{cells / side, cells / side, cells / side}, side, periodic, array::box_order::morton}, world().size());
    }
};
CRATON_FOR_EVERY_DELIVERY(boundary_test);

// A function of one coordinate with its derivatives.
struct jet {
    double value, first, second;
};
jet zero_at_both(double x) { return {std::sin(pi * x), pi * std::cos(pi * x), -pi * pi * std::sin(pi * x)}; }
jet flat_at_both(double x) { return {x * x / 2 - x * x * x * x / 4, x - x * x * x, 1 - 3 * x * x}; }
jet flat_then_zero(double x) { return {1 - x * x * x, -3 * x * x, -6 * x}; }
jet wave(double x) { return {std::sin(2 * pi * x), 2 * pi * std::cos(2 * pi * x), -4 * pi * pi * std::sin(2 * pi * x)}; }

using factors = std::array<jet (*)(double), 3>;

double solution(const factors& u, double x, double y, double z) { return u[0](x).value * u[1](y).value * u[2](z).value; }
double beta(double x) { return 1 + 0.5 * std::sin(2 * pi * x); }
double right_hand_side(const factors& u, double a, double x, double y, double z) {
    const jet p = u[0](x);
    const jet q = u[1](y);
    const jet r = u[2](z);
    const double laplacian = p.second * q.value * r.value + p.value * q.second * r.value + p.value * q.value * r.second;
    return a * p.value * q.value * r.value - pi * std::cos(2 * pi * x) * p.first * q.value * r.value - beta(x) * laplacian;
}

// The mean over a box of sides h round a point, by two points of Gauss in each dimension (wrong in the fourth order of h).
template <class Function> double mean(double x, double y, double z, const std::array<double, 3>& h, const Function& of) {
    static const std::array<double, 2> nodes{-std::sqrt(1.0 / 12), std::sqrt(1.0 / 12)};
    double sum = 0;
    for (const double p : nodes) {
        for (const double q : nodes) {
            for (const double r : nodes) sum += of(x + p * h[0], y + q * h[1], z + r * h[2]);
        }
    }
    return sum / 8;
}

struct setting {
    std::string name;
    factors u;
    std::array<std::array<boundary, 2>, 3> sides;
    std::array<bool, 3> periodic;
    double a;
};
constexpr std::array<boundary, 2> both_zero{boundary::dirichlet, boundary::dirichlet};
constexpr std::array<boundary, 2> both_flat{boundary::neumann, boundary::neumann};

std::vector<setting> settings() {
    return {{"Dirichlet", {zero_at_both, zero_at_both, zero_at_both}, {both_zero, both_zero, both_zero}, {}, 1},
            {"Neumann", {flat_at_both, flat_at_both, flat_at_both}, {both_flat, both_flat, both_flat}, {}, 1},
            {"Neumann, a = 0", {flat_at_both, flat_at_both, flat_at_both}, {both_flat, both_flat, both_flat}, {}, 0},
            {"periodic, a = 0", {wave, wave, wave}, {}, {true, true, true}, 0},
            {"mixed",
             {wave, flat_then_zero, zero_at_both},
             {both_zero, {boundary::neumann, boundary::dirichlet}, both_zero},
             {true, false, false},
             0}};
}

// Of u at the cells or its averages; both without their means where constants are free.
double largest_error(runtime::world& world, const box_layout& layout, const setting& s, discretisation kind) {
    const bool averages = kind != discretisation::seven_point;
    const double h = 1.0 / static_cast<double>(layout.grid().high[0]);
    const auto over_cell = [&](double x, double y, double z, const auto& of) {
        return averages ? mean(x, y, z, {h, h, h}, of) : of(x, y, z);
    };
    problem what{kind, smoother::gauss_seidel, s.a, 1};
    what.sides = s.sides;
    what.beta = [&](int d, double x, double y, double z, double) {
        std::array<double, 3> sides{h, h, h};
        sides[static_cast<std::size_t>(d)] = 0;
        return averages ? mean(x, y, z, sides, [](double px, double, double) { return beta(px); }) : beta(x);
    };
    multigrid::solver solver(world, layout, what);
    std::vector<double> f;
    std::vector<double> exact;
    for (const auto box : layout.boxes_of(world.rank())) {
        const auto low = layout.cells(box).low;
        for (std::int64_t c = 0; c < layout.side() * layout.side() * layout.side(); ++c) {
            const auto at = [&](std::size_t d, std::int64_t i) { return (static_cast<double>(low[d] + i) + 0.5) * h; };
            const double x = at(0, c % layout.side());
            const double y = at(1, c / layout.side() % layout.side());
            const double z = at(2, c / (layout.side() * layout.side()));
            f.push_back(over_cell(x, y, z, [&](auto... p) { return right_hand_side(s.u, s.a, p...); }));
            exact.push_back(over_cell(x, y, z, [&](auto... p) { return solution(s.u, p...); }));
        }
    }
    const auto without_mean = [&](std::vector<double>& of) {
        std::array<double, 1> sum{0};
        for (const double each : of) sum[0] += each;
        world.barrier();
        world.communicator().sum_in_place(std::span<double>(sum));
        for (double& each : of) each -= sum[0] / static_cast<double>(layout.grid().cells());
    };
    if (solver.singular()) {
        without_mean(f);
        without_mean(exact);
    }
    solver.set_right_hand_side(f);
    EXPECT_TRUE(solver.solve(1e-9, 30).converged);
    const auto found = solver.solution();
    double most = 0;
    for (std::size_t c = 0; c < exact.size(); ++c) most = std::max(most, std::abs(found[c] - exact[c]));
    world.barrier();
    return world.communicator().maximum(most);
}

TEST_P(boundary_test, solutions_converge_at_the_order_of_the_operator) {
    if (GetParam() != 0) GTEST_SKIP() << "the machine's own node will do";
    for (const auto kind : {discretisation::seven_point, discretisation::fv2, discretisation::fv4}) {
        for (const auto& s : settings()) {
            SCOPED_TRACE(s.name + " " + std::string(name_of(kind)));
            const double coarse = largest_error(world(), cube(16, 8, s.periodic), s, kind);
            const double fine = largest_error(world(), cube(32, 16, s.periodic), s, kind);
            EXPECT_GE(std::log2(coarse / fine), kind == discretisation::fv4 ? 3.5 : 1.7) << coarse << " " << fine;
        }
    }
}

TEST_P(boundary_test, arrays_give_what_functions_do) {
    const auto layout = cube(16, 8);
    const auto what = multigrid::benchmark_problem(discretisation::fv4, smoother::chebyshev);
    multigrid::solver by_functions(world(), layout, what);
    by_functions.f_cycle();
    problem plain{what.kind, what.smooth};
    std::array<std::vector<double>, 3> values;
    std::vector<double> f;
    constexpr double h = 1.0 / 16;
    for (const auto box : layout.boxes_of(world().rank())) {
        const auto low = layout.cells(box).low;
        const auto for_cells = [&](const array::index3& extent, const auto& visit) {
            for (std::int64_t k = 0; k < extent[2]; ++k) {
                for (std::int64_t j = 0; j < extent[1]; ++j) {
                    for (std::int64_t i = 0; i < extent[0]; ++i)
                        visit(std::array<double, 3>{h * (static_cast<double>(low[0] + i) + 0.5),
                                                    h * (static_cast<double>(low[1] + j) + 0.5),
                                                    h * (static_cast<double>(low[2] + k) + 0.5)});
                }
            }
        };
        for_cells({8, 8, 8}, [&](const auto& x) { f.push_back(what.f(x[0], x[1], x[2], h)); });
        for (std::size_t d = 0; d < 3; ++d) {
            array::index3 extent{8, 8, 8};
            ++extent[d];
            for_cells(extent, [&](auto x) {
                x[d] -= 0.5 * h;
                values[d].push_back(what.beta(static_cast<int>(d), x[0], x[1], x[2], h));
            });
        }
    }
    plain.beta_values = {values[0], values[1], values[2]};
    multigrid::solver by_arrays(world(), layout, plain);
    by_arrays.set_right_hand_side(f);
    by_arrays.f_cycle();
    EXPECT_EQ(by_arrays.solution(), by_functions.solution());
}

TEST_P(boundary_test, coefficients_that_jump_by_a_million_converge) {
    if (GetParam() != 0) GTEST_SKIP() << "the machine's own node will do";
    // A number of a face, whatever rank asks.
    const auto rough = [](int d, double x, double y, double z, double) {
        std::mt19937_64 generator(static_cast<std::uint64_t>(d + 4 * std::llround(64 * x) + 512 * std::llround(64 * y)) +
                                  65536 * static_cast<std::uint64_t>(std::llround(64 * z)));
        generator.discard(8);
        return std::pow(10.0, 6 * std::uniform_real_distribution<double>(0, 1)(generator));
    };
    problem what{discretisation::seven_point, smoother::gauss_seidel};
    what.beta = rough;
    what.f = [](double x, double y, double z, double) { return std::sin(3 * x + 5 * y) + z; };
    multigrid::solver solver(world(), cube(16, 8), what);
    const auto found = solver.solve_by_conjugate_gradients(1e-8, 200);
    EXPECT_TRUE(found.converged) << found.residuals.size() << " steps to " << found.residuals.back();
    EXPECT_LE(solver.relative_residual(), 1.1e-8);
}

TEST_P(boundary_test, conjugate_gradients_find_what_cycles_find) {
    for (const auto kind : {discretisation::seven_point, discretisation::fv2, discretisation::fv4}) {
        multigrid::solver solver(world(), cube(16, 8), multigrid::benchmark_problem(kind, smoother::chebyshev));
        const auto cycles = solver.solve(1e-9);
        const auto u = solver.solution();
        const auto steps = solver.solve_by_conjugate_gradients(1e-9);
        EXPECT_TRUE(cycles.converged && steps.converged);
        EXPECT_LE(steps.residuals.size(), cycles.residuals.size() + 2);
        const auto other = solver.solution();
        for (std::size_t c = 0; c < u.size(); ++c) ASSERT_NEAR(u[c], other[c], 1e-7);
    }
}

template <class Call> std::string refused(const Call& call) {
    try {
        call();
    } catch (const user_error& error) {
        return error.what();
    }
    return "accepted";
}

void expect_words(const std::string& message, const std::string& words) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_NE(message.find("allowed: "), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST_P(boundary_test, bad_input_is_refused_on_every_rank) {
    const auto refuse = [&](const box_layout& layout, const auto& change) {
        problem what{discretisation::seven_point, smoother::chebyshev};
        change(what);
        return refused([&] { multigrid::solver(world(), layout, what); });
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto here = [](double x, double y, double z) { return x < 0.05 && y < 0.05 && z < 0.05; };
    expect_words(refuse(cube(16, 8), [](problem& p) { p.a = -1; }), "a = -1");
    expect_words(refuse(cube(16, 8), [](problem& p) { p.b = 0; }), "b = 0");
    expect_words(
        refuse(cube(16, 8),
               [&](problem& p) { p.beta = [=](int, double x, double y, double z, double) { return here(x, y, z) ? nan : 1; }; }),
        "cell (0, 0, 0) = nan");
    expect_words(
        refuse(cube(16, 8),
               [&](problem& p) { p.beta = [=](int, double x, double y, double z, double) { return here(x, y, z) ? 0 : 1; }; }),
        "= 0; allowed: positive");
    expect_words(refuse(cube(16, 8),
                        [&](problem& p) { p.f = [=](double x, double y, double z, double) { return here(x, y, z) ? nan : 1; }; }),
                 "right-hand side at cell (0, 0, 0) = nan");
    expect_words(refuse(cube(4, 1), [](problem&) {}), "boxes of 1 cells");
    expect_words(refuse(cube(8, 2), [](problem& p) { p.kind = discretisation::fv4; }), "at least 4 with fv4");
    expect_words(refuse(cube(42, 21), [](problem&) {}), "cannot be made coarser");
    if (world().size() > 1) expect_words(refuse(cube(8, 8), [](problem&) {}), "boxes = 1 on");

    problem free{discretisation::fv2, smoother::chebyshev};
    free.sides = {both_flat, both_flat, both_flat};
    free.f = [](double, double, double, double) { return 1; };
    expect_words(refused([&] { multigrid::solver(world(), cube(16, 8), free); }), "mean of the right-hand side = 1,");
    free.f = {};
    multigrid::solver solver(world(), cube(16, 8), free);
    EXPECT_TRUE(solver.singular());
    // Fault of one rank only.
    std::vector<double> f(solver.own_cells() + (world().rank() + 1 == world().size() ? 1 : 0));
    expect_words(refused([&] { solver.set_right_hand_side(f); }), "right-hand side has");
    expect_words(refused([&] { solver.solve(0); }), "tolerance = 0");
    expect_words(refused([&] { solver.solve(1e-8, -1); }), "-1 cycles");
}

} // namespace
