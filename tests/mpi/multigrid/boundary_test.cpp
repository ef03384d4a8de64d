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
#include <span>
#include <string>
#include <utility>
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

jet neither(double x) { return {1 + x + std::sin(2 * x), 1 + 2 * std::cos(2 * x), -4 * std::sin(2 * x)}; }
jet flat_then_one(double x) { return {2 - x * x * x, -3 * x * x, -6 * x}; }

using factors = std::array<jet (*)(double), 3>;

double solution(const factors& u, double x, double y, double z) { return u[0](x).value * u[1](y).value * u[2](z).value; }
double beta(double x) { return 1 + 0.5 * std::sin(2 * pi * x); }
double alpha(double x, double y, double z) { return 1 + 0.5 * std::sin(3 * x) * std::cos(2 * pi * (y - z)); }
// beta du/dn on a side.
double flux(const factors& u, std::size_t d, std::size_t end, double x, double y, double z) {
    const std::array<jet, 3> of{u[0](x), u[1](y), u[2](z)};
    return (end == 0 ? -1 : 1) * beta(x) * of[d].first * of[(d + 1) % 3].value * of[(d + 2) % 3].value;
}
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
    bool alpha_varies = false, values_given = false;
    std::array<double, 3> lengths{1, 1, 1}; // of the grid, which has as many cells along each

    [[nodiscard]] bool singular() const { return a == 0 && (name.starts_with("Neumann") || name.starts_with("periodic")); }
};
constexpr std::array<boundary, 2> both_zero{boundary::dirichlet, boundary::dirichlet};
constexpr std::array<boundary, 2> both_flat{boundary::neumann, boundary::neumann};
constexpr std::array<boundary, 2> both_robin{boundary::robin, boundary::robin};
// Of a u + c beta du/dn, where a side is Robin's; with c = 0 it is u that is given, with a = 0 a flux.
constexpr std::array<std::array<multigrid::robin_coefficients, 2>, 3> robin{
    {{{{2, 0.5}, {-1, -3}}}, {{{0.1, 4}, {3, 0}}}, {{{0, 2}, {40, 0.2}}}}};

std::vector<setting> settings() {
    constexpr std::array<double, 3> flat{1, 1, 0.25};
    return {{"Dirichlet", {zero_at_both, zero_at_both, zero_at_both}, {both_zero, both_zero, both_zero}, {}, 1},
            {"Neumann", {flat_at_both, flat_at_both, flat_at_both}, {both_flat, both_flat, both_flat}, {}, 1},
            {"Neumann, a = 0", {flat_at_both, flat_at_both, flat_at_both}, {both_flat, both_flat, both_flat}, {}, 0},
            {"periodic, a = 0", {wave, wave, wave}, {}, {true, true, true}, 0},
            {"mixed",
             {wave, flat_then_zero, zero_at_both},
             {both_zero, {boundary::neumann, boundary::dirichlet}, both_zero},
             {true, false, false},
             0},
            {"alpha", {zero_at_both, flat_at_both, wave}, {both_zero, both_flat, both_zero}, {false, false, true}, 2, true},
            {"values on Dirichlet sides", {neither, neither, neither}, {both_zero, both_zero, both_zero}, {}, 0, false, true},
            {"fluxes", {neither, neither, neither}, {both_flat, both_flat, both_flat}, {}, 1, true, true},
            {"mixed, values and fluxes",
             {wave, neither, neither},
             {both_zero, {boundary::neumann, boundary::dirichlet}, {boundary::dirichlet, boundary::neumann}},
             {true, false, false},
             0,
             false,
             true},
            {"mixed, values and no flux",
             {flat_then_one, wave, neither},
             {{{boundary::neumann, boundary::dirichlet}, both_zero, both_zero}},
             {false, true, false},
             1,
             true,
             true},
            {"values, flat cells", {neither, neither, neither}, {both_zero, both_zero, both_zero}, {}, 1, true, true, flat},
            {"fluxes, flat cells", {neither, neither, neither}, {both_flat, both_flat, both_flat}, {}, 1, true, true, flat},
            {"Robin", {neither, neither, neither}, {both_robin, both_robin, both_robin}, {}, 0, false, true},
            {"mixed, values and Robin, flat cells",
             {wave, neither, neither},
             {both_zero, {boundary::robin, boundary::dirichlet}, both_robin},
             {true, false, false},
             1,
             false,
             true,
             {1, 0.25, 0.5}},
            {"mixed, values and flat cells",
             {wave, neither, neither},
             {both_zero, both_zero, both_zero},
             {true, false, false},
             0,
             false,
             true,
             {1, 0.25, 0.5}}};
}

bool has_fluxes(const setting& s) {
    return s.name.find("fluxes") != std::string::npos || s.name.find("Robin") != std::string::npos;
}

// What is given on a side, at a point.
double given_on_side(const setting& s, std::size_t d, std::size_t end, double x, double y, double z) {
    const double u = solution(s.u, x, y, z);
    const double through = flux(s.u, d, end, x, y, z);
    switch (s.sides[d][end]) {
    case boundary::dirichlet:
        return u;
    case boundary::neumann:
        return through;
    case boundary::robin:
        break;
    }
    return robin[d][end].a * u + robin[d][end].c * through;
}

// Of u at the cells or its averages; both without their means where constants are free.
double largest_error(runtime::world& world, const box_layout& layout, const setting& s, discretisation kind) {
    const bool averages = kind != discretisation::seven_point;
    std::array<double, 3> h{};
    for (std::size_t d = 0; d < 3; ++d) h[d] = s.lengths[d] / static_cast<double>(layout.grid().high[d]);
    const auto over_cell = [&](double x, double y, double z, const auto& of) {
        return averages ? mean(x, y, z, h, of) : of(x, y, z);
    };
    problem what{kind, smoother::gauss_seidel, s.a, 1};
    what.sides = s.sides;
    what.robin = robin;
    if (s.lengths != std::array<double, 3>{1, 1, 1}) what.spacing = h;
    what.beta = [&](int d, double x, double y, double z, double) {
        std::array<double, 3> sides = h;
        sides[static_cast<std::size_t>(d)] = 0;
        return averages ? mean(x, y, z, sides, [](double px, double, double) { return beta(px); }) : beta(x);
    };
    if (s.alpha_varies) {
        what.alpha = [&](double x, double y, double z, double) { return averages ? mean(x, y, z, h, alpha) : alpha(x, y, z); };
    }
    if (s.values_given) {
        what.on_boundary = [&](int d, int end, double x, double y, double z, double) {
            const auto e = static_cast<std::size_t>(d);
            const auto here = [&](double px, double py, double pz) {
                return given_on_side(s, e, static_cast<std::size_t>(end), px, py, pz);
            };
            std::array<double, 3> sides = h;
            sides[e] = 0;
            return averages ? mean(x, y, z, sides, here) : here(x, y, z);
        };
    }
    std::vector<double> f;
    std::vector<double> exact;
    for (const auto box : layout.blocks_of(world.rank())) {
        const auto low = layout.cells(box).low;
        for (std::int64_t c = 0; c < layout.side() * layout.side() * layout.side(); ++c) {
            const auto at = [&](std::size_t d, std::int64_t i) { return (static_cast<double>(low[d] + i) + 0.5) * h[d]; };
            const double x = at(0, c % layout.side());
            const double y = at(1, c / layout.side() % layout.side());
            const double z = at(2, c / (layout.side() * layout.side()));
            f.push_back(over_cell(x, y, z,
                                  [&](auto... p) { return right_hand_side(s.u, s.alpha_varies ? s.a * alpha(p...) : s.a, p...); }));
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
    if (s.singular()) {
        without_mean(f);
        without_mean(exact);
    }
    // In the order of the boxes, which is that of the values: what.f goes with what.on_boundary.
    std::size_t next = 0;
    what.f = [&](double, double, double, double) { return f[next++]; };
    multigrid::solver solver(world, layout, what);
    EXPECT_TRUE(solver.solve(1e-10, 30).converged);
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
            if (kind == discretisation::fv4 && has_fluxes(s)) continue; // refused
            // All on one rank; on several those that have a bit of everything.
            if (world().size() > 1 && !s.name.starts_with("mixed, values")) continue;
            SCOPED_TRACE(s.name + " " + std::string(name_of(kind)));
            // Flat cells come to their order on finer grids.
            const std::int64_t n = s.lengths == std::array<double, 3>{1, 1, 1} ? 8 : 12;
            const double coarsest = largest_error(world(), cube(n, n / 2, s.periodic), s, kind);
            const double coarse = largest_error(world(), cube(2 * n, n, s.periodic), s, kind);
            const double fine = largest_error(world(), cube(4 * n, 2 * n, s.periodic), s, kind);
            const bool fourth = kind == discretisation::fv4;
            EXPECT_GE(std::log2(coarsest / coarse), fourth ? 3.5 : 1.65) << coarsest << " " << coarse << " " << fine;
            EXPECT_GE(std::log2(coarse / fine), fourth ? 3.85 : 1.85) << coarsest << " " << coarse << " " << fine;
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
    for (const auto box : layout.blocks_of(world().rank())) {
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

// Of a side of a cube of 16 cells, each with a number of its own.
std::vector<double> side_of_numbers(double first) {
    std::vector<double> numbers(16 * 16);
    for (std::size_t n = 0; n < numbers.size(); ++n) numbers[n] = first + std::sin(static_cast<double>(n));
    return numbers;
}

TEST_P(boundary_test, arrays_on_sides_and_of_alpha_give_what_functions_do) {
    const auto layout = cube(16, 8);
    constexpr double h = 1.0 / 16;
    std::array<std::array<std::vector<double>, 2>, 3> numbers;
    multigrid::side_values sides;
    for (std::size_t d = 0; d < 3; ++d) {
        for (std::size_t end = 0; end < 2; ++end) {
            if (d == 1 && end == 0) continue; // 0 there
            numbers[d][end] = side_of_numbers(static_cast<double>(2 * d + end));
            sides[d][end] = numbers[d][end];
        }
    }
    for (const auto kind : {discretisation::fv2, discretisation::fv4}) {
        problem by_function{kind, smoother::chebyshev, 3, 1};
        if (kind == discretisation::fv2) by_function.sides[2] = {boundary::dirichlet, boundary::neumann};
        problem by_array = by_function;
        by_function.f = [](double x, double, double, double) { return x; };
        by_function.alpha = [](double x, double y, double z, double) { return x + 4 * y + 16 * z; };
        by_function.on_boundary = [&](int d, int end, double x, double y, double z, double) {
            const auto& of_side = numbers[static_cast<std::size_t>(d)][static_cast<std::size_t>(end)];
            const double t = d == 0 ? y : x;
            const double v = d == 2 ? y : z;
            const auto n = static_cast<std::size_t>(std::llround(t / h - 0.5) + 16 * std::llround(v / h - 0.5));
            return of_side.empty() ? 0 : of_side[n];
        };
        std::vector<double> alpha_of_cells;
        std::vector<double> f;
        for (const auto box : layout.blocks_of(world().rank())) {
            const auto low = layout.cells(box).low;
            for (std::int64_t c = 0; c < 512; ++c) {
                const double x = h * (static_cast<double>(low[0] + c % 8) + 0.5);
                const double y = h * (static_cast<double>(low[1] + c / 8 % 8) + 0.5);
                const double z = h * (static_cast<double>(low[2] + c / 64) + 0.5);
                alpha_of_cells.push_back(x + 4 * y + 16 * z);
                f.push_back(x);
            }
        }
        by_array.alpha_values = alpha_of_cells;
        multigrid::solver functions(world(), layout, by_function);
        multigrid::solver arrays(world(), layout, by_array);
        arrays.set_right_hand_side(f, sides);
        functions.f_cycle();
        arrays.f_cycle();
        EXPECT_EQ(arrays.solution(), functions.solution());
        arrays.set_right_hand_side(f); // the next f comes without
        arrays.f_cycle();
        EXPECT_NE(arrays.solution(), functions.solution());
    }
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

// u of all cells, x fastest, of a cube of 16 cells in boxes of 8 whose beta is rough on one plane alone, the grid's boundary before
// or behind dimension d.
std::vector<double> solution_beside_rough_plane(runtime::world& world, const box_layout& layout, std::size_t d, bool behind_last) {
    problem what{discretisation::fv4, smoother::chebyshev};
    what.beta = [=](int normal, double x, double y, double z, double) {
        const std::array<double, 3> at{x, y, z};
        if (static_cast<std::size_t>(normal) != d || std::llround(16 * at[d]) != (behind_last ? 16 : 0)) return 1.0;
        std::mt19937_64 generator(
            static_cast<std::uint64_t>(std::llround(32 * at[(d + 1) % 3]) + 64 * std::llround(32 * at[(d + 2) % 3])));
        generator.discard(8);
        return std::pow(10.0, 6 * std::uniform_real_distribution<double>(0, 1)(generator));
    };
    what.f = [=](double x, double y, double z, double) {
        std::array<double, 3> at{x, y, z};
        if (behind_last) at[d] = 1 - at[d];
        return std::sin(3 * at[0] + 5 * at[1]) + at[2];
    };
    multigrid::solver solver(world, layout, what);
    const auto found = solver.solve(1e-9, 40);
    EXPECT_TRUE(found.converged) << found.residuals.size() << " cycles to " << found.residuals.back();
    const auto own = solver.solution();
    std::vector<double> all(4096);
    std::size_t next = 0;
    for (const auto box : layout.blocks_of(world.rank())) {
        const auto low = layout.cells(box).low;
        for (std::int64_t c = 0; c < 512; ++c)
            all[static_cast<std::size_t>(low[0] + c % 8 + 16 * (low[1] + c / 8 % 8) + 256 * (low[2] + c / 64))] = own[next++];
    }
    world.barrier();
    world.communicator().sum_in_place(std::span(all));
    return all;
}

TEST_P(boundary_test, a_rough_plane_behind_the_last_cells_is_one_before_the_first_mirrored) {
    if (GetParam() != 0) GTEST_SKIP() << "the machine's own node will do";
    constexpr std::array<std::size_t, 3> steps{1, 16, 256};
    for (std::size_t d = 0; d < 3; ++d) {
        SCOPED_TRACE("xyz"[d]);
        const auto before = solution_beside_rough_plane(world(), cube(16, 8), d, false);
        const auto behind = solution_beside_rough_plane(world(), cube(16, 8), d, true);
        for (std::size_t c = 0; c < before.size(); ++c) {
            const std::size_t along = c / steps[d] % 16;
            ASSERT_NEAR(behind[c + (15 - along) * steps[d] - along * steps[d]], before[c], 1e-9);
        }
    }
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

TEST_P(boundary_test, conjugate_gradients_take_no_nan_for_a_solution) {
    multigrid::solver solver(world(), cube(16, 8), multigrid::benchmark_problem(discretisation::seven_point, smoother::jacobi));
    const std::vector<double> f(solver.own_cells(), 1);
    std::vector<double> u(solver.own_cells(), 0);
    if (world().rank() == 0) u[5] = std::numeric_limits<double>::quiet_NaN();
    const auto found = conjugate_gradients(solver, f, u, 1e-8, 10);
    EXPECT_FALSE(found.converged);
    EXPECT_TRUE(std::isnan(found.residuals.back()));
}

TEST_P(boundary_test, progress_hears_of_nothing_to_do) {
    multigrid::solver solver(world(), cube(16, 8), problem{discretisation::seven_point, smoother::chebyshev}); // f = 0
    for (const bool by_cycles : {true, false}) {
        std::vector<std::pair<int, double>> told;
        const auto tell = [&](int step, double residual) { told.emplace_back(step, residual); };
        const auto found = by_cycles ? solver.solve(1e-8, 5, tell) : solver.solve_by_conjugate_gradients(1e-8, 5, tell);
        EXPECT_TRUE(found.converged);
        EXPECT_EQ(found.residuals, std::vector<double>{0});
        EXPECT_EQ(told, (std::vector<std::pair<int, double>>{{0, 0.0}}));
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
    const auto refuse_alpha = [&](double a, double inside, double elsewhere) {
        return refuse(cube(16, 8), [=](problem& p) {
            p.a = a;
            p.alpha = [=](double x, double y, double z, double) { return here(x, y, z) ? inside : elsewhere; };
        });
    };
    expect_words(refuse_alpha(1, nan, 1), "alpha at cell (0, 0, 0) = nan");
    expect_words(refuse_alpha(1, -2, 1), "alpha at cell (0, 0, 0) = -2; allowed: 0 or more");
    expect_words(refuse_alpha(1, 0, 0), "alpha = 0 everywhere");
    expect_words(refuse_alpha(0, 1, 1), "alpha with a = 0");
    EXPECT_EQ(refuse_alpha(1, 0, 1), "accepted");
    const bool last = world().rank() + 1 == world().size();
    const std::vector<double> too_few(7, 1);
    if (world().size() > 1) {
        expect_words(refuse(cube(16, 8),
                            [&](problem& p) {
                                p.a = 1;
                                if (last) p.alpha_values = too_few;
                            }),
                     "alpha on some ranks");
    }
    expect_words(refuse(cube(16, 8),
                        [&](problem& p) {
                            p.a = 1;
                            p.alpha_values = too_few;
                        }),
                 "alpha has 7 values");
    const auto on_z = [=](double value) {
        return [=](int d, int end, double x, double y, double, double) {
            return d == 2 && end == 1 && x < 0.05 && y < 0.05 ? value : 0;
        };
    };
    expect_words(refuse(cube(16, 8), [&](problem& p) { p.on_boundary = on_z(nan); }),
                 "value on the side behind the last z, beside cell (0, 0, 15) = nan");
    expect_words(refuse(cube(16, 8),
                        [&](problem& p) {
                            p.kind = discretisation::fv4;
                            p.sides[2] = both_flat;
                            p.on_boundary = on_z(1);
                        }),
                 "flux on the side behind the last z, beside cell (0, 0, 15) = 1; allowed: 0 with fv4");
    for (const double wrong : {0.0, -1.0, nan, std::numeric_limits<double>::infinity(), 1e-200}) {
        expect_words(refuse(cube(16, 8), [=](problem& p) { p.spacing = {1, wrong, 1}; }), "multigrid: spacing = 1, ");
    }
    EXPECT_EQ(refuse(cube(16, 8), [](problem& p) { p.spacing = {1, 1e-3, 1e3}; }), "accepted");
    const auto refuse_robin = [&](double a, double c) {
        return refuse(cube(16, 8), [=](problem& p) {
            p.sides[1][1] = boundary::robin;
            p.robin[1][1] = {a, c};
        });
    };
    for (const auto& [a, c] : {std::pair{0.0, 0.0}, {1.0, -1.0}, {-2.0, 1e-9}, {nan, 1.0}, {1.0, HUGE_VAL}, {1e-200, 1.0}})
        expect_words(refuse_robin(a, c), "in a u + c beta du/dn on the side behind the last y; allowed: both at least 0 or");
    for (const auto& [a, c] : {std::pair{0.0, -1.0}, {1.0, 0.0}, {-2.0, -3.0}}) EXPECT_EQ(refuse_robin(a, c), "accepted");
    expect_words(refuse(cube(16, 8),
                        [](problem& p) {
                            p.kind = discretisation::fv4;
                            p.sides[0][0] = boundary::robin;
                        }),
                 "Robin's condition on the side before the first x with fv4; allowed: with 7pt and fv2");
    expect_words(refuse(cube(4, 1), [](problem&) {}), "boxes of 1 cells");
    expect_words(refuse(cube(8, 2), [](problem& p) { p.kind = discretisation::fv4; }), "at least 4 with fv4");
    expect_words(refuse(cube(42, 21), [](problem&) {}), "a box that begins at cell 21; allowed: even ones");
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
    // Of one rank only as well: sides, whole ones on every rank.
    f.assign(solver.own_cells(), 0);
    const std::vector<double> side(world().rank() == 0 ? 255 : 256, 1);
    multigrid::side_values sides;
    sides[1][0] = side;
    expect_words(refused([&] { solver.set_right_hand_side(f, sides); }),
                 "255 values on the side before the first y; allowed: 16 x 16");
    multigrid::solver round(world(), cube(16, 8, {false, true, false}), problem{discretisation::fv2, smoother::chebyshev});
    expect_words(refused([&] { round.set_right_hand_side(f, sides); }),
                 "values on the side before the first y; allowed: none, it is periodic");
    // Fluxes that do not balance f.
    const std::vector<double> whole(256, 1);
    sides[1][0] = whole;
    expect_words(refused([&] { solver.set_right_hand_side(f, sides); }), "mean of the right-hand side = 1,");
    expect_words(refused([&] { solver.solve(0); }), "tolerance = 0");
    expect_words(refused([&] { solver.solve(1e-8, -1); }), "-1 cycles");
}

} // namespace
