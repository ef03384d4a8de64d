#include <craton/array/brick_layout.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace craton::array {

namespace {

constexpr const char* axis_name[] = {"x", "y", "z"};

std::string in_words(const index3& numbers) { return fmt::format("{} x {} x {}", numbers[0], numbers[1], numbers[2]); }

constexpr index3 any_cell{1, 1, 1};

// "" or why a grid cannot be cut so, at multiples of `in` cells. The thinnest of n cells on p bricks has floor(n / p).
std::string why_not(const index3& cells, const index3& processes, const index3& in = any_cell) {
    for (std::size_t d = 0; d < 3; ++d) {
        if (in[d] < 1 || cells[d] % in[d] != 0)
            return fmt::format("{} cells along {} cut at multiples of {}; allowed: a multiple of that", cells[d], axis_name[d],
                               in[d]);
        if (processes[d] < 1 || cells[d] / in[d] / processes[d] * in[d] < thinnest_brick) {
            return fmt::format("{} cells along {} on {} bricks; allowed: 1 brick or more, each of at least {} cells", cells[d],
                               axis_name[d], processes[d], thinnest_brick);
        }
    }
    return {};
}

// Cells on the faces between bricks, of the whole grid.
std::int64_t cut_cells(const index3& cells, const index3& processes) {
    return (processes[0] - 1) * cells[1] * cells[2] + (processes[1] - 1) * cells[0] * cells[2] +
           (processes[2] - 1) * cells[0] * cells[1];
}

// Throws user_error unless a grid can be cut so.
void check(const index3& cells, const index3& processes, const index3& in) {
    if (const auto failure = why_not(cells, processes, in); !failure.empty()) throw user_error("brick layout: " + failure);
    const double bricks = static_cast<double>(processes[0]) * static_cast<double>(processes[1]) * static_cast<double>(processes[2]);
    if (bricks > std::numeric_limits<std::int32_t>::max()) {
        throw user_error(fmt::format("brick layout: {} bricks; allowed: fewer than 2^31 in all", in_words(processes)));
    }
}

grid_layout::boundaries cuts_of(const index3& cells, const index3& processes, const index3& in) {
    grid_layout::boundaries cuts;
    for (std::size_t d = 0; d < 3; ++d) {
        for (std::int64_t p = 0; p <= processes[d]; ++p) cuts[d].push_back(cells[d] / in[d] * p / processes[d] * in[d]);
    }
    return cuts;
}

// Throws user_error unless each brick is there once.
std::vector<std::int32_t> checked(const std::vector<int>& brick_of_rank, const index3& processes) {
    if (brick_of_rank.empty()) return {};
    const std::int64_t ranks = processes[0] * processes[1] * processes[2];
    if (std::ssize(brick_of_rank) != ranks) {
        throw user_error(fmt::format("brick layout: bricks of {} ranks are given; allowed: those of all {} ranks, or none",
                                     brick_of_rank.size(), ranks));
    }
    std::vector<bool> there(brick_of_rank.size());
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const int brick = brick_of_rank[static_cast<std::size_t>(rank)];
        if (brick < 0 || brick >= ranks || there[static_cast<std::size_t>(brick)]) {
            throw user_error(
                fmt::format("brick layout: rank {} is given brick {}; allowed: each of 0 to {} once", rank, brick, ranks - 1));
        }
        there[static_cast<std::size_t>(brick)] = true;
    }
    return {brick_of_rank.begin(), brick_of_rank.end()};
}

} // namespace

index3 best_process_grid(const index3& cells, int ranks, const index3& fixed) {
    const auto fits = [&](std::size_t d, std::int64_t count) { return fixed[d] == 0 || fixed[d] == count; };
    std::optional<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>> best; // cut cells, then px, py, pz
    bool any = false;
    for (std::int64_t px = 1; px <= ranks; ++px) {
        if (ranks % px != 0 || !fits(0, px)) continue;
        for (std::int64_t py = 1; py <= ranks / px; ++py) {
            const std::int64_t pz = ranks / px / py;
            if (ranks / px % py != 0 || !fits(1, py) || !fits(2, pz)) continue;
            any = true;
            if (!why_not(cells, {px, py, pz}).empty()) continue;
            const std::tuple candidate{cut_cells(cells, {px, py, pz}), px, py, pz};
            if (!best || candidate < *best) best = candidate;
        }
    }
    if (!any) {
        throw user_error(fmt::format("bricks: {} of them asked for (0: free) on {} ranks; allowed: numbers of at least 1 whose "
                                     "product is the number of ranks",
                                     in_words(fixed), ranks));
    }
    if (!best) {
        throw user_error(fmt::format("bricks: {} cells on {} ranks, {} bricks asked for (0: free), make bricks thinner than {} "
                                     "cells; allowed: fewer ranks, or "
                                     "a larger grid",
                                     in_words(cells), ranks, in_words(fixed), thinnest_brick));
    }
    return {std::get<1>(*best), std::get<2>(*best), std::get<3>(*best)};
}

brick_layout::brick_layout(const index3& cells, const index3& processes, const std::vector<int>& brick_of_rank, const index3& in)
    : grid_layout{(check(cells, processes, in), cuts_of(cells, processes, in)),
                  {},
                  static_cast<int>(processes[0] * processes[1] * processes[2]),
                  {},
                  checked(brick_of_rank, processes)} {} // in braces: checked first

int brick_layout::rank_of(int brick) const {
    const index3 along = processes();
    return static_cast<int>(block_at({brick % along[0], brick / along[0] % along[1], brick / (along[0] * along[1])}));
}

int brick_layout::rank_beside(int rank, int axis, int side) const {
    index3 towards{};
    towards[static_cast<std::size_t>(axis)] = side;
    return static_cast<int>(beside(rank, towards).block);
}

std::int64_t brick_layout::face_cells(int rank, int axis) const {
    const domain own = cells(rank);
    return own.cells() / own.extent(static_cast<std::size_t>(axis));
}

} // namespace craton::array
