// Cells that are no cubes, grids of any shape, odd numbers of cells round a periodic dimension, Robin sides of any resistance.

#include "../../sanitized.hpp"
#include "../deliveries.hpp"

#include "coarsening.hpp"

#include <craton/apps/multigrid/solver.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using namespace craton;
using array::box_layout;
using array::index3;
using multigrid::boundary;
using multigrid::discretisation;
using multigrid::problem;
using multigrid::smoother;

class spacing_test : public tests::every_delivery {
  protected:
    // All on one rank; on several and under a sanitizer some of each kind.
    [[nodiscard]] bool few() { return world().size() > 1 || tests::sanitized; }
};
CRATON_FOR_EVERY_DELIVERY(spacing_test);

constexpr std::array<discretisation, 3> operators{discretisation::seven_point, discretisation::fv2, discretisation::fv4};
constexpr std::array<boundary, 2> flat{boundary::neumann, boundary::neumann};

// Cells of each grid, the finest first.
std::vector<index3> grids(const index3& cells, const multigrid::coarsening_rules& rules, std::array<double, 3> sides) {
    std::vector<index3> found{cells};
    auto shape = box_layout::of_grid(cells, 16);
    while (const auto next = multigrid::coarser(shape, rules, sides)) {
        const auto halved = multigrid::halved_dimensions(shape, *next);
        for (std::size_t d = 0; d < 3; ++d) sides[d] *= halved[d] ? 2 : 1;
        shape = *next;
        const auto cuts = box_layout::cuts_of(shape);
        found.push_back({cuts[0].back(), cuts[1].back(), cuts[2].back()});
    }
    return found;
}

TEST_P(spacing_test, dimensions_of_short_cells_are_halved_first) {
    if (GetParam() != 0 || world().size() > 1) GTEST_SKIP() << "layouts alone";
    using list = std::vector<index3>;
    const multigrid::coarsening_rules plain;
    EXPECT_EQ(grids({16, 16, 16}, plain, {1, 1, 1.4}), (list{{16, 16, 16}, {8, 8, 8}, {4, 4, 4}, {2, 2, 2}, {1, 1, 1}}));
    EXPECT_EQ(grids({16, 16, 16}, plain, {4, 1, 2}), (list{{16, 16, 16}, {16, 8, 16}, {16, 4, 8}, {8, 2, 4}, {4, 1, 2}}));
    // Where a dimension has one cell left a large grid goes on along the others.
    EXPECT_EQ(grids({2, 64, 64}, plain, {1, 1, 1}), (list{{2, 64, 64}, {1, 32, 32}, {1, 16, 16}}));
    const multigrid::coarsening_rules two{.coarsest = 2, .depth = 2, .singular = false, .flat = {}};
    EXPECT_EQ(grids({4, 4, 256}, two, {1, 1, 1}), (list{{4, 4, 256}, {2, 2, 128}, {2, 2, 64}, {2, 2, 32}}));
    // As far as cells are no longer than those of a dimension of two cells along which nothing fixes u.
    const multigrid::coarsening_rules round{.coarsest = 2, .depth = 2, .singular = true, .flat = {true, true, true}};
    EXPECT_EQ(grids({4, 4, 256}, round, {1, 1, 1}), (list{{4, 4, 256}, {2, 2, 128}, {2, 2, 64}}));
    const multigrid::coarsening_rules constants{.coarsest = 1, .depth = 1, .singular = true, .flat = {true, true, true}};
    EXPECT_EQ(grids({8, 8, 8}, constants, {1, 1, 1}), (list{{8, 8, 8}, {4, 4, 4}, {2, 2, 2}}));
}

problem rough_problem(discretisation kind, smoother how) {
    problem what{kind, how};
    what.beta = [](int d, double x, double y, double z, double) { return 1.25 + 0.25 * std::sin(7 * x + 9 * y + 4 * z + d); };
    what.f = [](double x, double y, double z, double) { return std::sin(40 * x) + std::cos(90 * y * z) + x; };
    return what;
}

void converges(runtime::world& world, const index3& cells, const problem& what, int cycles,
               const std::array<bool, 3>& periodic = {}) {
    const box_layout layout(box_layout::of_grid(cells, 12, periodic), world.size());
    if (layout.blocks() < world.size()) return;
    multigrid::solver solver(world, layout, what);
    if (solver.singular()) { // of mean 0, whatever the boxes
        std::vector<double> f;
        for (const auto box : layout.blocks_of(world.rank())) {
            const auto [low, high] = layout.cells(box);
            for (auto k = low[2]; k < high[2]; ++k) {
                for (auto j = low[1]; j < high[1]; ++j) {
                    for (auto i = low[0]; i < high[0]; ++i) {
                        const bool last = i + 1 == cells[0] && cells[0] % 2 == 1;
                        f.push_back(last ? 0.0 : (i % 2 == 0 ? 1 : -1) * std::sin(static_cast<double>(i / 2 + 7 * j * k)));
                    }
                }
            }
        }
        solver.set_right_hand_side(f);
    }
    const auto found = solver.solve(1e-10, cycles);
    EXPECT_TRUE(found.converged) << name_of(what.kind) << ", " << name_of(what.smooth) << ", " << cells[0] << " x " << cells[1]
                                 << " x " << cells[2] << ": " << found.residuals.back();
}

TEST_P(spacing_test, cells_of_any_sides_converge) {
    if (GetParam() != 0) GTEST_SKIP() << "the machine's own node will do";
    for (const auto kind : operators) {
        for (const auto how : {smoother::gauss_seidel, smoother::chebyshev, smoother::jacobi}) {
            if (few() && how != smoother::gauss_seidel) continue;
            for (const auto& spacing : {std::array{1.0, 1.0, 1.4}, {1.0, 4.0, 1.0}, {4.0, 2.0, 1.0}, {0.01, 1.0, 1.0}}) {
                if (few() && spacing[0] != 4) continue;
                auto what = rough_problem(kind, how);
                what.spacing = spacing;
                converges(world(), {24, 24, 24}, what, 12);
                what.sides[1] = flat;
                converges(world(), {20, 33, 17}, what, 12, {true, false, false});
            }
        }
    }
}

TEST_P(spacing_test, grids_of_any_shape_converge) {
    if (GetParam() != 0) GTEST_SKIP() << "the machine's own node will do";
    for (const auto kind : operators) {
        for (const index3& cells : {index3{4, 4, 800}, index3{90, 6, 90}}) {
            if (few() && cells[0] != 4) continue;
            auto what = rough_problem(kind, smoother::gauss_seidel);
            converges(world(), cells, what, 12);
            what.sides = {flat, flat, flat};
            what.f = {};
            converges(world(), cells, what, 12);
            converges(world(), cells, what, 12, {true, true, true});
        }
    }
}

// Red met red: 7pt then took 11 cycles.
TEST_P(spacing_test, odd_numbers_of_cells_round_periodic_dimensions_converge_as_even_ones_do) {
    if (GetParam() != 0) GTEST_SKIP() << "the machine's own node will do";
    for (const auto kind : operators) {
        if (few() && kind != discretisation::seven_point) continue;
        auto what = rough_problem(kind, smoother::gauss_seidel);
        what.f = {};
        for (const std::int64_t n : {48, 49}) converges(world(), {n, n, n}, what, 9, {true, true, true});
    }
}

// From nearly Dirichlet's to nearly Neumann's; coarser grids have the resistance too.
TEST_P(spacing_test, robin_sides_of_any_resistance_converge) {
    if (GetParam() != 0) GTEST_SKIP() << "the machine's own node will do";
    for (const auto kind : {discretisation::seven_point, discretisation::fv2}) {
        for (const auto how : {smoother::gauss_seidel, smoother::chebyshev}) {
            for (const double c : {1e-6, 0.03, 1.0, 30.0, 1e6}) {
                if (few() && (how == smoother::chebyshev || std::abs(std::log10(c)) > 2)) continue;
                auto what = rough_problem(kind, how);
                for (auto& ends : what.sides) ends = {boundary::robin, boundary::robin};
                for (auto& ends : what.robin) ends = {multigrid::robin_coefficients{1, c}, multigrid::robin_coefficients{-2, -c}};
                SCOPED_TRACE(c);
                what.sides[1][0] = boundary::dirichlet;
                converges(world(), {32, 32, 32}, what, 12);
                what.spacing = {1, 2, 0.5};
                converges(world(), {21, 16, 30}, what, 12);
            }
        }
    }
}

// A Robin side with one coefficient is the other kind of side, to the last bit but for the factor.
TEST_P(spacing_test, robin_sides_with_one_coefficient_are_dirichlets_or_neumanns) {
    for (const auto kind : {discretisation::seven_point, discretisation::fv2}) {
        const box_layout layout(box_layout::of_grid({16, 16, 16}, 8), world().size());
        auto plain = rough_problem(kind, smoother::chebyshev);
        plain.sides[0] = {boundary::dirichlet, boundary::neumann};
        const auto value = [](int d, int end, double x, double y, double z, double) { return d + end + x + 2 * y + 4 * z; };
        plain.on_boundary = value;
        auto other = plain;
        other.sides[0] = {boundary::robin, boundary::robin};
        other.robin[0] = {multigrid::robin_coefficients{-2, 0}, multigrid::robin_coefficients{0, 0.5}};
        other.on_boundary = [=](int d, int end, double x, double y, double z, double h) {
            return value(d, end, x, y, z, h) * (d != 0 ? 1 : end == 0 ? -2 : 0.5);
        };
        multigrid::solver first(world(), layout, plain);
        multigrid::solver second(world(), layout, other);
        first.f_cycle();
        second.f_cycle();
        EXPECT_EQ(second.solution(), first.solution());
    }
}

} // namespace
