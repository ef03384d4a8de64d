#pragma once

#include <craton/apps/waves/kernels/passage.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace craton::waves {

/// The order in which half a step goes through a brick's cells.
struct work_plan {
    std::vector<cell_range> outer; ///< cells that a neighbour waits for or that read ghosts: first
    std::vector<cell_range> inner;
};

/// Outer cells lie within a halo of a side that has a neighbour, those beside a neighbour in x within
/// `width_x`. `shared`, [above, below]: sides z that are shared with another grid; within reach of what lies on them.
[[nodiscard]] work_plan plan_of(const brick_shape& shape, const brick_sides& neighbours, std::int64_t width_x,
                                const std::array<bool, 2>& shared = {});

/// Pieces for so many threads to take one by one. A piece has at most `rows` rows, so that the few planes of all fields that a
/// difference along z reads stay in the second-level cache while a thread works through it plane by plane.
[[nodiscard]] std::vector<cell_range> pieces_of(const cell_range& cells, std::int64_t rows, int threads);

} // namespace craton::waves
