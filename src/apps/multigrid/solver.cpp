#include <craton/apps/multigrid/conjugate_gradients.hpp>
#include <craton/apps/multigrid/solver.hpp>

#include "bottom_solver.hpp"
#include "boundary_values.hpp"
#include "coarsening.hpp"
#include "input.hpp"
#include "level.hpp"
#include "level_transfer.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace craton::multigrid {

namespace {

constexpr std::int64_t widest_bottom = 16; // along its shortest dimension: more would be slow to solve without multigrid
constexpr double smallest_number = 1e-100; // whose square and inverse are numbers
constexpr double mean_allowed = 1e-8;      // of the largest |f|, where constants are free

// Those of which no side fixes u.
std::array<bool, 3> flat_dimensions(const problem& what, const std::array<bool, 3>& periodic) {
    std::array<bool, 3> found{};
    for (std::size_t d = 0; d < 3; ++d) {
        const auto is_flat = [&](std::size_t end) {
            const auto side = what.sides[d][end];
            return side == boundary::neumann || (side == boundary::robin && what.robin[d][end].a == 0);
        };
        found[d] = periodic[d] || (is_flat(0) && is_flat(1));
    }
    return found;
}

void check_spacing(const std::array<double, 3>& spacing) {
    const auto usable = [](double h) { return h >= smallest_number && h <= 1 / smallest_number; };
    if (spacing == std::array<double, 3>{} || std::ranges::all_of(spacing, usable)) return;
    throw user_error(fmt::format("multigrid: spacing = {}, {}, {}; allowed: three numbers from {:g} to {:g}", spacing[0],
                                 spacing[1], spacing[2], smallest_number, 1 / smallest_number));
}

void check_robin_sides(const problem& what, const std::array<bool, 3>& periodic) {
    for (std::size_t d = 0; d < 3; ++d) {
        for (std::size_t end = 0; end < 2; ++end) {
            if (periodic[d] || what.sides[d][end] != boundary::robin) continue;
            const auto where = fmt::format("the side {} {}", end == 0 ? "before the first" : "behind the last", "xyz"[d]);
            if (what.kind == discretisation::fv4)
                throw user_error(fmt::format("multigrid: Robin's condition on {} with fv4; allowed: with 7pt and fv2", where));
            const auto [a, c] = what.robin[d][end];
            const auto usable = [](double x) {
                return x == 0 || (std::abs(x) >= smallest_number && std::abs(x) <= 1 / smallest_number);
            };
            const bool one_sign = (a >= 0 && c >= 0) || (a <= 0 && c <= 0);
            if (usable(a) && usable(c) && one_sign && (a != 0 || c != 0)) continue;
            throw user_error(
                fmt::format("multigrid: a = {}, c = {} in a u + c beta du/dn on {}; allowed: both at least 0 or both at "
                            "most 0, not both 0, of size 0 or {:g} to {:g}",
                            a, c, where, smallest_number, 1 / smallest_number));
        }
    }
}

void check(const problem& what, const array::box_layout& layout) {
    if (!(what.a >= 0 && std::isfinite(what.a))) throw user_error(fmt::format("multigrid: a = {}; allowed: 0 or more", what.a));
    if (!(what.b > 0 && std::isfinite(what.b))) throw user_error(fmt::format("multigrid: b = {}; allowed: more than 0", what.b));
    check_spacing(what.spacing);
    check_robin_sides(what, layout.periodic());
    const int smallest = 2 * traits_of(what.kind).depth;
    if (layout.thinnest() < smallest) {
        throw user_error(fmt::format("multigrid: boxes of {} cells a side; allowed: at least {} with {}", layout.thinnest(),
                                     smallest, name_of(what.kind)));
    }
    if (layout.ranks() > layout.blocks()) {
        throw user_error(
            fmt::format("multigrid: boxes = {} on {} ranks; allowed: at least one box per rank", layout.blocks(), layout.ranks()));
    }
}

void check_steps(double tolerance, int most) {
    if (!(tolerance > 0 && tolerance < 1))
        throw user_error(fmt::format("multigrid: tolerance = {}; allowed: above 0 and below 1", tolerance));
    if (most < 0) throw user_error(fmt::format("multigrid: at most {} cycles; allowed: 0 or more", most));
}

} // namespace

exchange_method exchange_method_named(std::string_view name) {
    if (name == "bulk") return {array::exchange_step::one_wait, true};
    try {
        return {array::exchange_step_named(name), false};
    } catch (const user_error& error) {
        throw user_error(fmt::format("{}, bulk", error.what()));
    }
}

struct solver::state {
    std::unique_ptr<base::thread_team> team; // before the levels, which use it to their end
    traits how;
    bool singular = false;
    std::size_t with_own_f =
        1;            // so many of the finest levels have f restricted from the given one; V-cycles overwrite that of coarser ones
    double scale = 0; // what residuals of the finest level are relative to
    std::vector<std::unique_ptr<level>> levels;
    std::optional<phase_times> times;
    std::vector<std::unique_ptr<level_transfer>> transfers; // from a level to the next coarser one

    // Improves u of a level for its right-hand side. That of coarser levels is overwritten.
    void v_cycle(std::size_t at) {
        level& here = *levels[at];
        if (at + 1 == levels.size()) return solve_bottom(here, u_vector, f_vector, singular);
        here.smooth(u_vector, f_vector);
        here.residual(u_vector, f_vector, scratch_vector);
        transfers[at]->restrict_cells(scratch_vector, f_vector);
        levels[at + 1]->set(u_vector, 0);
        v_cycle(at + 1);
        transfers[at]->prolong(u_vector, how.in_v_cycle, 1, u_vector);
        here.smooth(u_vector, f_vector, true);
    }

    // The largest |f| as it was given, before what is given on the boundary goes into it; that where f is 0.
    template <class Given> void take_boundary(const Given& given) {
        scale = levels[0]->max_norm(f_vector);
        take_boundary_into_right_hand_side(*levels[0], given);
        if (scale == 0) scale = levels[0]->max_norm(f_vector);
    }

    // Where constants are free: f as it was given must have no mean to speak of, and then has none.
    void take_mean_of_right_hand_side() {
        if (!singular) return;
        const double largest = levels[0]->max_norm(f_vector);
        const double mean = remove_mean(*levels[0], f_vector);
        if (std::abs(mean) > mean_allowed * largest) {
            throw user_error(
                fmt::format("multigrid: mean of the right-hand side = {:.3g}, its largest value {:.3g}; allowed: 0, since a = 0 "
                            "and no side is Dirichlet (u would be fixed up to a constant)",
                            mean, largest));
        }
    }
};

solver::solver(runtime::world& ranks, const array::box_layout& layout, const problem& what, const solver_options& options)
    : state_(std::make_unique<state>()) {
    check(what, layout);
    auto& s = *state_;
    std::string failure;
    try {
        s.team = std::make_unique<base::thread_team>(options.threads);
    } catch (const user_error& error) {
        failure = error.what();
    }
    agree(ranks, failure);
    const bool has_alpha = what.alpha || !what.alpha_values.empty();
    ranks.barrier(); // polls, before a reduction that does not
    const bool others_have = ranks.communicator().maximum(has_alpha ? 1 : 0) != 0;
    agree(ranks, has_alpha == others_have ? "" : "multigrid: alpha on some ranks; allowed: on all or on none");
    s.how = traits_of(what.kind);
    s.singular = what.a == 0 && std::ranges::count(flat_dimensions(what, layout.periodic()), true) == 3;
    const coarsening_rules rules{s.how.coarsest, s.how.depth, s.singular, flat_dimensions(what, layout.periodic())};
    std::vector<array::box_layout::shape> shapes{layout.what()};
    // Sides of cells as if no half were rounded up.
    auto sides = what.spacing[0] == 0 ? std::array<double, 3>{1, 1, 1} : what.spacing;
    while (const auto next = coarser(shapes.back(), rules, sides)) {
        const auto halved = halved_dimensions(shapes.back(), *next);
        for (std::size_t d = 0; d < 3; ++d) sides[d] *= halved[d] ? 2 : 1;
        shapes.push_back(*next);
    }
    const auto odd = odd_cut(layout.what());
    if (odd && std::ranges::min(layout.grid().high) > widest_bottom)
        throw user_error(fmt::format("multigrid: a box that begins at cell {}; allowed: even ones (box_layout::of_grid)", *odd));
    const exchange_setup exchange{options.exchange, s.team->size() > 1 ? s.team.get() : nullptr,
                                  std::make_shared<array::halo_turns>()};
    for (std::size_t at = 0; at < shapes.size(); ++at) {
        const int extra = at + 1 == shapes.size() ? bottom_vectors : 0;
        s.levels.push_back(
            std::make_unique<level>(ranks, array::box_layout(shapes[at], ranks.size()), layout.grid().high, what, exchange, extra));
        if (at > 0) s.transfers.push_back(std::make_unique<level_transfer>(*s.levels[at - 1], *s.levels[at]));
    }
    // Where coarse cells are not made of eight cubes, pieces of constants are too coarse a correction.
    const bool stretched = s.levels[0]->stretch(0) != 1 || s.levels[0]->stretch(1) != 1 || s.levels[0]->stretch(2) != 1;
    const bool uneven = std::ranges::any_of(s.transfers, [](const auto& each) { return each->uneven(); });
    if ((stretched || uneven) && s.how.in_v_cycle.reach == 0) s.how.in_v_cycle = linear_prolongation();
    put_beta(*s.levels[0], what);
    put_alpha(*s.levels[0], what);
    for (std::size_t at = 0; at < s.levels.size(); ++at) {
        s.levels[at]->fill_coefficient_ghosts();
        if (at < s.transfers.size()) s.transfers[at]->restrict_coefficients();
        s.levels[at]->prepare();
    }
    put_right_hand_side(*s.levels[0], what); // preparing used its room
    s.take_boundary(what);
    s.take_mean_of_right_hand_side();
}

solver::solver(solver&&) noexcept = default;
solver::~solver() = default;

runtime::world& solver::ranks() const noexcept { return state_->levels[0]->grid().ranks(); }
int solver::levels() const noexcept { return static_cast<int>(state_->levels.size()); }
const array::box_layout& solver::layout(int at) const { return state_->levels.at(static_cast<std::size_t>(at))->layout(); }
bool solver::singular() const noexcept { return state_->singular; }
double solver::largest_right_hand_side() const noexcept { return state_->scale; }
std::size_t solver::own_cells() const { return multigrid::own_cells(*state_->levels[0]); }

void solver::set_right_hand_side(std::span<const double> f, const side_values& on_boundary) {
    state_->with_own_f = 1;
    put_right_hand_side(*state_->levels[0], f);
    state_->take_boundary(on_boundary);
    state_->take_mean_of_right_hand_side();
}

convergence solver::solve(double tolerance, int most_cycles, const progress& each) {
    check_steps(tolerance, most_cycles);
    f_cycle();
    convergence found{{relative_residual()}};
    if (each) each(0, found.residuals.back());
    for (int cycle = 0; cycle < most_cycles && found.residuals.back() > tolerance; ++cycle) {
        v_cycle();
        found.residuals.push_back(relative_residual());
        if (each) each(cycle + 1, found.residuals.back());
    }
    found.converged = found.residuals.back() <= tolerance;
    return found;
}

convergence solver::solve_by_conjugate_gradients(double tolerance, int most_steps, const progress& each) {
    check_steps(tolerance, most_steps);
    f_cycle();
    std::vector<double> f(own_cells());
    copy_from(*state_->levels[0], f_vector, f);
    std::vector<double> u = solution();
    convergence found = conjugate_gradients(*this, f, u, tolerance, most_steps, each);
    copy_to(*state_->levels[0], u_vector, u);
    if (singular()) remove_mean(*state_->levels[0], u_vector);
    return found;
}

void solver::v_cycle() {
    state_->with_own_f = 1;
    state_->v_cycle(0);
    if (singular()) remove_mean(*state_->levels[0], u_vector);
}

void solver::apply(std::span<const double> u, std::span<double> image) {
    level& finest = *state_->levels[0];
    copy_to(finest, u_vector, u);
    finest.apply(u_vector, scratch_vector);
    copy_from(finest, scratch_vector, image);
}

void solver::precondition(std::span<const double> r, std::span<double> z) {
    level& finest = *state_->levels[0];
    std::vector<double> f(own_cells());
    copy_from(finest, f_vector, f);
    copy_to(finest, f_vector, r);
    if (singular()) remove_mean(finest, f_vector);
    finest.set(u_vector, 0);
    v_cycle();
    copy_from(finest, u_vector, z);
    copy_to(finest, f_vector, f);
}

void solver::f_cycle(int first) {
    auto& levels = state_->levels;
    for (std::size_t at = state_->with_own_f; at < levels.size(); ++at)
        state_->transfers[at - 1]->restrict_cells(f_vector, f_vector);
    state_->with_own_f = static_cast<std::size_t>(first) + 1;
    levels.back()->set(u_vector, 0);
    solve_bottom(*levels.back(), u_vector, f_vector, singular());
    for (std::size_t at = levels.size() - 1; at-- > static_cast<std::size_t>(first);) {
        state_->transfers[at]->prolong(u_vector, state_->how.in_f_cycle, 0, u_vector);
        state_->v_cycle(at);
    }
    if (singular()) remove_mean(*levels[static_cast<std::size_t>(first)], u_vector);
}

double solver::residual_norm(int at) {
    level& here = *state_->levels[static_cast<std::size_t>(at)];
    here.residual(u_vector, f_vector, scratch_vector);
    return here.max_norm(scratch_vector);
}

double solver::relative_residual(int at) {
    const double residual = residual_norm(at);
    const double largest = at == 0 ? state_->scale : state_->levels[static_cast<std::size_t>(at)]->max_norm(f_vector);
    return largest == 0 ? residual : residual / largest;
}

solver::richardson_estimate solver::richardson() {
    constexpr int needed = 3;
    if (levels() < needed)
        throw user_error(fmt::format("multigrid: Richardson's estimate from {} levels; allowed: at least 3", levels()));
    // u_h first: cycles of coarser levels leave u of finer ones alone, but not the other way round.
    std::array<double, 2> errors{};
    for (std::size_t fine = 0; fine < 2; ++fine) {
        level& coarse = *state_->levels[fine + 1];
        f_cycle(static_cast<int>(fine));
        f_cycle(static_cast<int>(fine) + 1);
        state_->transfers[fine]->restrict_cells(u_vector, scratch_vector);
        coarse.combine(1, u_vector, -1, scratch_vector, scratch_vector);
        errors[fine] = coarse.max_norm(scratch_vector);
    }
    return {errors[0], std::log2(errors[1] / errors[0])};
}

void solver::record_times(bool on) {
    auto& s = *state_;
    s.times.reset();
    if (on) s.times.emplace(levels());
    for (int at = 0; at < levels(); ++at) s.levels[static_cast<std::size_t>(at)]->record(on ? &*s.times : nullptr, at);
}

phase_times solver::longest_times() const {
    phase_times longest(levels());
    ranks().barrier(); // polls, before reductions that do not
    for (int at = 0; at < levels(); ++at) {
        for (const auto each : phases)
            longest.seconds(at, each) = ranks().communicator().maximum(state_->times ? state_->times->seconds(at, each) : 0.0);
    }
    return longest;
}

std::vector<double> solver::solution() const {
    std::vector<double> values(own_cells());
    copy_from(*state_->levels[0], u_vector, values);
    return values;
}

} // namespace craton::multigrid
