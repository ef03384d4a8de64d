#include <craton/apps/multigrid/kernels/uneven_levels.hpp>

#include <algorithm>
#include <cmath>

namespace craton::multigrid {

namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The averages over low <= x <= high of the polynomial whose averages over the cells [m, m + 1], m = -reach ... reach, are 1 for
// one m and 0 for the others: differences of its integral, which is known at the cells' edges (Lagrange).
std::array<double, 5> averages_of_polynomial(double low, double high, int reach) {
    const int edges = 2 * reach + 2; // at -reach, ..., reach + 1
    const auto lagrange = [&](int edge, double x) {
        double product = 1;
        for (int other = 0; other < edges; ++other) {
            if (other != edge) product *= (x + reach - other) / (edge - other);
        }
        return product;
    };
    std::array<double, 5> weights{};
    for (int m = -reach; m <= reach; ++m) {
        double sum = 0; // the integral of cell m's own 1 has reached all edges behind it
        for (int edge = m + reach + 1; edge < edges; ++edge) sum += lagrange(edge, high) - lagrange(edge, low);
        weights[at(m + 2)] = sum / (high - low);
    }
    return weights;
}

// The value at x of the line through the centres of cell 0 and of the cell beside it that x leans to.
std::array<double, 5> line_through_centres(double x) {
    const double off = x - 0.5;
    return {0, std::max(-off, 0.0), 1 - std::abs(off), std::max(off, 0.0), 0};
}

// Fine cells per coarse one, along each dimension.
std::array<std::int64_t, 3> strides(const box_shape& fine, const box_shape& coarse) {
    std::array<std::int64_t, 3> found{};
    for (std::size_t d = 0; d < 3; ++d) found[d] = fine.cells()[d] == coarse.cells()[d] ? 1 : 2;
    return found;
}

} // namespace

uneven_pair::uneven_pair(std::int64_t fine_cells, bool halved) {
    if (!halved) {
        shares.assign(at(fine_cells), {0, 1, 0});
        faces.assign(at(fine_cells + 1), {0, 1});
        return;
    }
    const std::int64_t coarse_cells = (fine_cells + 1) / 2;
    const bool odd = fine_cells % 2 != 0;
    const double length = static_cast<double>(fine_cells) / static_cast<double>(coarse_cells);
    // A coarse face lies so much of a fine cell before fine face 2 I.
    const auto before = [&](std::int64_t face) {
        return odd ? static_cast<double>(face) / static_cast<double>(coarse_cells) : 0.0;
    };
    for (std::int64_t cell = 0; cell < coarse_cells; ++cell)
        shares.push_back({before(cell) / length, 1 / length, (1 - before(cell + 1)) / length});
    for (std::int64_t face = 0; face <= coarse_cells; ++face) faces.push_back({before(face), 1 - before(face)});
}

child_weights children_of(std::int64_t fine_cells, const prolongation_formula& formula, bool halved) {
    if (!halved) return child_weights(at(fine_cells), {0, 0, 1, 0, 0});
    const std::int64_t coarse_cells = (fine_cells + 1) / 2;
    const double length = static_cast<double>(coarse_cells) / static_cast<double>(fine_cells); // of a fine cell in coarse ones
    const bool between_points = formula.ghost_order == 1;
    child_weights found;
    for (std::int64_t cell = 0; cell < fine_cells; ++cell) {
        const auto from_parent = [&](double x) { return x * length - static_cast<double>(cell / 2); };
        const double low = from_parent(static_cast<double>(cell));
        const double high = from_parent(static_cast<double>(cell + 1));
        if (formula.reach == 0) {
            found.push_back({0, 0, 1, 0, 0});
        } else if (between_points) {
            found.push_back(line_through_centres((low + high) / 2));
        } else {
            found.push_back(averages_of_polynomial(low, high, formula.reach));
        }
    }
    return found;
}

void restrict_cells(const box_shape& fine, const double* u, const along_box<std::array<double, 3>>& shares, const box_shape& coarse,
                    double* u_coarse) {
    // Rows of fine cells, one beyond both ends, summed over nine; then three cells of the sum.
    const auto [si, sj, sk] = strides(fine, coarse);
    std::vector<double> sums(at(si * (coarse.nx - 1) + 3));
    const std::int64_t width = std::ssize(sums);
    double* const sum = sums.data();
    for (std::int64_t k = 0; k < coarse.nz; ++k) {
        for (std::int64_t j = 0; j < coarse.ny; ++j) {
            std::ranges::fill(sums, 0.0);
            for (std::int64_t z = 0; z < 3; ++z) {
                for (std::int64_t y = 0; y < 3; ++y) {
                    const double weight = shares[2][k][at(z)] * shares[1][j][at(y)];
                    if (weight == 0) continue; // off the grid there may be no row
                    const double* const row = u + (sj * j + y - 1) * fine.pitch + (sk * k + z - 1) * fine.plane - 1;
#pragma GCC ivdep
                    for (std::int64_t i = 0; i < width; ++i) sum[i] += weight * row[i];
                }
            }
            double* const to = u_coarse + j * coarse.pitch + k * coarse.plane;
            for (std::int64_t i = 0; i < coarse.nx; ++i) {
                const auto& w = shares[0][i];
                to[i] = w[0] * sum[si * i] + w[1] * sum[si * i + 1] + w[2] * sum[si * i + 2];
            }
        }
    }
}

void restrict_faces(const box_shape& fine, const double* beta, std::size_t dimension, std::int64_t layers,
                    const along_box<std::array<double, 3>>& shares, const std::array<double, 2>* faces, const box_shape& coarse,
                    double* beta_coarse) {
    const std::array<std::int64_t, 3> from = fine.steps();
    const std::array<std::int64_t, 3> to = coarse.steps();
    const std::array<std::int64_t, 3> stride = strides(fine, coarse);
    const std::size_t t = dimension == 0 ? 1 : 0;
    const std::size_t v = dimension == 2 ? 1 : 2;
    const auto add = [](double weight, const double* value) { return weight == 0 ? 0.0 : weight * *value; };
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        for (std::int64_t y = 0; y < coarse.cells()[v]; ++y) {
            for (std::int64_t x = 0; x < coarse.cells()[t]; ++x) {
                const double* const here =
                    beta + stride[dimension] * layer * from[dimension] + stride[t] * x * from[t] + stride[v] * y * from[v];
                double sum = 0;
                for (std::int64_t n = 0; n < 2; ++n) {
                    for (std::int64_t p = 0; p < 3; ++p) {
                        for (std::int64_t q = 0; q < 3; ++q) {
                            sum += add(faces[layer][at(n)] * shares[t][x][at(p)] * shares[v][y][at(q)],
                                       here + (n - 1) * from[dimension] + (p - 1) * from[t] + (q - 1) * from[v]);
                        }
                    }
                }
                beta_coarse[layer * to[dimension] + x * to[t] + y * to[v]] = sum;
            }
        }
    }
}

void prolong(const box_shape& coarse, const double* u_coarse, const along_box<std::array<double, 5>>& weights, int reach,
             double keep, const box_shape& fine, double* u) {
    // As for pairs: planes of coarse rows at the fine k, of these rows at the fine j, and of these the cells.
    const auto [si, sj, sk] = strides(fine, coarse);
    const std::int64_t width = coarse.nx + 2 * reach;
    const std::int64_t rows = coarse.ny + 2 * reach;
    std::vector<double> plane(at(width * rows));
    std::vector<double> row(at(width));
    const auto combine = [&](const std::array<double, 5>& w, const double* from, std::int64_t step, std::int64_t count,
                             double* to) {
        std::fill_n(to, count, 0.0);
        for (int m = 2 - reach; m <= 2 + reach; ++m) {
            const double weight = w[at(m)];
            const double* const each = from + (m - 2) * step;
#pragma GCC ivdep
            for (std::int64_t i = 0; i < count; ++i) to[i] += weight * each[i];
        }
    };
    for (std::int64_t k = 0; k < fine.nz; ++k) {
        for (std::int64_t j = 0; j < rows; ++j) {
            combine(weights[2][k], u_coarse - reach + (j - reach) * coarse.pitch + k / sk * coarse.plane, coarse.plane, width,
                    plane.data() + j * width);
        }
        for (std::int64_t j = 0; j < fine.ny; ++j) {
            combine(weights[1][j], plane.data() + (j / sj + reach) * width, width, width, row.data());
            double* const to = u + j * fine.pitch + k * fine.plane;
            for (std::int64_t i = 0; i < fine.nx; ++i) {
                const double* const from = row.data() + i / si + reach;
                double sum = 0;
                for (int m = -reach; m <= reach; ++m) sum += weights[0][i][at(m + 2)] * from[m];
                to[i] = keep * to[i] + sum;
            }
        }
    }
}

} // namespace craton::multigrid
