#include "bottom_solver.hpp"

#include "input.hpp"

#include <algorithm>
#include <cstdint>

namespace craton::multigrid {

namespace {

enum : int { shadow = vectors_of_level, r, p, q, a_q, s, a_t, t = q };
static_assert(a_t + 1 - vectors_of_level == bottom_vectors);

constexpr double fall = 1e-3;
// A long grid takes as many steps as it has cells along it.
int most_steps(const level& grid) {
    return static_cast<int>(std::max<std::int64_t>(200, 2 * std::ranges::max(grid.layout().grid().high)));
}

// One rank alone needs no reductions, and the others are not there.
double largest(const level& grid, int x) { return grid.on_one_rank() ? grid.own_max_norm(x) : grid.max_norm(x); }
double product(const level& grid, int x, int y) { return grid.on_one_rank() ? grid.own_dot(x, y) : grid.dot(x, y); }

void iterate(level& grid, int u, int f) {
    grid.residual(u, f, shadow);
    const double goal = fall * largest(grid, shadow);
    grid.combine(1, shadow, 0, shadow, r);
    grid.combine(1, shadow, 0, shadow, p);
    double rho = product(grid, r, shadow);
    if (rho == 0) return;
    const int most = most_steps(grid);
    for (int step = 0; step < most; ++step) {
        grid.multiply(inverse_diagonal_vector, p, q);
        grid.apply(q, a_q);
        const double with_shadow = product(grid, a_q, shadow);
        if (with_shadow == 0) return;
        const double alpha = rho / with_shadow;
        grid.combine(1, u, alpha, q, u);
        grid.combine(1, r, -alpha, a_q, s);
        if (largest(grid, s) <= goal) return;
        grid.multiply(inverse_diagonal_vector, s, t);
        grid.apply(t, a_t);
        const double square = product(grid, a_t, a_t);
        if (square == 0) return;
        const double omega = product(grid, a_t, s) / square;
        grid.combine(1, u, omega, t, u);
        grid.combine(1, s, -omega, a_t, r);
        if (largest(grid, r) <= goal) return;
        const double new_rho = product(grid, r, shadow);
        if (new_rho == 0 || omega == 0) return;
        // p = r + beta (p - omega A q)
        const double beta = new_rho / rho * (alpha / omega);
        grid.combine(1, p, -omega, a_q, p);
        grid.combine(1, r, beta, p, p);
        rho = new_rho;
    }
}

} // namespace

void solve_bottom(level& coarsest, int u, int f, bool singular) {
    if (coarsest.on_one_rank() && coarsest.own_boxes().empty()) return;
    const auto timed = coarsest.during(phase::bottom_solve);
    if (singular) remove_mean(coarsest, f);
    iterate(coarsest, u, f);
    if (singular) remove_mean(coarsest, u);
}

} // namespace craton::multigrid
