#pragma once

#include <craton/apps/multigrid/kernels/stencils.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace craton::multigrid {

// Pointers are to the first interior cell of a box. Ghosts of u must be filled as the stencil asks; only interiors are written.

/// what(c) for the cells c of each row, as a loop that may be vectorised: iterations do not depend on each other.
template <class What> void for_each_cell(const box_shape& shape, const What& what) {
    for (std::int64_t k = 0; k < shape.side; ++k) {
        for (std::int64_t j = 0; j < shape.side; ++j) {
            const std::int64_t row = j * shape.pitch + k * shape.plane;
#pragma GCC ivdep
            for (std::int64_t i = 0; i < shape.side; ++i) what(row + i);
        }
    }
}

/// r = f - A u.
template <class Stencil> void residual(const box_shape& shape, const Stencil& apply, const double* u, const double* f, double* r) {
    for_each_cell(shape, [&](std::int64_t c) { r[c] = f[c] - apply(u, c); });
}

/// A step of Chebyshev iteration: next = u + ahead (u - next) + gain D^-1 (f - A u), where next holds the iterate before u.
template <class Stencil>
void chebyshev_step(const box_shape& shape, const Stencil& apply, const double* u, const double* f, const double* inverse_diagonal,
                    double ahead, double gain, double* next) {
    for_each_cell(shape, [&](std::int64_t c) {
        next[c] = u[c] + ahead * (u[c] - next[c]) + gain * inverse_diagonal[c] * (f[c] - apply(u, c));
    });
}

/// Damped Jacobi: next = u + weight D^-1 (f - A u).
template <class Stencil>
void jacobi_step(const box_shape& shape, const Stencil& apply, const double* u, const double* f, const double* inverse_diagonal,
                 double weight, double* next) {
    for_each_cell(shape, [&](std::int64_t c) { next[c] = u[c] + weight * inverse_diagonal[c] * (f[c] - apply(u, c)); });
}

/// Half a red-black Gauss-Seidel sweep, out of place: cells (i + j + k) % 2 == parity are relaxed, the others copied.
template <class Stencil>
void gauss_seidel_step(const box_shape& shape, const Stencil& apply, const double* u, const double* f,
                       const double* inverse_diagonal, std::int64_t parity, double* next) {
    for (std::int64_t k = 0; k < shape.side; ++k) {
        for (std::int64_t j = 0; j < shape.side; ++j) {
            const std::int64_t row = j * shape.pitch + k * shape.plane;
            const std::int64_t first = (parity + j + k) & 1;
#pragma GCC ivdep
            for (std::int64_t i = 0; i < shape.side; ++i) {
                const std::int64_t c = row + i;
                const double relaxed = u[c] + inverse_diagonal[c] * (f[c] - apply(u, c));
                next[c] = (i & 1) == first ? relaxed : u[c];
            }
        }
    }
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
