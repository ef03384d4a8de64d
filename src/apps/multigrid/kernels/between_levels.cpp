#include <craton/apps/multigrid/kernels/between_levels.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace craton::multigrid {

void restrict_cells(const box_shape& fine, const double* u, const box_shape& coarse, double* u_coarse) {
    for (std::int64_t k = 0; k < coarse.nz; ++k) {
        for (std::int64_t j = 0; j < coarse.ny; ++j) {
            const double* const from = u + 2 * j * fine.pitch + 2 * k * fine.plane;
            double* const to = u_coarse + j * coarse.pitch + k * coarse.plane;
            for (std::int64_t i = 0; i < coarse.nx; ++i) {
                const double* const eight = from + 2 * i;
                const auto pair = [&](std::int64_t at) { return eight[at] + eight[at + 1]; };
                to[i] = 0.125 * (pair(0) + pair(fine.pitch) + pair(fine.plane) + pair(fine.plane + fine.pitch));
            }
        }
    }
}

void restrict_faces(const box_shape& fine, const double* beta, std::size_t dimension, std::int64_t layers, const box_shape& coarse,
                    double* beta_coarse) {
    const std::array<std::int64_t, 3> fine_steps = fine.steps();
    const std::array<std::int64_t, 3> coarse_steps = coarse.steps();
    const std::size_t t = dimension == 0 ? 1 : 0;
    const std::size_t v = dimension == 2 ? 1 : 2;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        for (std::int64_t y = 0; y < coarse.cells()[v]; ++y) {
            for (std::int64_t x = 0; x < coarse.cells()[t]; ++x) {
                const double* const four = beta + 2 * (layer * fine_steps[dimension] + x * fine_steps[t] + y * fine_steps[v]);
                beta_coarse[layer * coarse_steps[dimension] + x * coarse_steps[t] + y * coarse_steps[v]] =
                    0.25 * (four[0] + four[fine_steps[t]] + four[fine_steps[v]] + four[fine_steps[t] + fine_steps[v]]);
            }
        }
    }
}

prolongation_formula constant_prolongation() { return {{0, 0, 1, 0, 0}, 0, 1}; }
prolongation_formula linear_prolongation() { return {{0, 0.25, 0.75, 0, 0}, 1, 1}; }
prolongation_formula second_order_prolongation() { return {{0, 0.125, 1, -0.125, 0}, 1, 2}; }
prolongation_formula fourth_order_prolongation() { return {{-3.0 / 128, 22.0 / 128, 1, -22.0 / 128, 3.0 / 128}, 2, 4}; }

namespace {

// One dimension after the other: planes of coarse rows at the fine k, of these rows at the fine j, and of these the cells.
template <int reach>
void prolong_by(const box_shape& coarse, const double* u_coarse, const prolongation_formula& formula, double keep,
                const box_shape& fine, double* u) {
    constexpr int taps = 2 * reach + 1;
    std::array<std::array<double, taps>, 2> weights{}; // of the lower and of the upper child
    for (int m = 0; m < taps; ++m) {
        weights[0][static_cast<std::size_t>(m)] = formula.lower[static_cast<std::size_t>(2 - reach + m)];
        weights[1][static_cast<std::size_t>(m)] = formula.lower[static_cast<std::size_t>(2 + reach - m)];
    }
    const std::int64_t width = coarse.nx + 2 * reach;
    const std::int64_t rows = coarse.ny + 2 * reach;
    std::vector<double> plane(static_cast<std::size_t>(width * rows));
    std::vector<double> row(static_cast<std::size_t>(width));
    // to = the rows at from + m * step, weighted.
    const auto combine = [=](const std::array<double, taps>& w, const double* from, std::int64_t step, double* to) {
#pragma GCC ivdep
        for (std::int64_t i = 0; i < width; ++i) {
            double sum = 0;
            for (int m = 0; m < taps; ++m) sum += w[static_cast<std::size_t>(m)] * from[i + m * step];
            to[i] = sum;
        }
    };
    for (std::int64_t k = 0; k < fine.nz; ++k) {
        for (std::int64_t j = 0; j < rows; ++j) {
            combine(weights[static_cast<std::size_t>(k & 1)],
                    u_coarse - reach + (j - reach) * coarse.pitch + (k / 2 - reach) * coarse.plane, coarse.plane,
                    plane.data() + j * width);
        }
        for (std::int64_t j = 0; j < fine.ny; ++j) {
            combine(weights[static_cast<std::size_t>(j & 1)], plane.data() + j / 2 * width, width, row.data());
            double* const to = u + j * fine.pitch + k * fine.plane;
            const double* const from = row.data();
#pragma GCC ivdep
            for (std::int64_t i = 0; i < coarse.nx; ++i) {
                double lower = 0;
                double upper = 0;
                for (int m = 0; m < taps; ++m) {
                    lower += weights[0][static_cast<std::size_t>(m)] * from[i + m];
                    upper += weights[1][static_cast<std::size_t>(m)] * from[i + m];
                }
                to[2 * i] = keep * to[2 * i] + lower;
                to[2 * i + 1] = keep * to[2 * i + 1] + upper;
            }
        }
    }
}

} // namespace

void prolong(const box_shape& coarse, const double* u_coarse, const prolongation_formula& formula, double keep,
             const box_shape& fine, double* u) {
    switch (formula.reach) {
    case 0:
        return prolong_by<0>(coarse, u_coarse, formula, keep, fine, u);
    case 1:
        return prolong_by<1>(coarse, u_coarse, formula, keep, fine, u);
    default:
        return prolong_by<2>(coarse, u_coarse, formula, keep, fine, u);
    }
}

} // namespace craton::multigrid
