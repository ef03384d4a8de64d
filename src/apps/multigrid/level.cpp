#include "level.hpp"

#include <craton/apps/multigrid/kernels/sweeps.hpp>
#include <craton/base/aligned_vector.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace craton::multigrid {

traits traits_of(discretisation kind) {
    switch (kind) {
    case discretisation::seven_point:
        return {1, 1, false, 2, 1, 2, 4, constant_prolongation(), linear_prolongation()};
    case discretisation::fv2:
        return {1, 2, false, 2, 1, 3, 6, second_order_prolongation(), second_order_prolongation()};
    case discretisation::fv4:
        break;
    }
    return {2, 4, true, 4, 2, 3, 6, second_order_prolongation(), fourth_order_prolongation()};
}

namespace {

// Boxes smaller than this do not repay the wider halo that two steps at a time want.
constexpr std::int64_t smallest_box_for_pairs = 16;

// Round an odd number of cells red would meet red, and half sweeps of Gauss-Seidel leave a rough residual there: cycles then took
// half as many again.
smoother smoother_on(const problem& what, const array::box_layout& layout) {
    bool red_meets_red = false;
    for (std::size_t d = 0; d < 3; ++d) red_meets_red = red_meets_red || (layout.periodic()[d] && layout.grid().high[d] % 2 != 0);
    return red_meets_red && what.smooth == smoother::gauss_seidel ? smoother::chebyshev : what.smooth;
}

bool by_pairs(const problem& what, const array::box_layout& layout) {
    return smoother_on(what, layout) == smoother::chebyshev && what.kind != discretisation::fv4 &&
           layout.thinnest() >= smallest_box_for_pairs;
}

bool has_alpha(const problem& what) { return what.alpha || !what.alpha_values.empty(); }

// No deeper than the boxes of the coarsest grids.
int ghost_of(const traits& t, const problem& what, const array::box_layout& layout) {
    return static_cast<int>(std::min<std::int64_t>(by_pairs(what, layout) ? 2 : t.depth, layout.thinnest()));
}

} // namespace

level::level(runtime::world& ranks, const array::box_layout& layout, const array::index3& finest, const problem& what,
             const exchange_setup& exchange, int extra)
    : traits_(traits_of(what.kind)), kind_(what.kind), smoother_(smoother_on(what, layout)), a_(what.a), b_(what.b),
      alpha_vector_(has_alpha(what) ? vectors_of_level + extra : -1), layout_(layout),
      grid_(ranks, layout, vectors_of_level + extra + (has_alpha(what) ? 1 : 0), ghost_of(traits_, what, layout)),
      exchange_(grid_, what.kind == discretisation::fv4 ? array::halo_reach::edges : array::halo_reach::faces,
                std::min<std::int64_t>(traits_.depth, grid_.ghost()), exchange),
      exchange_all_(grid_, array::halo_reach::all, grid_.ghost(), exchange), team_(exchange.team) {
    for (const auto box : own_boxes()) {
        outer_.push_back(find_outer(box));
        own_cells_ += static_cast<std::size_t>(layout_.cells(box).cells());
    }
    const array::index3 cells = layout_.grid().high;
    // The dimension with most cells here may be another, since halves are rounded up.
    const auto longest = static_cast<std::size_t>(std::ranges::max_element(finest) - finest.begin());
    const bool cubes = what.spacing[0] == 0;
    const auto fine_cells_per_cell = [&](std::size_t d) { return static_cast<double>(finest[d]) / static_cast<double>(cells[d]); };
    h_ = cubes ? 1.0 / static_cast<double>(cells[longest]) : what.spacing[longest] * fine_cells_per_cell(longest);
    for (std::size_t d = 0; d < 3; ++d) {
        cell_sides_[d] = h_;
        const bool same_shape = cubes || what.spacing[d] == what.spacing[longest];
        if (same_shape && cells[d] * finest[longest] == cells[longest] * finest[d]) continue; // as long a cell to the last bit
        const double of_cells = static_cast<double>(cells[d] * finest[longest]) / static_cast<double>(cells[longest] * finest[d]);
        const double ratio = same_shape ? of_cells : of_cells * (what.spacing[longest] / what.spacing[d]);
        cell_sides_[d] = h_ / ratio;
        stretch_[d] = ratio * ratio;
    }
    take_sides(what);
    if (by_pairs(what, layout)) exchange_pairs_.emplace(grid_, array::halo_reach::edges, 2, exchange);
}

void level::take_sides(const problem& what) {
    for (std::size_t d = 0; d < 3; ++d) {
        for (std::size_t end = 0; end < 2; ++end) {
            boundary& side = sides_[d][end];
            side = what.sides[d][end];
            if (side != boundary::robin || layout_.periodic()[d]) continue;
            const auto [a, c] = what.robin[d][end];
            value_factors_[d][end] = 1 / (a == 0 ? c : a);
            if (a == 0) side = boundary::neumann;
            if (c == 0) side = boundary::dirichlet;
            if (side == boundary::robin) resistances_[d][end] = c / a;
        }
    }
}

bool level::on_one_rank() const { return std::ssize(layout_.blocks_of(layout_.owner(0))) == layout_.blocks(); }

outer_sides level::find_outer(std::int64_t box) const {
    outer_sides found{};
    for (std::size_t d = 0; d < 3; ++d) {
        for (std::size_t end = 0; end < 2; ++end) {
            array::index3 side{};
            side[d] = end == 0 ? -1 : 1;
            found[d][end] = layout_.beside(box, side).block < 0;
        }
    }
    return found;
}

coefficients level::coefficients_of(std::int64_t box) const {
    const double* const alpha = alpha_vector_ < 0 ? nullptr : at(box, alpha_vector_);
    return {a_, b_ / (h_ * h_), alpha, {at(box, beta_i_vector), at(box, beta_j_vector), at(box, beta_k_vector)}};
}

template <class Kernel> void level::with_rows(int u, const Kernel& kernel) {
    for_boxes([&](std::int64_t box) {
        thread_local base::aligned_vector<double> image;
        const box_shape shape = this->shape(box);
        image.resize(static_cast<std::size_t>(detail::whole_vectors(shape.nx)));
        if (kind_ == discretisation::fv4) {
            thread_local base::aligned_vector<double> fluxes;
            fluxes.resize(fourth_order_rows<>::room_for(shape));
            if (rough_) {
                kernel(box, fourth_order_rows<true>(shape, coefficients_of(box), at(box, u), fluxes), image.data());
            } else {
                kernel(box, fourth_order_rows<>(shape, coefficients_of(box), at(box, u), fluxes), image.data());
            }
        } else {
            kernel(box, two_point_rows(shape, coefficients_of(box), at(box, u)), image.data());
        }
    });
}

void level::fill_beta_ghosts() {
    for (int d = 0; d < 3; ++d) {
        const int vector = beta_i_vector + d;
        array::index3 faces{};
        faces[static_cast<std::size_t>(d)] = 1;
        array::halo_exchange<double>(grid_, array::halo_reach::all, grid_.ghost(),
                                     {.step = array::exchange_step::neighbours, .layers_on_top = faces})(vector);
        grid_.ranks().barrier(); // before it goes
        if (!traits_.extend_beta) continue;
        for (const auto box : own_boxes()) {
            std::array<bool, 3> tangential{true, true, true};
            tangential[static_cast<std::size_t>(d)] = false;
            const box_shape shape = this->shape(box);
            std::array<std::int64_t, 3> extent = shape.cells();
            const auto sides = outer(box);
            if (sides[static_cast<std::size_t>(d)][1]) ++extent[static_cast<std::size_t>(d)];
            fill_outer_ghosts(at(box, vector), shape, 1, sides, extrapolations(), tangential, extent);
        }
    }
}

// Whether beta differs along any face by more than twice its value there; the same on all ranks, which share faces.
bool level::beta_is_rough() const {
    bool rough = false;
    for (const auto box : own_boxes()) {
        const box_shape shape = this->shape(box);
        const std::array<std::int64_t, 3> steps = shape.steps();
        for (std::size_t d = 0; d < 3; ++d) {
            const double* const beta = at(box, beta_i_vector + static_cast<int>(d));
            const std::array<std::int64_t, 2> along{steps[(d + 1) % 3], steps[(d + 2) % 3]};
            const auto look = [&](std::int64_t face) {
                for (const std::int64_t t : along)
                    rough = rough || (beta[face] != 0 && std::abs(beta[face + t] - beta[face - t]) > 2 * beta[face]);
            };
            for_each_cell(shape, look);
            if (!outer(box)[d][1]) continue;
            // behind the last cells: no other box has these faces
            const auto cells = shape.cells();
            for (std::int64_t y = 0; y < cells[(d + 2) % 3]; ++y) {
                for (std::int64_t x = 0; x < cells[(d + 1) % 3]; ++x) look(cells[d] * steps[d] + x * along[0] + y * along[1]);
            }
        }
    }
    grid_.ranks().barrier(); // polls, before a reduction that does not
    return grid_.ranks().communicator().maximum(rough ? 1 : 0) != 0;
}

void level::fill_alpha_ghosts() {
    if (alpha_vector_ < 0) return;
    exchange_all_(alpha_vector_, array::halo_use::kept);
    for (const auto box : own_boxes()) fill_outer_ghosts(at(box, alpha_vector_), shape(box), 1, outer(box), extrapolations());
}

// Of the cells along one dimension, for probing: those of one colour are so many cells apart, also round a periodic dimension,
// whose remainder gets colours of its own.
struct level::colouring {
    std::int64_t cells, apart, rest;

    colouring(std::int64_t along, int distance, bool periodic)
        : cells(along), apart(std::min<std::int64_t>(distance, along)), rest(periodic ? along % apart : 0) {}

    [[nodiscard]] std::int64_t colours() const { return apart + rest; }
    [[nodiscard]] std::int64_t of(std::int64_t cell) const {
        return cell < cells - rest ? cell % apart : apart + cell - (cells - rest);
    }
};

// 1 on the cells of a colour of a box, else 0: the product of one factor per dimension.
void level::indicate(std::int64_t box, const std::array<colouring, 3>& colours, const array::index3& wanted, double* into) const {
    const auto low = layout_.cells(box).low;
    const auto is_of_colour = [&](std::size_t d, std::int64_t cell) { return colours[d].of(low[d] + cell) == wanted[d]; };
    const box_shape shape = this->shape(box);
    std::vector<double> along_i(static_cast<std::size_t>(shape.nx));
    for (std::int64_t i = 0; i < shape.nx; ++i) along_i[static_cast<std::size_t>(i)] = is_of_colour(0, i) ? 1.0 : 0.0;
    for (std::int64_t k = 0; k < shape.nz; ++k) {
        for (std::int64_t j = 0; j < shape.ny; ++j) {
            double* const row = into + j * shape.pitch + k * shape.plane;
            if (is_of_colour(1, j) && is_of_colour(2, k)) {
                std::ranges::copy(along_i, row);
            } else {
                std::fill_n(row, shape.nx, 0.0);
            }
        }
    }
}

// A applied to the indicator of each colour gives the diagonal and the sums of magnitudes off it, whatever the stencil and the
// boundary.
void level::probe(int diagonal_to, int off_diagonal_to) {
    const auto& layout = layout_;
    const auto along = [&](std::size_t d) {
        return colouring(layout.grid().high[d], traits_.probe_colours, layout.what().periodic[d]);
    };
    const std::array<colouring, 3> colours{along(0), along(1), along(2)};
    const std::int64_t planes = colours[0].colours() * colours[1].colours();
    set(diagonal_to, 0);
    set(off_diagonal_to, 0);
    for (std::int64_t colour = 0; colour < planes * colours[2].colours(); ++colour) {
        const array::index3 wanted{colour % colours[0].colours(), colour % planes / colours[0].colours(), colour / planes};
        for_boxes([&](std::int64_t box) { indicate(box, colours, wanted, at(box, u_vector)); });
        apply(u_vector, scratch_vector);
        for_boxes([&](std::int64_t box) {
            const double* const of_colour = at(box, u_vector);
            const double* const image = at(box, scratch_vector);
            double* const diagonal = at(box, diagonal_to);
            double* const off_diagonal = at(box, off_diagonal_to);
            for_each_cell(shape(box), [=](std::int64_t c) {
                diagonal[c] += of_colour[c] * image[c];
                off_diagonal[c] += (1 - of_colour[c]) * std::abs(image[c]);
            });
        });
    }
}

void level::stretch_beta(std::size_t dimension, double factor) {
    if (factor == 1) return;
    for (const auto box : own_boxes()) {
        box_shape faces = shape(box);
        (dimension == 0 ? faces.nx : dimension == 1 ? faces.ny : faces.nz) += 1;
        double* const beta = at(box, beta_i_vector + static_cast<int>(dimension));
        for_each_cell(faces, [=](std::int64_t c) { beta[c] *= factor; });
    }
}

void level::fill_coefficient_ghosts() {
    fill_beta_ghosts();
    fill_alpha_ghosts();
}

void level::weaken_robin_sides() {
    std::vector<double> before(6), after(6);
    bool any = false;
    for (std::size_t d = 0; d < 3; ++d) {
        const double weight = weight_of_boundary(dirichlet_formula(traits_.ghost_order, cells_along(d)), 0);
        const int vector = beta_i_vector + static_cast<int>(d);
        for (std::size_t end = 0; end < 2; ++end) {
            if (sides_[d][end] != boundary::robin) continue;
            any = true;
            const double factor = weight * resistances_[d][end] / (stretch_[d] * cell_sides_[d]);
            for (const auto box : own_boxes()) {
                if (!outer(box)[d][end]) continue;
                box_shape faces = shape(box);
                double* const beta = at(box, vector) + (end == 0 ? 0 : faces.cells()[d] * faces.steps()[d]);
                (d == 0 ? faces.nx : d == 1 ? faces.ny : faces.nz) = 1;
                for_each_cell(faces, [&](std::int64_t c) {
                    before[2 * d + end] += beta[c];
                    beta[c] /= 1 + factor * beta[c];
                    after[2 * d + end] += beta[c];
                });
            }
        }
    }
    if (!any) return;        // the same on all ranks
    grid_.ranks().barrier(); // polls, before reductions that do not
    grid_.ranks().communicator().sum_in_place(std::span(before));
    grid_.ranks().communicator().sum_in_place(std::span(after));
    for (std::size_t n = 0; n < 6; ++n) weakened_[n / 2][n % 2] = before[n] == 0 ? 1 : after[n] / before[n];
    fill_beta_ghosts(); // boxes have faces of each other
}

void level::prepare() {
    weaken_robin_sides();
    rough_ = kind_ == discretisation::fv4 && beta_is_rough();
    probe(inverse_diagonal_vector, f_vector);
    double largest = 0;
    for (const auto box : own_boxes()) {
        double* const diagonals = at(box, inverse_diagonal_vector);
        const double* const off_diagonal = at(box, f_vector);
        for_each_cell(shape(box), [&](std::int64_t c) {
            double& diagonal = diagonals[c];
            largest = std::max(largest, (diagonal + off_diagonal[c]) / diagonal);
            diagonal = 1 / diagonal;
        });
    }
    exchange_all_(inverse_diagonal_vector, array::halo_use::kept);
    grid_.ranks().barrier(); // polls, before a reduction that does not
    lambda_max_ = grid_.ranks().communicator().maximum(largest);
    set(u_vector, 0);
    set(f_vector, 0);
}

side_formulas level::formulas(int order) const {
    side_formulas found;
    for (std::size_t d = 0; d < 3; ++d) {
        for (std::size_t end = 0; end < 2; ++end) {
            const bool flat = sides_[d][end] == boundary::neumann;
            found[d][end] = flat ? neumann_formula(order, cells_along(d)) : dirichlet_formula(order, cells_along(d));
        }
    }
    return found;
}

// The difference across the face of a Robin side is so much smaller than that of a Dirichlet side as beta has become.
side_formulas level::formulas_of_u(int order) const {
    side_formulas found = formulas(order);
    for (std::size_t d = 0; d < 3; ++d) {
        for (std::size_t end = 0; end < 2; ++end) {
            if (sides_[d][end] != boundary::robin) continue;
            auto& weights = found[d][end].weights[0];
            for (double& each : weights) each *= weakened_[d][end];
            weights[0] += 1 - weakened_[d][end];
        }
    }
    return found;
}

side_formulas level::extrapolations() const {
    side_formulas found;
    for (std::size_t d = 0; d < 3; ++d) found[d].fill(extrapolation_formula(cells_along(d)));
    return found;
}

void level::fill_outer(int vector, const side_formulas& of_sides, int depth) {
    const auto timed = during(phase::boundary);
    for_boxes([&](std::int64_t box) { fill_outer_ghosts(at(box, vector), shape(box), depth, outer(box), of_sides); });
}

void level::fill_ghosts(int vector) {
    {
        const auto timed = during(phase::exchange);
        exchange_(vector);
    }
    fill_outer(vector, formulas(traits_.ghost_order), static_cast<int>(std::min<std::int64_t>(traits_.depth, grid_.ghost())));
}

void level::fill_ghosts_for(int vector, const prolongation_formula& formula) {
    if (formula.reach == 0) return;
    {
        const auto timed = during(phase::exchange);
        exchange_all_(vector);
    }
    fill_outer(vector, formulas_of_u(formula.ghost_order), formula.reach);
}

void level::fill_halo(int vector) {
    const auto timed = during(phase::exchange);
    exchange_all_(vector);
}

void level::apply(int of, int image) {
    const auto timed = during(phase::residual);
    fill_ghosts(of);
    with_rows(of,
              [&](std::int64_t box, const auto& rows, double* room) { multigrid::apply(shape(box), rows, room, at(box, image)); });
}

void level::apply_to_boundary(const value_on_side& value, int image) {
    set(u_vector, 0);
    fill_ghosts(u_vector);
    const auto of_sides = formulas(traits_.ghost_order);
    for (const auto box : own_boxes()) {
        const auto low = layout_.cells(box).low;
        const auto offset = [&](std::size_t d, std::size_t end, int layer, std::int64_t x, std::int64_t y) {
            if (sides_[d][end] == boundary::neumann) return 0.0;
            auto cell = low;
            cell[d == 0 ? 1 : 0] += x;
            cell[d == 2 ? 1 : 2] += y;
            return weight_of_boundary(of_sides[d][end], layer) * value(d, end, cell);
        };
        fill_outer_ghosts(at(box, u_vector), shape(box), traits_.depth, outer(box), of_sides, offset);
    }
    with_rows(u_vector,
              [&](std::int64_t box, const auto& rows, double* room) { multigrid::apply(shape(box), rows, room, at(box, image)); });
}

void level::residual(int u, int f, int r) {
    const auto timed = during(phase::residual);
    fill_ghosts(u);
    with_rows(u, [&](std::int64_t box, const auto& rows, double* room) {
        multigrid::residual(shape(box), rows, room, at(box, f), at(box, r));
    });
}

std::vector<chebyshev_weights> level::chebyshev_steps() const {
    const double largest = lambda_max_;
    const double smallest = largest / 8;
    const double theta = (largest + smallest) / 2;
    const double delta = (largest - smallest) / 2;
    const double sigma = theta / delta;
    double rho = 1 / sigma;
    std::vector<chebyshev_weights> steps{{0, 1 / theta}};
    while (std::ssize(steps) < traits_.chebyshev_degree) {
        const double before = rho;
        rho = 1 / (2 * sigma - before);
        steps.push_back({rho * before, 2 * rho / delta});
    }
    return steps;
}

void level::smooth_by_pairs(int u, int f, bool halo_of_f_is_known) {
    if (!halo_of_f_is_known) {
        const auto timed = during(phase::exchange);
        exchange_(f, array::halo_use::kept);
    }
    // Of Neumann sides beta is 0, so that what lies off them does not count in between.
    const auto formula = dirichlet_formula(traits_.ghost_order, layout_.thinnest()); // one for all: no dimension is that short
    const auto steps = chebyshev_steps();
    for (std::size_t step = 0; step < steps.size(); step += 2) {
        {
            const auto timed = during(phase::exchange);
            (*exchange_pairs_)(u);
        }
        fill_outer(u, formulas(traits_.ghost_order), 1);
        for_boxes([&](std::int64_t box) {
            chebyshev_pair(shape(box), coefficients_of(box), outer(box), formula, at(box, f), at(box, inverse_diagonal_vector),
                           steps[step], steps[step + 1], at(box, u), at(box, scratch_vector));
        });
    }
}

void level::smooth(int u, int f, bool halo_of_f_is_known) {
    const auto timed = during(phase::smoothing);
    if (exchange_pairs_) return smooth_by_pairs(u, f, halo_of_f_is_known);
    const auto chebyshev = chebyshev_steps();
    const int steps = smoother_ == smoother::chebyshev      ? traits_.chebyshev_degree
                      : smoother_ == smoother::gauss_seidel ? 2 * traits_.gauss_seidel_pairs
                                                            : 6;
    int now = u;
    int next = scratch_vector;
    for (int step = 0; step < steps; ++step) {
        // Two vectors take turns: whoever writes the halo of one has heard, in the exchange of the other, that it was read.
        fill_ghosts(now);
        with_rows(now, [&](std::int64_t box, const auto& rows, double* room) {
            const double* const x = at(box, now);
            const double* const rhs = at(box, f);
            const double* const diagonal = at(box, inverse_diagonal_vector);
            double* const y = at(box, next);
            switch (smoother_) {
            case smoother::chebyshev:
                if (step == 0) return jacobi_step(shape(box), rows, room, x, rhs, diagonal, chebyshev[0].gain, y);
                return chebyshev_step(shape(box), rows, room, x, rhs, diagonal, chebyshev[static_cast<std::size_t>(step)].ahead,
                                      chebyshev[static_cast<std::size_t>(step)].gain, y);
            case smoother::gauss_seidel: {
                const auto low = layout_.cells(box).low;
                return gauss_seidel_step(shape(box), rows, room, x, rhs, diagonal, (step + low[0] + low[1] + low[2]) & 1, y);
            }
            case smoother::jacobi:
                constexpr double damping = 2.0 / 3.0;
                return jacobi_step(shape(box), rows, room, x, rhs, diagonal, damping, y);
            }
        });
        std::swap(now, next);
    }
}

double level::own_max_norm(int vector) const {
    const auto timed = during(phase::vectors);
    double most = 0;
    for (const auto box : own_boxes()) {
        const double here = multigrid::max_norm(shape(box), at(box, vector));
        most = std::isnan(here) || std::isnan(most) ? std::nan("") : std::max(most, here);
    }
    return most;
}

double level::max_norm(int vector) const {
    const auto timed = during(phase::vectors);
    const double most = own_max_norm(vector);
    grid_.ranks().barrier(); // polls, before a reduction that does not
    // MPI's maximum may lose a NaN.
    const double numbers = grid_.ranks().communicator().maximum(std::isnan(most) ? HUGE_VAL : most);
    return std::isinf(numbers) ? std::nan("") : numbers;
}

double level::own_dot(int x, int y) const {
    const auto timed = during(phase::vectors);
    double sum = 0;
    for (const auto box : own_boxes()) {
        const double* const p = at(box, x);
        const double* const q = at(box, y);
        for_each_cell(shape(box), [&](std::int64_t c) { sum += p[c] * q[c]; });
    }
    return sum;
}

double level::dot(int x, int y) const {
    const auto timed = during(phase::vectors);
    std::vector<double> sum{own_dot(x, y)};
    grid_.ranks().barrier(); // polls, before a reduction that does not
    grid_.ranks().communicator().sum_in_place(std::span(sum));
    return sum[0];
}

void level::combine(double p, int x, double q, int y, int z) {
    const auto timed = during(phase::vectors);
    for_boxes([&](std::int64_t box) {
        const double* const first = at(box, x);
        const double* const second = at(box, y);
        double* const to = at(box, z);
        for_each_cell(shape(box), [&](std::int64_t c) { to[c] = p * first[c] + q * second[c]; });
    });
}

void level::multiply(int x, int y, int z) {
    const auto timed = during(phase::vectors);
    for_boxes([&](std::int64_t box) {
        const double* const first = at(box, x);
        const double* const second = at(box, y);
        double* const to = at(box, z);
        for_each_cell(shape(box), [&](std::int64_t c) { to[c] = first[c] * second[c]; });
    });
}

void level::set(int vector, double value) {
    const auto timed = during(phase::vectors);
    for_boxes([&](std::int64_t box) {
        double* const to = at(box, vector);
        for_each_cell(shape(box), [&](std::int64_t c) { to[c] = value; });
    });
}

} // namespace craton::multigrid
