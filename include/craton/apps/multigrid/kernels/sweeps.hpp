#pragma once

#include <craton/apps/multigrid/kernels/rows.hpp>
#include <craton/apps/multigrid/kernels/stencils.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace craton::multigrid {

// Pointers are to the first interior cell of a box. Ghosts of u must be filled as the stencil asks; only interiors are written.
// `rows` gives A u row by row (rows.hpp); `image` is room for one row, whole vectors.

/// what(c) for the cells c of each row, as a loop that may be vectorised: iterations do not depend on each other.
template <class What> void for_each_cell(const box_shape& shape, const What& what) {
    for (std::int64_t k = 0; k < shape.nz; ++k) {
        for (std::int64_t j = 0; j < shape.ny; ++j) {
            const std::int64_t row = j * shape.pitch + k * shape.plane;
#pragma GCC ivdep
            for (std::int64_t i = 0; i < shape.nx; ++i) what(row + i);
        }
    }
}

/// what(c, A u there, i, j, k) for the cells, with A u from `rows`. `streams`: what else is read and written, to be asked for
/// ahead.
template <class Rows, class What, std::size_t count>
void for_each_image(const box_shape& shape, const Rows& rows, double* image, const std::array<const double*, count>& streams,
                    const What& what) {
    for (std::int64_t k = 0; k < shape.nz; ++k) {
        for (std::int64_t j = 0; j < shape.ny; ++j) {
            const std::int64_t row = j * shape.pitch + k * shape.plane;
            for (const double* const stream : streams) {
                const double* const soon = stream + row + detail::rows_ahead * shape.pitch;
                for (std::int64_t i = 0; i < shape.nx; i += detail::lanes_per_vector) __builtin_prefetch(soon + i);
            }
            rows(j, k, image);
#pragma GCC ivdep
            for (std::int64_t i = 0; i < shape.nx; ++i) what(row + i, image[i], i, j, k);
        }
    }
}

/// to = A u.
template <class Rows> void apply(const box_shape& shape, const Rows& rows, double* image, double* to) {
    for_each_image(shape, rows, image, std::array<const double*, 1>{to}, [=](std::int64_t c, double a_u, auto...) { to[c] = a_u; });
}

/// r = f - A u.
template <class Rows> void residual(const box_shape& shape, const Rows& rows, double* image, const double* f, double* r) {
    for_each_image(shape, rows, image, std::array<const double*, 2>{f, r},
                   [=](std::int64_t c, double a_u, auto...) { r[c] = f[c] - a_u; });
}

/// A step of Chebyshev iteration: next = u + ahead (u - next) + gain D^-1 (f - A u), where next holds the iterate before u.
template <class Rows>
void chebyshev_step(const box_shape& shape, const Rows& rows, double* image, const double* u, const double* f,
                    const double* inverse_diagonal, double ahead, double gain, double* next) {
    for_each_image(shape, rows, image, std::array<const double*, 3>{f, inverse_diagonal, next},
                   [=](std::int64_t c, double a_u, auto...) {
                       next[c] = u[c] + ahead * (u[c] - next[c]) + gain * inverse_diagonal[c] * (f[c] - a_u);
                   });
}

/// Damped Jacobi: next = u + weight D^-1 (f - A u).
template <class Rows>
void jacobi_step(const box_shape& shape, const Rows& rows, double* image, const double* u, const double* f,
                 const double* inverse_diagonal, double weight, double* next) {
    for_each_image(shape, rows, image, std::array<const double*, 3>{f, inverse_diagonal, next},
                   [=](std::int64_t c, double a_u, auto...) { next[c] = u[c] + weight * inverse_diagonal[c] * (f[c] - a_u); });
}

/// Half a red-black Gauss-Seidel sweep, out of place: cells (i + j + k) % 2 == parity are relaxed, the others copied.
template <class Rows>
void gauss_seidel_step(const box_shape& shape, const Rows& rows, double* image, const double* u, const double* f,
                       const double* inverse_diagonal, std::int64_t parity, double* next) {
    // Multiplying by 0 or 1 instead of choosing lets the loop be vectorised.
    const std::array<double, 2> weights{parity == 0 ? 1.0 : 0.0, parity == 0 ? 0.0 : 1.0};
    for_each_image(shape, rows, image, std::array<const double*, 3>{f, inverse_diagonal, next},
                   [=](std::int64_t c, double a_u, std::int64_t i, std::int64_t j, std::int64_t k) {
                       const double weight = ((i + j + k) & 1) == 0 ? weights[0] : weights[1];
                       next[c] = u[c] + weight * (inverse_diagonal[c] * (f[c] - a_u));
                   });
}

/// Largest magnitude; NaN when there is one.
[[nodiscard]] inline double max_norm(const box_shape& shape, const double* u) {
    double most = 0;
    bool all_numbers = true;
    for_each_cell(shape, [&](std::int64_t c) {
        most = std::max(most, std::abs(u[c]));
        all_numbers = all_numbers && u[c] == u[c];
    });
    return all_numbers ? most : std::nan("");
}

} // namespace craton::multigrid
