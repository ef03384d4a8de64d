// The diagonal and the bound of the largest eigenvalue, which come from probing with colours, beside the operator's matrix, column
// by column.

#include "../deliveries.hpp"

#include "input.hpp"
#include "level.hpp"

#include <craton/apps/multigrid/solver.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace craton;
using array::box_layout;
using array::index3;
using multigrid::boundary;
using multigrid::discretisation;
using multigrid::problem;
using multigrid::smoother;

class diagonal_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(diagonal_test);

// what(element of a level's vector, cell's number in the whole grid) for this rank's cells.
template <class What> void for_own(const multigrid::level& of, int vector, const What& what) {
    const auto& layout = of.layout();
    const index3 n = layout.grid().high;
    for (const auto box : of.own_boxes()) {
        const auto view = of.grid().view(box, vector);
        const index3 low = layout.cells(box).low;
        for (std::int64_t k = 0; k < layout.side(); ++k) {
            for (std::int64_t j = 0; j < layout.side(); ++j) {
                for (std::int64_t i = 0; i < layout.side(); ++i)
                    what(view.at(i, j, k), low[0] + i + n[0] * (low[1] + j + n[1] * (low[2] + k)));
            }
        }
    }
}

problem rough_problem(discretisation kind) {
    problem what{kind, smoother::gauss_seidel, 0.5, 1};
    what.beta = [](int d, double x, double y, double z, double) { return 2 + std::sin(7 * x + 9 * y + 4 * z + d); };
    what.sides[1] = {boundary::dirichlet, boundary::neumann};
    return what;
}

void expect_diagonal_of_the_matrix(runtime::world& world, const box_layout& layout, discretisation kind) {
    const problem what = rough_problem(kind);
    multigrid::level level(world, layout, layout.grid().high, what, {});
    put_beta(level, what);
    level.fill_coefficient_ghosts();
    level.prepare();
    const auto cells = static_cast<std::size_t>(layout.grid().cells());
    std::vector<double> diagonal(cells);
    std::vector<double> sums(cells);
    for (std::size_t column = 0; column < cells; ++column) {
        for_own(level, multigrid::u_vector, [&](double& u, std::int64_t c) { u = static_cast<std::size_t>(c) == column ? 1 : 0; });
        level.apply(multigrid::u_vector, multigrid::scratch_vector);
        for_own(level, multigrid::scratch_vector, [&](const double& image, std::int64_t row) {
            const auto r = static_cast<std::size_t>(row);
            if (r == column) diagonal[r] = image;
            sums[r] += std::abs(image);
        });
    }
    double largest = 0;
    for_own(level, multigrid::inverse_diagonal_vector, [&](const double& inverse, std::int64_t row) {
        const auto r = static_cast<std::size_t>(row);
        ASSERT_NEAR(inverse * diagonal[r], 1, 1e-12) << "cell " << row;
        largest = std::max(largest, sums[r] / diagonal[r]);
    });
    world.barrier();
    EXPECT_NEAR(level.lambda_max(), world.communicator().maximum(largest), 1e-12);
}

TEST_P(diagonal_test, is_that_of_the_matrix_whatever_the_number_of_cells) {
    struct grid {
        index3 boxes;
        std::int64_t side;
        std::array<bool, 3> periodic;
    };
    const std::vector<grid> grids{{{3, 2, 1}, 2, {true, false, true}},  {{3, 3, 3}, 1, {true, true, true}},
                                  {{1, 1, 1}, 5, {true, true, true}},   {{1, 2, 1}, 3, {true, true, false}},
                                  {{5, 1, 1}, 2, {true, true, true}},   {{7, 1, 2}, 1, {true, true, false}},
                                  {{1, 1, 1}, 7, {false, true, false}}, {{3, 1, 1}, 2, {false, true, false}}};
    for (const auto& each : grids) {
        const box_layout layout({each.boxes, each.side, each.periodic, array::box_order::morton}, world().size());
        const index3 n = layout.grid().high;
        for (const auto kind : {discretisation::seven_point, discretisation::fv2, discretisation::fv4}) {
            if (kind == discretisation::fv4 && each.side < 2) continue; // never so with this stencil
            SCOPED_TRACE(std::string(name_of(kind)) + " " + std::to_string(n[0]) + " x " + std::to_string(n[1]) + " x " +
                         std::to_string(n[2]));
            expect_diagonal_of_the_matrix(world(), layout, kind);
        }
    }
}

// Where grids end on an odd number of cells round a periodic dimension, and where one with a remainder of 2 by 4 is smoothed.
TEST_P(diagonal_test, cycles_converge_where_colours_meet_across_the_boundary) {
    if (GetParam() != 0) GTEST_SKIP() << "the machine's own node will do";
    struct grid {
        index3 boxes;
        std::int64_t side;
    };
    for (const auto& [boxes, side] : {grid{{3, 3, 3}, 8}, grid{{5, 1, 1}, 6}, grid{{3, 4, 4}, 4}, grid{{1, 2, 2}, 7}}) {
        for (const auto kind : {discretisation::seven_point, discretisation::fv2, discretisation::fv4}) {
            for (const auto how : {smoother::gauss_seidel, smoother::chebyshev}) {
                if (boxes[0] * boxes[1] * boxes[2] < world().size()) continue;
                SCOPED_TRACE(std::string(name_of(kind)) + " " + std::string(name_of(how)) + " " + std::to_string(boxes[0] * side));
                problem what{kind, how};
                what.beta = [](int, double x, double y, double, double) {
                    return 1 + 0.5 * std::sin(6.283185307179586 * (x + y)); // the shorter dimensions may see a jump
                };
                const box_layout layout({boxes, side, {true, true, true}, array::box_order::morton}, world().size());
                multigrid::solver solver(world(), layout, what);
                std::vector<double> f(solver.own_cells());
                const auto of_box = static_cast<std::size_t>(side * side * side);
                for (std::size_t c = 0; c < f.size(); ++c) { // rough, of mean 0 in each box
                    const std::size_t within = c % of_box;
                    f[c] = within + 1 == of_box && of_box % 2 == 1 ? 0 : within % 2 == 0 ? 1 : -1;
                }
                solver.set_right_hand_side(f);
                const auto found = solver.solve(1e-8, 25);
                EXPECT_TRUE(found.converged) << found.residuals.back();
            }
        }
    }
}

} // namespace
