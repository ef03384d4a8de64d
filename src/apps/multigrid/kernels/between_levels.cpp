#include <craton/apps/multigrid/kernels/between_levels.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace craton::multigrid {

void restrict_cells(const box_shape& fine, const double* u, const box_shape& coarse, double* u_coarse) {
    for (std::int64_t k = 0; k < coarse.side; ++k) {
        for (std::int64_t j = 0; j < coarse.side; ++j) {
            const double* const from = u + 2 * j * fine.pitch + 2 * k * fine.plane;
            double* const to = u_coarse + j * coarse.pitch + k * coarse.plane;
            for (std::int64_t i = 0; i < coarse.side; ++i) {
                const double* const eight = from + 2 * i;
                const auto pair = [&](std::int64_t at) { return eight[at] + eight[at + 1]; };
                to[i] = 0.125 * (pair(0) + pair(fine.pitch) + pair(fine.plane) + pair(fine.plane + fine.pitch));
            }
        }
    }
}

void restrict_faces(const box_shape& fine, const double* beta, std::size_t dimension, std::int64_t layers, const box_shape& coarse,
                    double* beta_coarse) {
    const std::array<std::int64_t, 3> fine_steps{1, fine.pitch, fine.plane};
    const std::array<std::int64_t, 3> coarse_steps{1, coarse.pitch, coarse.plane};
    const std::size_t t = dimension == 0 ? 1 : 0;
    const std::size_t v = dimension == 2 ? 1 : 2;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        for (std::int64_t y = 0; y < coarse.side; ++y) {
            for (std::int64_t x = 0; x < coarse.side; ++x) {
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

void prolong(const box_shape& coarse, const double* u_coarse, const prolongation_formula& formula, double keep,
             const box_shape& fine, double* u) {
    const std::int64_t reach = formula.reach;
    const auto weight = [&](std::int64_t child, std::int64_t offset) {
        return formula.lower[static_cast<std::size_t>(child == 0 ? 2 + offset : 2 - offset)];
    };
    std::vector<double> row(
        static_cast<std::size_t>(coarse.side + 2 * reach)); // of coarse cells -reach ..., at the fine row's j and k
    for (std::int64_t k = 0; k < fine.side; ++k) {
        for (std::int64_t j = 0; j < fine.side; ++j) {
            std::fill(row.begin(), row.end(), 0.0);
            for (std::int64_t dk = -reach; dk <= reach; ++dk) {
                for (std::int64_t dj = -reach; dj <= reach; ++dj) {
                    const double w = weight(k & 1, dk) * weight(j & 1, dj);
                    if (w == 0.0) continue;
                    const double* const from = u_coarse + (j / 2 + dj) * coarse.pitch + (k / 2 + dk) * coarse.plane - reach;
                    for (std::size_t i = 0; i < row.size(); ++i) row[i] += w * from[i];
                }
            }
            double* const to = u + j * fine.pitch + k * fine.plane;
            for (std::int64_t i = 0; i < coarse.side; ++i) {
                double lower = 0;
                double upper = 0;
                for (std::int64_t di = -reach; di <= reach; ++di) {
                    const double value = row[static_cast<std::size_t>(i + reach + di)];
                    lower += weight(0, di) * value;
                    upper += weight(1, di) * value;
                }
                to[2 * i] = keep * to[2 * i] + lower;
                to[2 * i + 1] = keep * to[2 * i + 1] + upper;
            }
        }
    }
}

} // namespace craton::multigrid
