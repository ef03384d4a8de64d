#include "work_plan.hpp"

#include <craton/apps/waves/kernels/differences.hpp>

#include <algorithm>
#include <cstddef>

namespace craton::waves {

work_plan plan_of(const brick_shape& shape, const brick_sides& neighbours, std::int64_t width_x,
                  const std::array<bool, 2>& shared) {
    cell_range inner{0, shape.nx, 0, shape.ny, 0, shape.nz};
    const cell_range all = inner;
    const auto leave = [&](std::int64_t cell_range::* from, std::int64_t cell_range::* to, std::size_t axis, std::int64_t width) {
        if (neighbours.low[axis]) inner.*from = std::min(inner.*from + width, inner.*to);
        if (neighbours.high[axis]) inner.*to = std::max(inner.*to - width, inner.*from);
    };
    leave(&cell_range::k0, &cell_range::k1, 2, halo);
    if (shared[0]) inner.k0 = std::min<std::int64_t>(surface_closure::planes, inner.k1);
    if (shared[1]) inner.k1 = std::max(shape.nz - surface_closure::planes, inner.k0);
    leave(&cell_range::j0, &cell_range::j1, 1, halo);
    leave(&cell_range::i0, &cell_range::i1, 0, width_x);
    work_plan found{shell_of(all, inner), {}};
    if (!inner.empty()) found.inner.push_back(inner);
    return found;
}

std::vector<cell_range> pieces_of(const cell_range& cells, std::int64_t rows, int threads) {
    constexpr std::int64_t fewest_planes = 16; // of a piece, lest the planes beside it be read again too often
    constexpr int pieces_per_thread = 8;
    std::vector<cell_range> pieces;
    if (cells.empty()) return pieces;
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
    return pieces;
}

} // namespace craton::waves
