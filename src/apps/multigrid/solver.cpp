#include <craton/apps/multigrid/solver.hpp>

#include "bottom_solver.hpp"
#include "level.hpp"
#include "level_transfer.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace craton::multigrid {

namespace {

constexpr std::int64_t smallest_box_to_halve = 16; // boxes of 8 are gathered while they can be

// The next coarser grid; nothing when there is none.
std::optional<array::box_layout::shape> coarser(const array::box_layout::shape& fine, std::int64_t coarsest) {
    const auto& boxes = fine.boxes;
    if (std::min({boxes[0], boxes[1], boxes[2]}) * fine.side <= coarsest) return {};
    auto next = fine;
    if (fine.side >= smallest_box_to_halve && fine.side % 2 == 0) {
        next.side /= 2;
    } else if (boxes[0] % 2 == 0 && boxes[1] % 2 == 0 && boxes[2] % 2 == 0 && fine.side % 2 == 0) {
        for (auto& each : next.boxes) each /= 2;
    } else if (fine.side % 2 == 0) {
        next.side /= 2;
    } else {
        return {};
    }
    return next;
}

} // namespace

struct solver::state {
    traits how;
    std::vector<std::unique_ptr<level>> levels;
    std::vector<std::unique_ptr<level_transfer>> transfers; // from a level to the next coarser one

    // Improves u of a level for its right-hand side. That of coarser levels is overwritten.
    void v_cycle(std::size_t at) {
        level& here = *levels[at];
        if (at + 1 == levels.size()) return solve_bottom(here, u_vector, f_vector);
        here.smooth(u_vector, f_vector);
        here.residual(u_vector, f_vector, scratch_vector);
        transfers[at]->restrict_cells(scratch_vector, f_vector);
        levels[at + 1]->set(u_vector, 0);
        v_cycle(at + 1);
        transfers[at]->prolong(u_vector, how.in_v_cycle, 1, u_vector);
        here.smooth(u_vector, f_vector, true);
    }
};

solver::solver(runtime::world& ranks, const array::box_layout& layout, const problem& what, array::exchange_step step)
    : state_(std::make_unique<state>()) {
    state_->how = traits_of(what.kind);
    if (layout.side() < 2) {
        throw user_error(fmt::format("multigrid: boxes of {} cells a side; allowed: at least 2", layout.side()));
    }
    std::vector<array::box_layout::shape> shapes{layout.what()};
    while (const auto next = coarser(shapes.back(), state_->how.coarsest)) shapes.push_back(*next);
    for (std::size_t at = 0; at < shapes.size(); ++at) {
        const int extra = at + 1 == shapes.size() ? bottom_vectors : 0;
        state_->levels.push_back(std::make_unique<level>(ranks, array::box_layout(shapes[at], ranks.size()), what, step, extra));
        if (at > 0) {
            state_->transfers.push_back(std::make_unique<level_transfer>(*state_->levels[at - 1], *state_->levels[at]));
        }
    }
    state_->levels[0]->evaluate(what);
    for (const auto& each : state_->transfers) each->restrict_beta();
    for (const auto& each : state_->levels) each->prepare();
    state_->levels[0]->evaluate(what); // preparing used its room for f
}

solver::solver(solver&&) noexcept = default;
solver::~solver() = default;

int solver::levels() const noexcept { return static_cast<int>(state_->levels.size()); }

void solver::f_cycle(int first) {
    auto& levels = state_->levels;
    // V-cycles overwrite the right-hand sides of coarser levels.
    for (std::size_t at = 0; at + 1 < levels.size(); ++at) state_->transfers[at]->restrict_cells(f_vector, f_vector);
    levels.back()->set(u_vector, 0);
    solve_bottom(*levels.back(), u_vector, f_vector);
    for (std::size_t at = levels.size() - 1; at-- > static_cast<std::size_t>(first);) {
        state_->transfers[at]->prolong(u_vector, state_->how.in_f_cycle, 0, u_vector);
        state_->v_cycle(at);
    }
}

double solver::residual_norm(int at) {
    level& here = *state_->levels[static_cast<std::size_t>(at)];
    here.residual(u_vector, f_vector, scratch_vector);
    return here.max_norm(scratch_vector);
}

double solver::relative_residual(int at) {
    const double residual = residual_norm(at);
    return residual / state_->levels[static_cast<std::size_t>(at)]->max_norm(f_vector);
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

std::vector<double> solver::solution() const {
    const level& finest = *state_->levels[0];
    const auto& shape = finest.shape();
    std::vector<double> values;
    for (const auto box : finest.own_boxes()) {
        const double* const u = finest.at(box, u_vector);
        for (std::int64_t k = 0; k < shape.side; ++k) {
            for (std::int64_t j = 0; j < shape.side; ++j) {
                const double* const row = u + j * shape.pitch + k * shape.plane;
                values.insert(values.end(), row, row + shape.side);
            }
        }
    }
    return values;
}

} // namespace craton::multigrid
