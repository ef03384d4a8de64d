#include "work_plan.hpp"

#include <algorithm>

namespace craton::waves {

namespace {

constexpr std::int64_t fewest_planes = 16; // of a piece, lest the two planes before and after it be read again too often
constexpr int pieces_per_thread = 8;

// In columns of `rows` rows, cut along z as long as there are too few of them.
void cut_into(std::vector<cell_range>& pieces, const cell_range& cells, std::int64_t rows, int threads) {
    if (cells.empty()) return;
    const std::int64_t columns = (cells.j1 - cells.j0 + rows - 1) / rows;
    const std::int64_t planes = cells.k1 - cells.k0;
    const std::int64_t wanted = (static_cast<std::int64_t>(threads) * pieces_per_thread + columns - 1) / columns;
    const std::int64_t along_z = threads == 1 ? 1 : std::clamp<std::int64_t>(planes / fewest_planes, 1, wanted);
    for (std::int64_t z = 0; z < along_z; ++z) {
        for (std::int64_t c = 0; c < columns; ++c) {
            auto piece = cells;
            piece.j0 = cells.j0 + c * (cells.j1 - cells.j0) / columns;
            piece.j1 = cells.j0 + (c + 1) * (cells.j1 - cells.j0) / columns;
            piece.k0 = cells.k0 + z * planes / along_z;
            piece.k1 = cells.k0 + (z + 1) * planes / along_z;
            pieces.push_back(piece);
        }
    }
}

} // namespace

work_plan cut(const brick_shape& shape, const neighbour_sides& neighbours, std::int64_t rows, int threads) {
    work_plan found;
    cell_range rest{0, shape.nx, 0, shape.ny, 0, shape.nz};
    // Slabs along z, then y, then x, each of what those before have left.
    const auto take = [&](std::int64_t cell_range::* from, std::int64_t cell_range::* to, std::size_t axis) {
        const std::int64_t low = rest.*from, high = rest.*to;
        const std::int64_t first = neighbours.low[axis] ? std::min(low + halo, high) : low;
        const std::int64_t last = neighbours.high[axis] ? std::max(high - halo, first) : high;
        auto slab = rest;
        slab.*to = first;
        cut_into(found.outer, slab, rows, threads);
        slab = rest;
        slab.*from = last;
        cut_into(found.outer, slab, rows, threads);
        rest.*from = first;
        rest.*to = last;
    };
    take(&cell_range::k0, &cell_range::k1, 2);
    take(&cell_range::j0, &cell_range::j1, 1);
    take(&cell_range::i0, &cell_range::i1, 0);
    cut_into(found.inner, rest, rows, threads);
    return found;
}

} // namespace craton::waves
