#pragma once

#include "ghost_exchange.hpp"

#include <craton/apps/multigrid/kernels/between_levels.hpp>
#include <craton/apps/multigrid/kernels/boundary.hpp>
#include <craton/apps/multigrid/kernels/chebyshev_pair.hpp>
#include <craton/apps/multigrid/kernels/stencils.hpp>
#include <craton/apps/multigrid/phase_times.hpp>
#include <craton/apps/multigrid/problem.hpp>
#include <craton/array/block_grid.hpp>
#include <craton/array/box_layout.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/comm/work_time.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace craton::multigrid {

/// What distinguishes the discretisations.
struct traits {
    int depth;             ///< ghost layers that the stencil reads
    int ghost_order;       ///< of the formula at the boundary
    bool extend_beta;      ///< the stencil takes tangential differences of beta
    int probe_colours;     ///< per dimension: cells of one colour do not meet each other's rows' diagonals
    std::int64_t coarsest; ///< cells along the shortest dimension where the cycle ends
    int gauss_seidel_pairs;
    int chebyshev_degree;
    prolongation_formula in_v_cycle, in_f_cycle;
};
[[nodiscard]] traits traits_of(discretisation kind);

/// Rooms of a level's grid.
enum vector_name : int {
    u_vector,
    f_vector,
    scratch_vector,
    inverse_diagonal_vector,
    beta_i_vector,
    beta_j_vector,
    beta_k_vector,
    vectors_of_level
};

/// Of a box, as the kernels want it.
[[nodiscard]] inline box_shape shape_of(const array::block_grid<double>& grid, std::int64_t box) {
    const auto e = grid.extents(box);
    return {e.nx, e.ny, e.nz, e.pitch, e.plane};
}

/// One grid of the hierarchy with its operator.
///
/// A Robin side, a u + c beta du/dn = g, is a Dirichlet side with u = g / a and another beta on its faces: the flux from g / a
/// passes the resistance c / a before that of the cell. The ghost formula gives the value on the face the weight w, so that the
/// difference across the face stands for w times that to the value; then beta / (1 + w (c / a) beta / h) satisfies the condition
/// with the formula's own value and slope on the face.
class level {
  public:
    /// Collective. `finest`: cells of the finest grid, whose sides the problem gives; this grid has the same lengths.
    /// `extra`: more vectors than vectors_of_level. The exchange's team shares the work on this rank's boxes too.
    level(runtime::world& ranks, const array::box_layout& layout, const array::index3& finest, const problem& what,
          const exchange_setup& exchange, int extra = 0);

    [[nodiscard]] const array::block_grid<double>& grid() const noexcept { return grid_; }
    [[nodiscard]] const array::box_layout& layout() const noexcept { return layout_; }
    [[nodiscard]] box_shape shape(std::int64_t box) const { return shape_of(grid_, box); }
    /// The side of a cell along the dimension in which the finest grid has most cells.
    [[nodiscard]] double h() const noexcept { return h_; }
    [[nodiscard]] double cell_side(std::size_t dimension) const noexcept { return cell_sides_[dimension]; }
    /// h^2 over the square of a cell's side along a dimension: the factor that beta's vectors of this level have. 1 for cubes.
    [[nodiscard]] double stretch(std::size_t dimension) const noexcept { return stretch_[dimension]; }
    [[nodiscard]] double b() const noexcept { return b_; }
    [[nodiscard]] discretisation kind() const noexcept { return kind_; }
    /// What holds before the first (end 0) or behind the last cell of a dimension that is not periodic. Robin sides are those with
    /// both coefficients; with one they are Dirichlet's or Neumann's.
    [[nodiscard]] boundary side(std::size_t dimension, std::size_t end) const { return sides_[dimension][end]; }
    /// What a value given on a side is multiplied by to be that of u (of the flux on Neumann sides): not 1 on Robin sides alone.
    [[nodiscard]] double value_factor(std::size_t dimension, std::size_t end) const { return value_factors_[dimension][end]; }
    [[nodiscard]] double lambda_max() const noexcept { return lambda_max_; }
    [[nodiscard]] array::grid_layout::block_list own_boxes() const { return layout_.blocks_of(grid_.ranks().rank()); }
    [[nodiscard]] double* at(std::int64_t box, int vector) const { return grid_.origin(box, vector); }

    /// All boxes have the same owner: the others have nothing to do here.
    [[nodiscard]] bool on_one_rank() const;

    /// Time counts as that of level `number` from now on; null: it is not measured.
    void record(phase_times* times, int number) noexcept {
        times_ = times;
        number_ = number;
    }
    /// Until what is returned goes.
    [[nodiscard]] in_phase during(phase which) const { return {times_, number_, which}; }

    /// Which sides of a box of this rank are the grid's boundary.
    [[nodiscard]] const outer_sides& outer(std::int64_t box) const { return outer_[static_cast<std::size_t>(layout_.slot(box))]; }
    /// what(box) for this rank's boxes, each by one thread of the team.
    template <class What> void for_boxes(const What& what) const {
        const comm::work_time work(layout_.blocks() < grid_.ranks().size() ? comm::work::few : comm::work::sweep);
        const auto boxes = own_boxes();
        if (team_ == nullptr || boxes.size() < 2) {
            for (const auto box : boxes) what(box);
        } else {
            team_->for_each(std::ssize(boxes), [&](std::int64_t n) { what(boxes[n]); });
        }
        work.done(own_cells_);
    }

    /// The room of alpha, where it varies; else -1.
    [[nodiscard]] int alpha_vector() const noexcept { return alpha_vector_; }

    /// Multiplies the beta of faces normal to a dimension, those of the boundary too; by 1 it does nothing.
    void stretch_beta(std::size_t dimension, double factor);

    /// Once beta and alpha are there. Collective.
    void fill_coefficient_ghosts();
    /// Once these have ghosts and the coarser level has its beta: that of Robin sides, the diagonal and the bound of the largest
    /// eigenvalue. Collective.
    void prepare();

    /// Ghosts of a vector, as its own stencil wants them, or of a formula's order with edges and corners. Collective.
    void fill_ghosts(int vector);
    void fill_ghosts_for(int vector, const prolongation_formula& formula);
    /// Those that lie in other boxes, with edges and corners. Collective.
    void fill_halo(int vector);
    /// image = A of, whose ghosts are filled first. Collective.
    void apply(int of, int image);
    /// image = A u for u = 0 on all cells and these values on Dirichlet and Robin sides, (dimension, end, a cell whose two other
    /// coordinates count, which may lie beside the grid). u_vector's room is overwritten. Collective.
    using value_on_side = std::function<double(std::size_t dimension, std::size_t end, const array::index3& cell)>;
    void apply_to_boundary(const value_on_side& value, int image);
    /// r = f - A u. Collective.
    void residual(int u, int f, int r);
    /// Relaxes u for right-hand side f. `halo_of_f_is_known`: f is what it was when it was last smoothed for. Collective.
    void smooth(int u, int f, bool halo_of_f_is_known = false);
    /// Of this rank's boxes; not a number if one element is none.
    [[nodiscard]] double own_max_norm(int vector) const;
    [[nodiscard]] double own_dot(int x, int y) const;
    /// Of all ranks'. Collective.
    [[nodiscard]] double max_norm(int vector) const;
    [[nodiscard]] double dot(int x, int y) const;
    /// z = p x + q y on interiors.
    void combine(double p, int x, double q, int y, int z);
    void multiply(int x, int y, int z);
    void set(int vector, double value);

  private:
    void take_sides(const problem& what);
    [[nodiscard]] outer_sides find_outer(std::int64_t box) const;
    // kernel(box, A u row by row, room for a row) for this rank's boxes.
    template <class Kernel> void with_rows(int u, const Kernel& kernel);
    [[nodiscard]] std::vector<chebyshev_weights> chebyshev_steps() const;
    void smooth_by_pairs(int u, int f, bool halo_of_f_is_known);
    void fill_outer(int vector, const side_formulas& of_sides, int depth);
    // Of the operator, whose beta on Robin sides does the rest; and of u itself, for interpolation.
    [[nodiscard]] side_formulas formulas(int order) const;
    [[nodiscard]] side_formulas formulas_of_u(int order) const;
    [[nodiscard]] side_formulas extrapolations() const;
    [[nodiscard]] std::int64_t cells_along(std::size_t dimension) const { return layout_.grid().high[dimension]; }
    void fill_beta_ghosts();
    void fill_alpha_ghosts();
    // Beta of Robin sides becomes what makes the formula of a Dirichlet side theirs.
    void weaken_robin_sides();
    [[nodiscard]] bool beta_is_rough() const;
    struct colouring;
    void indicate(std::int64_t box, const std::array<colouring, 3>& colours, const array::index3& wanted, double* into) const;
    // Collective: the diagonal of A, and row by row the sums of magnitudes off it. Overwrites u_vector and scratch_vector.
    void probe(int diagonal_to, int off_diagonal_to);
    [[nodiscard]] coefficients coefficients_of(std::int64_t box) const;

    traits traits_;
    discretisation kind_;
    smoother smoother_;
    std::array<std::array<boundary, 2>, 3> sides_{};
    std::array<std::array<double, 2>, 3> value_factors_{{{1, 1}, {1, 1}, {1, 1}}};
    std::array<std::array<double, 2>, 3> resistances_{}; // c / a of Robin sides
    std::array<std::array<double, 2>, 3> weakened_{};    // on Robin sides beta's mean has become so much of itself
    double a_, b_, h_ = 0;
    int alpha_vector_;
    array::box_layout layout_;
    array::block_grid<double> grid_;
    std::array<double, 3> cell_sides_{}, stretch_{1, 1, 1};
    std::vector<outer_sides> outer_; // of this rank's boxes
    std::size_t own_cells_ = 0;
    ghost_exchange exchange_, exchange_all_;
    std::optional<ghost_exchange> exchange_pairs_; // where Chebyshev iteration takes two steps at a time
    double lambda_max_ = 0;
    bool rough_ = false; // as fourth_order_stencil wants to know
    base::thread_team* team_;
    phase_times* times_ = nullptr;
    int number_ = 0;
};

} // namespace craton::multigrid
