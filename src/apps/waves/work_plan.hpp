#pragma once

#include <craton/apps/waves/kernels/fields.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace craton::waves {

/// The order in which a pass goes through a brick's cells: pieces that threads take one by one, and that a thread works through plane by plane.
struct work_plan {
    std::vector<cell_range> outer; ///< cells that a neighbour waits for or that read ghosts: first
    std::vector<cell_range> inner;
};

/// Beside which sides there are neighbours: low and high in x, y, z.
struct neighbour_sides {
    std::array<bool, 3> low{}, high{};
};

/// A piece has at most `rows` rows, so that the few planes of all fields that a difference along z reads stay in the second-level cache, and goes
/// through enough planes that reading the first ones again costs little; there are at least some pieces per thread.
[[nodiscard]] work_plan cut(const brick_shape& shape, const neighbour_sides& neighbours, std::int64_t rows, int threads);

} // namespace craton::waves
