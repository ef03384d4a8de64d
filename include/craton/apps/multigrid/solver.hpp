#pragma once

#include <craton/apps/multigrid/problem.hpp>
#include <craton/array/box_layout.hpp>
#include <craton/array/halo_exchange.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace craton::multigrid {

/// Full geometric multigrid on boxes: the numerics of HPGMG-FV (Shan et al. 2015, III).
///
/// Levels: boxes are halved while larger than 8 cells a side, then eight are gathered into one while they can be, then halved on to the coarsest
/// grid, which BiCGStab solves. All members are collective over the world; each rank works on its own boxes.
class solver {
  public:
    /// Throws user_error on every rank when the layout has boxes of less than 2 cells, an odd side that cannot be halved to the coarsest grid, or a
    /// periodic boundary that the problem leaves singular.
    solver(runtime::world& ranks, const array::box_layout& layout, const problem& what,
           array::exchange_step step = array::exchange_step::one_wait);
    solver(solver&&) noexcept;
    ~solver();

    [[nodiscard]] int levels() const noexcept;
    /// u of a level (0 the finest) by one F-cycle from zero: the right-hand side restricted to the coarsest grid, solved there, and then prolonged and
    /// improved by a V-cycle level by level.
    void f_cycle(int level = 0);
    /// Largest |f - A u| of a level, and that over the largest |f|.
    [[nodiscard]] double residual_norm(int level = 0);
    [[nodiscard]] double relative_residual(int level = 0);

    /// Richardson's estimate from F-cycles on the three finest levels: largest |u_2h - R u_h|, and the order that it and the same one level
    /// coarser show. Overwrites u of these levels.
    struct richardson_estimate {
        double error = 0, order = 0;
    };
    [[nodiscard]] richardson_estimate richardson();

    /// u of a rank's boxes on the finest level, in the order of box_layout::boxes_of, each with i fastest and no ghosts.
    [[nodiscard]] std::vector<double> solution() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace craton::multigrid
