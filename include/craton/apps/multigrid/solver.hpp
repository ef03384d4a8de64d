#pragma once

#include <craton/apps/multigrid/phase_times.hpp>
#include <craton/apps/multigrid/problem.hpp>
#include <craton/array/box_layout.hpp>
#include <craton/array/halo_exchange.hpp>
#include <craton/runtime/world.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace craton::multigrid {

/// How a solution was reached: the largest residual over the largest |f| (solver::largest_right_hand_side) before every step and at
/// the end.
struct convergence {
    std::vector<double> residuals;
    bool converged = false;
};

/// Called on every rank after the F-cycle (step 0) and each step: the largest residual over the largest |f|.
using progress = std::function<void(int step, double residual)>;

/// How ghosts are filled between boxes: copies from box to box, by a step of the ladder, or packed buffers as the comparison.
struct exchange_method {
    array::exchange_step step = array::exchange_step::one_wait;
    bool bulk = false;
};
/// "bulk", or the name of an array::exchange_step. Throws user_error for another.
[[nodiscard]] exchange_method exchange_method_named(std::string_view name);

/// How the work is shared.
struct solver_options {
    exchange_method exchange{};
    int threads = 1; ///< of each rank, which share its boxes
};

/// Full geometric multigrid on boxes: the numerics of HPGMG-FV (Shan et al. 2015, III).
///
/// Levels: each has half the cells of the finer one along each dimension, rounded up. Boxes are halved while larger than 8 cells
/// a side, then two along each dimension are gathered into one, down to the coarsest grid, which BiCGStab solves: 1 cell along
/// the shortest dimension (fv4: 2), or 1000 cells or fewer with an odd number along some dimension. Where cells are no cubes
/// dimensions of short cells are halved first, alone; large grids go on where one dimension has no cells left. Each rank works on
/// its own boxes.
///
/// All members are collective over the world but ranks, levels, layout, singular, own_cells and solution.
///
/// Where a = 0 and no side is Dirichlet's or Robin's, u is fixed up to a constant only: f must have mean 0, and the u of mean 0 is
/// found.
///
/// Values of a rank's cells, in and out: one box after the other in the order of box_layout::blocks_of, i fastest, no ghosts.
class solver {
  public:
    /// Throws user_error on every rank when a < 0 or b <= 0, threads are less than 1, beta is not positive or not finite
    /// somewhere, alpha is negative or not finite somewhere or 0 everywhere or given with a = 0, f or a value on the boundary is
    /// not finite, a flux or a Robin side is given with fv4, a spacing or coefficient of a Robin side is not allowed, f, where
    /// constants are free, has a mean; when there are more ranks than boxes; when a box has less than 2 cells a side (fv4: 4),
    /// or, on a grid of more than 16 cells along each dimension, begins at an odd cell.
    solver(runtime::world& ranks, const array::box_layout& layout, const problem& what, const solver_options& options = {});
    solver(solver&&) noexcept;
    ~solver();

    /// The world that it solves on, and its grids.
    [[nodiscard]] runtime::world& ranks() const noexcept;
    [[nodiscard]] int levels() const noexcept;
    /// Of a level, 0 the finest.
    [[nodiscard]] const array::box_layout& layout(int level = 0) const;
    [[nodiscard]] bool singular() const noexcept;
    /// Cells of this rank's boxes.
    [[nodiscard]] std::size_t own_cells() const;

    /// Another f, in place of the problem's, and what is given on the boundary (u or fluxes, 0 where nothing is), the same on every
    /// rank. The latter goes into the cells' equations, where it is of the order of values / h^2; residuals are relative to f as it
    /// is given here all the same. Overwrites u of the finest level. Throws user_error on every rank when one has another number
    /// of values than own_cells() or a side another than it has faces, one is not finite, a periodic side has values, fv4 has a
    /// flux other than 0, or, where constants are free, the mean is more than 1e-8 of the largest.
    void set_right_hand_side(std::span<const double> f, const side_values& on_boundary = {});

    /// An F-cycle and then V-cycles, until the largest residual is at most `tolerance` times the largest |f|, at most `most_cycles`
    /// V-cycles. Throws user_error on every rank unless the tolerance is above 0 and below 1 and cycles are at least 0.
    convergence solve(double tolerance = 1e-8, int most_cycles = 30, const progress& each = {});
    /// An F-cycle and then conjugate_gradients(): where beta jumps by orders of magnitude.
    convergence solve_by_conjugate_gradients(double tolerance = 1e-8, int most_steps = 100, const progress& each = {});

    /// u of a level (0 the finest) by one F-cycle from zero: the right-hand side restricted to the coarsest grid, solved there, and
    /// then prolonged and improved by a V-cycle level by level.
    void f_cycle(int level = 0);
    /// Improves u of the finest level.
    void v_cycle();
    /// Largest |f - A u| of a level, and that over the largest |f| (0 where f is 0).
    [[nodiscard]] double residual_norm(int level = 0);
    [[nodiscard]] double relative_residual(int level = 0);
    /// The largest |f| as it was given; where that is 0, of what the boundary puts into it. The same on every rank. Not collective.
    [[nodiscard]] double largest_right_hand_side() const noexcept;

    /// image = A u. Overwrites u of the finest level.
    void apply(std::span<const double> u, std::span<double> image);
    /// z = one V-cycle from zero for right-hand side r: a preconditioner. Overwrites u of the finest level.
    void precondition(std::span<const double> r, std::span<double> z);

    /// Richardson's estimate from F-cycles on the three finest levels: largest |u_2h - R u_h|, and the order that it and the same
    /// one level coarser show. Overwrites u of these levels.
    struct richardson_estimate {
        double error = 0, order = 0;
    };
    /// Collective. Makes these F-cycles.
    [[nodiscard]] richardson_estimate richardson();

    /// From now on the seconds of every level and phase are counted, from zero; false: no more. While they are not, nothing is
    /// spent on it.
    void record_times(bool on = true);
    /// Of the rank that has spent most, entry by entry; 0 where nothing has been recorded. Recording goes on.
    [[nodiscard]] phase_times longest_times() const;

    /// u of this rank's boxes on the finest level.
    [[nodiscard]] std::vector<double> solution() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace craton::multigrid
