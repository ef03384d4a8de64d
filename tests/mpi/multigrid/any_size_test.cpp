// Grids of any size: dimensions with odd numbers of cells and few factors of two, boxes that are not all as large.

#include "../../sanitized.hpp"
#include "../deliveries.hpp"

#include <craton/apps/multigrid/solver.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace {

using namespace craton;
using array::box_layout;
using array::index3;
using multigrid::boundary;
using multigrid::discretisation;
using multigrid::problem;
using multigrid::smoother;

class any_size_test : public tests::every_delivery {
  protected:
    [[nodiscard]] box_layout layout(const index3& cells, std::int64_t side, const std::array<bool, 3>& periodic = {}) {
        return box_layout(box_layout::of_grid(cells, side, periodic), world().size());
    }
};
CRATON_FOR_EVERY_DELIVERY(any_size_test);

constexpr std::array<discretisation, 3> kinds{discretisation::seven_point, discretisation::fv2, discretisation::fv4};

// All sides Dirichlet, or both sides of x and one of y Neumann.
problem rough_problem(discretisation kind, bool dirichlet) {
    problem what{kind, smoother::gauss_seidel};
    if (!dirichlet) what.sides = {{{boundary::neumann, boundary::neumann}, {boundary::neumann, boundary::dirichlet}, {}}};
    what.beta = [](int, double x, double y, double z, double) { return 1 + 0.5 * std::sin(7 * x + 4 * y) * std::cos(5 * z); };
    what.f = [](double x, double y, double z, double) { return std::sin(40 * x) + std::cos(90 * y * z) + x; };
    return what;
}

void converges(runtime::world& world, const box_layout& layout, const problem& what) {
    multigrid::solver solver(world, layout, what);
    const auto found = solver.solve(1e-10, 12);
    const index3 n = layout.grid().high;
    EXPECT_TRUE(found.converged) << name_of(what.kind) << ", " << n[0] << " x " << n[1] << " x " << n[2] << ": "
                                 << found.residuals.back() << " after " << found.residuals.size() - 1 << " cycles";
}

void sizes_converge(runtime::world& world, int count, std::int64_t most, std::int64_t side) {
    std::mt19937 random(23);
    std::uniform_int_distribution<std::int64_t> cells(10, most);
    for (int n = 0; n < count; ++n) {
        const index3 size{cells(random), cells(random), cells(random)};
        for (const bool dirichlet : {true, false}) {
            const box_layout layout(box_layout::of_grid(size, side), world.size());
            if (layout.blocks() < world.size()) continue;
            for (const auto kind : kinds) converges(world, layout, rough_problem(kind, dirichlet));
        }
    }
}

TEST_P(any_size_test, sizes_at_random_converge_in_12_cycles) {
    if (GetParam() != 0) GTEST_SKIP() << "the machine's own node will do";
    if (tests::sanitized)
        sizes_converge(world(), 2, 24, 8);
    else
        sizes_converge(world(), world().size() == 1 ? 12 : 2, 64, 16);
}

// u after an F-cycle in all cells, x fastest, on every rank.
std::vector<double> f_cycle_of(runtime::world& world, const box_layout& layout, const problem& what) {
    multigrid::solver solver(world, layout, what);
    solver.f_cycle();
    const auto own = solver.solution();
    const index3 n = layout.grid().high;
    std::vector<double> whole(static_cast<std::size_t>(layout.grid().cells()));
    std::size_t next = 0;
    for (const auto box : layout.blocks_of(world.rank())) {
        const auto [low, high] = layout.cells(box);
        for (std::int64_t k = low[2]; k < high[2]; ++k) {
            for (std::int64_t j = low[1]; j < high[1]; ++j) {
                for (std::int64_t i = low[0]; i < high[0]; ++i)
                    whole[static_cast<std::size_t>(i + n[0] * (j + n[1] * k))] = own[next++];
            }
        }
    }
    world.barrier();
    world.communicator().sum_in_place(std::span(whole));
    return whole;
}

// Of several ranks too: one box is one rank's, so that it is compared with their boxes on one.
TEST_P(any_size_test, neither_boxes_nor_ranks_show_in_an_f_cycle) {
    for (const auto kind : kinds) {
        for (const index3& size : {index3{33, 26, 21}, index3{20, 40, 24}, index3{17, 24, 31}}) {
            const std::array<bool, 3> periodic{false, false, size[0] == 17};
            auto what = rough_problem(kind, size[0] == 20);
            if (size[0] == 33) what.spacing = {0.04, 0.1, 0.02};
            const auto expected = f_cycle_of(world(), layout(size, 8, periodic), what);
            double largest = 0;
            for (const double each : expected) largest = std::max(largest, std::abs(each));
            for (const std::int64_t side : {5, 10, 64}) {
                const auto other = layout(size, side, periodic);
                if (other.blocks() < world().size()) continue;
                const auto found = f_cycle_of(world(), other, what);
                double most = 0;
                for (std::size_t c = 0; c < found.size(); ++c) most = std::max(most, std::abs(found[c] - expected[c]));
                EXPECT_LE(most, 1e-9 * largest) << name_of(kind) << ", " << size[0] << " cells along x, boxes of " << side;
            }
            if (GetParam() != 0) return; // one is enough for ranks that do not share memory
        }
    }
}

// HPGMG-FV at a93ff23, GSRB (-DUSE_FCYCLES -DUSE_GSRB -DGSRB_BRANCH -DUSE_BICGSTAB, without restrict): "rel" of its F-cycle on
// 5^3 boxes of 16^3 and 3^3 of 32^3 for 7pt and fv2. For fv4 a single box of 80^3 and 2^3 of 48^3, since boxes of fewer than 4
// cells lower its order at the boundary.
struct published {
    discretisation kind;
    std::int64_t cells, side;
    double relative_residual;
};
constexpr std::array<published, 6> hpgmg{{{discretisation::seven_point, 80, 16, 5.190452561318260e-03},
                                          {discretisation::fv2, 80, 16, 1.892462347007863e-03},
                                          {discretisation::fv4, 80, 16, 3.822467091389680e-05},
                                          {discretisation::seven_point, 96, 32, 4.503896918894991e-03},
                                          {discretisation::fv2, 96, 32, 1.382203486344957e-03},
                                          {discretisation::fv4, 96, 32, 2.040759939533389e-05}}};

TEST_P(any_size_test, norms_on_3_and_5_times_powers_of_two_are_those_of_hpgmg) {
    if (GetParam() != 0 || world().size() > 2) GTEST_SKIP() << "the machine's own node will do";
    if (tests::sanitized) GTEST_SKIP() << "takes too long under a sanitizer; smaller grids run the same kernels";
    for (const auto& each : hpgmg) {
        const index3 size{each.cells, each.cells, each.cells};
        multigrid::solver solver(world(), layout(size, each.side), multigrid::benchmark_problem(each.kind, smoother::gauss_seidel));
        solver.f_cycle();
        EXPECT_NEAR(solver.relative_residual() / each.relative_residual, 1, 1e-6) << name_of(each.kind) << ", " << each.cells;
    }
}

// Values of 1000 on the boundary weigh 16^2 times as much in the cells' equations, f alone 1.
TEST_P(any_size_test, residuals_are_relative_to_f_as_it_was_given) {
    problem what{discretisation::fv2, smoother::gauss_seidel};
    what.f = [](double x, double, double, double) { return std::cos(x); };
    what.on_boundary = [](int, int, double, double, double, double) { return 1000.0; };
    for (const bool by_conjugate_gradients : {false, true}) {
        multigrid::solver solver(world(), layout({16, 16, 16}, 8), what);
        const auto found = by_conjugate_gradients ? solver.solve_by_conjugate_gradients(1e-6, 40) : solver.solve(1e-6, 40);
        EXPECT_TRUE(found.converged);
        EXPECT_NEAR(solver.largest_right_hand_side(), std::cos(0.5 / 16), 1e-15);
        EXPECT_LE(solver.residual_norm(), 1.01e-6);
        EXPECT_NEAR(solver.residual_norm() / std::cos(0.5 / 16), found.residuals.back(), 1e-8);
    }
    what.f = {}; // nothing but what the boundary gives
    multigrid::solver harmonic(world(), layout({16, 16, 16}, 8), what);
    EXPECT_GT(harmonic.largest_right_hand_side(), 1e5);
    EXPECT_TRUE(harmonic.solve(1e-10, 20).converged);
}

} // namespace
