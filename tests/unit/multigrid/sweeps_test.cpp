#include <craton/apps/multigrid/kernels/boundary.hpp>
#include <craton/apps/multigrid/kernels/chebyshev_pair.hpp>
#include <craton/apps/multigrid/kernels/rows.hpp>
#include <craton/apps/multigrid/kernels/stencils.hpp>
#include <craton/apps/multigrid/kernels/sweeps.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace craton::multigrid;
using craton::base::aligned_vector;

// A box of random numbers with ghosts four deep, in memory laid out as block_grid does.
class sweeps_test : public testing::TestWithParam<std::int64_t> {
  protected:
    static constexpr std::int64_t ghost = 4;
    box_shape shape{GetParam(), GetParam(), GetParam(), (GetParam() + 2 * ghost + 7) / 8 * 8,
                    (GetParam() + 2 * ghost + 7) / 8 * 8 * (GetParam() + 2 * ghost)};

    using field = aligned_vector<double>;
    [[nodiscard]] field random_field(unsigned seed, double low, double high) const {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> number(low, high);
        field values(static_cast<std::size_t>(shape.plane * (shape.nx + 2 * ghost) + 64));
        for (auto& each : values) each = number(random);
        return values;
    }
    [[nodiscard]] double* inside(field& values) const { return values.data() + ghost * (1 + shape.pitch + shape.plane); }

    field u = random_field(1, -1, 1), f = random_field(2, -1, 1), diagonal = random_field(3, 0.1, 0.2),
          alpha = random_field(4, 0, 1);
    field beta_i = random_field(5, 0.5, 2), beta_j = random_field(6, 0.5, 2), beta_k = random_field(7, 0.5, 2);
    coefficients with{0.7, 3.0, inside(alpha), {inside(beta_i), inside(beta_j), inside(beta_k)}};
    aligned_vector<double> image = aligned_vector<double>(static_cast<std::size_t>(detail::whole_vectors(shape.nx)));

    template <class Stencil, class Rows> void same_images(const Stencil& stencil, const Rows& rows) {
        for_each_image(shape, rows, image.data(), std::array<const double*, 0>{},
                       [&](std::int64_t c, double a_u, auto...) { EXPECT_NEAR(a_u, stencil(inside(u), c), 1e-12) << c; });
    }
    void same_cells(field& a, field& b) const {
        for_each_cell(shape, [&](std::int64_t c) { EXPECT_NEAR(inside(a)[c], inside(b)[c], 1e-12) << c; });
    }
};

INSTANTIATE_TEST_SUITE_P(sides, sweeps_test, testing::Values(1, 2, 4, 8, 12, 16));

TEST_P(sweeps_test, rows_equal_stencils) {
    same_images(two_point_stencil(shape, with), two_point_rows(shape, with, inside(u)));
    std::vector<double> room(fourth_order_rows<>::room_for(shape));
    same_images(fourth_order_stencil(shape, with), fourth_order_rows(shape, with, inside(u), room));
    same_images(fourth_order_stencil<true>(shape, with), fourth_order_rows<true>(shape, with, inside(u), room));
    with.alpha = nullptr;
    same_images(two_point_stencil(shape, with), two_point_rows(shape, with, inside(u)));
    with.a = 0;
    same_images(fourth_order_stencil(shape, with), fourth_order_rows(shape, with, inside(u), room));
}

TEST_P(sweeps_test, steps_equal_their_formulas) {
    const two_point_stencil stencil(shape, with);
    const two_point_rows rows(shape, with, inside(u));
    const auto before = random_field(8, -1, 1);
    const auto relaxed = [&](std::int64_t c) { return inside(diagonal)[c] * (inside(f)[c] - stencil(inside(u), c)); };
    auto next = before;
    auto expected = before;
    chebyshev_step(shape, rows, image.data(), inside(u), inside(f), inside(diagonal), 0.3, 1.7, inside(next));
    for_each_cell(shape, [&](std::int64_t c) {
        const double now = inside(u)[c];
        inside(expected)[c] = now + 0.3 * (now - inside(expected)[c]) + 1.7 * relaxed(c);
    });
    same_cells(next, expected);
    jacobi_step(shape, rows, image.data(), inside(u), inside(f), inside(diagonal), 0.6, inside(next));
    for_each_cell(shape, [&](std::int64_t c) { inside(expected)[c] = inside(u)[c] + 0.6 * relaxed(c); });
    same_cells(next, expected);
    for (std::int64_t parity = 0; parity < 2; ++parity) {
        gauss_seidel_step(shape, rows, image.data(), inside(u), inside(f), inside(diagonal), parity, inside(next));
        for (std::int64_t k = 0; k < shape.nx; ++k) {
            for (std::int64_t j = 0; j < shape.nx; ++j) {
                for (std::int64_t i = 0; i < shape.nx; ++i) {
                    const std::int64_t c = i + j * shape.pitch + k * shape.plane;
                    inside(expected)[c] = inside(u)[c] + ((i + j + k) % 2 == parity ? relaxed(c) : 0.0);
                }
            }
        }
        same_cells(next, expected);
    }
    residual(shape, rows, image.data(), inside(f), inside(next));
    for_each_cell(shape, [&](std::int64_t c) { inside(expected)[c] = inside(f)[c] - stencil(inside(u), c); });
    same_cells(next, expected);
}

// Two plain steps on the box and, where another box is beside it, a cell beyond; ghosts off outer sides by the formula in between.
TEST_P(sweeps_test, a_pair_equals_two_steps) {
    const two_point_stencil stencil(shape, with);
    for (int sides = 0; sides < 64; sides += shape.nx > 8 ? 21 : 9) {
        for (const int order : {1, 2}) {
            const outer_sides outer{{{(sides & 1) != 0, (sides & 2) != 0},
                                     {(sides & 4) != 0, (sides & 8) != 0},
                                     {(sides & 16) != 0, (sides & 32) != 0}}};
            const auto formula = dirichlet_formula(order, shape.nx);
            const chebyshev_weights first{0.2, 1.1};
            const chebyshev_weights second{0.4, 1.3};
            auto newer = u;
            auto older = random_field(9, -1, 1);
            fill_outer_ghosts(inside(newer), shape, 1, outer, formula);
            auto expected_newer = newer;
            auto expected_older = older;
            const auto step = [&](const chebyshev_weights& w, field& from, field& to, std::int64_t beyond) {
                const auto range = [&](std::size_t d) {
                    return std::array<std::int64_t, 2>{outer[d][0] ? 0 : -beyond, shape.nx + (outer[d][1] ? 0 : beyond)};
                };
                for (std::int64_t k = range(2)[0]; k < range(2)[1]; ++k) {
                    for (std::int64_t j = range(1)[0]; j < range(1)[1]; ++j) {
                        for (std::int64_t i = range(0)[0]; i < range(0)[1]; ++i) {
                            const std::int64_t c = i + j * shape.pitch + k * shape.plane;
                            const double now = inside(from)[c];
                            inside(to)[c] = now + w.ahead * (now - inside(to)[c]) +
                                            w.gain * inside(diagonal)[c] * (inside(f)[c] - stencil(inside(from), c));
                        }
                    }
                }
            };
            step(first, expected_newer, expected_older, 1);
            fill_outer_ghosts(inside(expected_older), shape, 1, outer, formula);
            step(second, expected_older, expected_newer, 0);
            chebyshev_pair(shape, with, outer, formula, inside(f), inside(diagonal), first, second, inside(newer), inside(older));
            SCOPED_TRACE("sides " + std::to_string(sides) + ", order " + std::to_string(order));
            same_cells(newer, expected_newer);
            same_cells(older, expected_older);
        }
    }
}

} // namespace
