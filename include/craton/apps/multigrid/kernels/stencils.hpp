#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace craton::multigrid {

/// The cells of a box and how they lie: cell (i, j, k), counted from the first interior one, is at i + j * pitch + k * plane.
struct box_shape {
    std::int64_t nx = 0, ny = 0, nz = 0;
    std::int64_t pitch = 0, plane = 0;

    /// Cells along each dimension, and elements from a cell to the next one.
    [[nodiscard]] constexpr std::array<std::int64_t, 3> cells() const { return {nx, ny, nz}; }
    [[nodiscard]] constexpr std::array<std::int64_t, 3> steps() const { return {1, pitch, plane}; }
};

/// a u - b div(beta grad u) on one box. beta[d] holds values of faces: at a cell, of the face between it and the one before it in
/// dimension d; scale = b / h^2.
struct coefficients {
    double a = 0, scale = 1;
    const double* alpha = nullptr; ///< of the term a alpha u; null: 1
    std::array<const double*, 3> beta{};
};

/// The flux form with differences of two cells: 7-point, and of second order in averages (fv2). Reads one ghost cell off each face.
class two_point_stencil {
  public:
    two_point_stencil(const box_shape& shape, const coefficients& c) : steps_{1, shape.pitch, shape.plane}, c_(c) {}

    /// (A u) at a cell.
    [[nodiscard]] double operator()(const double* u, std::int64_t at) const {
        double divergence = 0;
        for (int d = 0; d < 3; ++d) {
            const std::int64_t s = steps_[static_cast<std::size_t>(d)];
            const double* const beta = c_.beta[static_cast<std::size_t>(d)];
            divergence += beta[at + s] * (u[at + s] - u[at]) - beta[at] * (u[at] - u[at - s]);
        }
        const double alpha = c_.alpha == nullptr ? 1.0 : c_.alpha[at];
        return c_.a * alpha * u[at] - c_.scale * divergence;
    }

  private:
    std::array<std::int64_t, 3> steps_;
    coefficients c_;
};

/// Fluxes of fourth order in averages (fv4): the average of a product is the product of the averages plus h^2 / 12 times that of
/// the tangential gradients; likewise alpha u. Reads two ghost cells of u off faces and one off edges, of alpha one off faces.
///
/// `rough`: slopes of beta along a face that are steeper than its own value are cut. Without that the matrix is no M-matrix by far
/// where beta jumps by orders of magnitude, and no smoother converges; a smooth beta has no such slopes.
template <bool rough = false> class fourth_order_stencil {
  public:
    fourth_order_stencil(const box_shape& shape, const coefficients& c) : steps_{1, shape.pitch, shape.plane}, c_(c) {}

    [[nodiscard]] double operator()(const double* u, std::int64_t at) const {
        double divergence = 0;
        for (std::size_t d = 0; d < 3; ++d) {
            const std::int64_t s = steps_[d];
            const std::int64_t t = steps_[(d + 1) % 3];
            const std::int64_t v = steps_[(d + 2) % 3];
            divergence += flux(u, c_.beta[d], at + s, s, t, v) - flux(u, c_.beta[d], at, s, t, v);
        }
        return c_.a * (c_.alpha == nullptr ? u[at] : product(c_.alpha, u, at)) - c_.scale * divergence;
    }

  private:
    // The average over a cell of alpha u. Slopes of alpha beyond what a smooth one has are cut: the neighbours weigh a quarter of
    // the cell at most.
    [[nodiscard]] double product(const double* alpha, const double* u, std::int64_t at) const {
        double sum = alpha[at] * u[at];
        for (const std::int64_t s : steps_) {
            const double slope = std::clamp(alpha[at + s] - alpha[at - s], -2 * alpha[at], 2 * alpha[at]);
            sum += (1.0 / 48.0) * slope * (u[at + s] - u[at - s]);
        }
        return sum;
    }
    // Through the face between cells `at` - s and `at`; t and v are the steps along it.
    [[nodiscard]] static double flux(const double* u, const double* beta, std::int64_t at, std::int64_t s, std::int64_t t,
                                     std::int64_t v) {
        const auto jump = [&](std::int64_t c) { return u[c] - u[c - s]; };
        const auto tangential = [&](std::int64_t along) {
            double slope = beta[at + along] - beta[at - along];
            if constexpr (rough) slope = std::clamp(slope, -2 * beta[at], 2 * beta[at]);
            return slope * (jump(at + along) - jump(at - along));
        };
        return beta[at] * (1.0 / 12.0) * (15.0 * jump(at) - (u[at + s] - u[at - 2 * s])) +
               (1.0 / 48.0) * (tangential(t) + tangential(v));
    }

    std::array<std::int64_t, 3> steps_;
    coefficients c_;
};

} // namespace craton::multigrid
