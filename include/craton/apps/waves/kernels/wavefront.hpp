#pragma once

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace craton::waves {

// Velocity and stress of one step in one passage through memory. Two sweeps of the whole grid fetch 48 + 56 bytes of a cell (and write
// 12 + 24); a core waits for what it fetches, what it writes costs little. Here a block of rows goes down the planes, stress two planes
// behind velocity and, where blocks meet, two rows: what one has fetched or written is still in the core's second-level cache when the
// other needs it, and 68 bytes of an elastic cell are fetched (100 rather than 136 of an anelastic one).

/// Cells that go down the planes together.
struct wavefront_block {
    std::int64_t columns = 0, rows = 0;

    /// What is between the two updates, about 65 planes of a block, stays within 1.25 MB of second-level cache: smaller blocks
    /// fetch more rows where they meet. Long rows are read fastest.
    [[nodiscard]] static constexpr wavefront_block of(const brick_shape& shape) {
        const std::int64_t parts = std::max<std::int64_t>(1, (shape.nx + 255) / 512);
        const std::int64_t columns = (shape.nx + parts - 1) / parts;
        return {columns, std::max<std::int64_t>(4, 4800 / (columns + 8))};
    }
};

/// One part of a step: new velocities of some cells and new stresses of some.
struct wavefront {
    cell_range velocity, stress;

    /// Calls update_velocity(range) and update_stress(range), which do the work on the calling thread, until all cells are done, block
    /// after block. Velocity is always computed from old stresses, stress from new velocities. `surface`: plane 0 is the free surface,
    /// whose closure reaches further. Throws what the two do.
    template <class Velocity, class Stress>
    void run(const wavefront_block& block, bool surface, const Velocity& update_velocity, const Stress& update_stress) const;

  private:
    struct extent {
        std::int64_t first = 0, last = 0;
    };
    struct piece {
        extent velocity, stress;
    };

    static std::int64_t pieces(extent whole, std::int64_t size) {
        return std::max<std::int64_t>(1, (std::max<std::int64_t>(0, whole.last - whole.first) + size / 2) / size);
    }
    // Piece n of `count` along one axis, cut at multiples of `unit`. Where another piece follows stress ends `lag` cells before velocity.
    static piece cut(const piece& whole, std::int64_t n, std::int64_t count, std::int64_t unit, std::int64_t lag);
    // One block.
    template <class Velocity, class Stress>
    static void run_down(const cell_range& v, const cell_range& s, bool surface, const Velocity& update_velocity,
                         const Stress& update_stress);
};

/// Parts that may run at the same time, and the stresses that are left for when all parts are done (in any order, also at the same time).
struct wavefront_plan {
    std::vector<wavefront> parts;
    std::vector<cell_range> between; ///< stress of four rows at each cut
};

/// Cuts the rows of `velocity` into at most `parts` equal parts of at least 8 rows. Every velocity within two cells of `stress` along
/// an axis must be among `velocity`, or be new already, or lie outside the grid; every velocity that needs an old stress of `stress`
/// must be among `velocity` or be new already. So with a neighbour across a face the velocities of its two layers of cells come first
/// (and travel), then the plan, for stress without these two layers, then, with the neighbour's velocities, those layers' stress.
/// Memory traffic prefers few parts: one or two per thread.
wavefront_plan plan_wavefronts(const cell_range& velocity, const cell_range& stress, std::int64_t parts);

inline wavefront::piece wavefront::cut(const piece& whole, std::int64_t n, std::int64_t count, std::int64_t unit,
                                       std::int64_t lag) {
    const extent& v = whole.velocity;
    const extent& s = whole.stress;
    const auto at = [&](std::int64_t number) {
        return std::max(v.first, (v.first + (v.last - v.first) * number / count) / unit * unit);
    };
    const auto behind = [&](std::int64_t number) { return std::min(std::max(at(number) - lag, s.first), s.last); };
    const bool ends = n + 1 == count;
    return {{n == 0 ? v.first : at(n), ends ? v.last : at(n + 1)}, {n == 0 ? s.first : behind(n), ends ? s.last : behind(n + 1)}};
}

template <class Velocity, class Stress>
void wavefront::run(const wavefront_block& block, bool surface, const Velocity& update_velocity,
                    const Stress& update_stress) const {
    const piece along_x{{velocity.i0, velocity.i1}, {stress.i0, stress.i1}};
    const piece along_y{{velocity.j0, velocity.j1}, {stress.j0, stress.j1}};
    const std::int64_t in_x = pieces(along_x.velocity, block.columns);
    const std::int64_t in_y = pieces(along_y.velocity, block.rows);
    const std::int64_t line = 16; // floats: vectors begin where cache lines do
    for (std::int64_t b = 0; b < in_y; ++b) {
        const piece y = cut(along_y, b, in_y, 1, halo);
        for (std::int64_t a = 0; a < in_x; ++a) {
            const piece x = cut(along_x, a, in_x, line, line);
            run_down({x.velocity.first, x.velocity.last, y.velocity.first, y.velocity.last, velocity.k0, velocity.k1},
                     {x.stress.first, x.stress.last, y.stress.first, y.stress.last, stress.k0, stress.k1}, surface, update_velocity,
                     update_stress);
        }
    }
}

template <class Velocity, class Stress>
void wavefront::run_down(const cell_range& v, const cell_range& s, bool surface, const Velocity& update_velocity,
                         const Stress& update_stress) {
    const auto planes = [](cell_range of, std::int64_t from, std::int64_t to, const auto& update) {
        of.k0 = std::max(of.k0, from);
        of.k1 = std::min(of.k1, to);
        if (!of.empty()) update(of);
    };
    std::int64_t v_done = std::min(v.k0, s.k0);
    std::int64_t s_done = v_done;
    // At a surface the first planes of either need the first `width` of the other.
    std::int64_t to = surface ? std::max<std::int64_t>(surface_closure::width, v_done + 1) : v_done + 1;
    for (bool all = false; !all; ++to) {
        all = to >= v.k1;
        const std::int64_t s_to = all ? s.k1 : to - halo;
        planes(v, v_done, to, update_velocity);
        planes(s, s_done, s_to, update_stress);
        v_done = to;
        s_done = std::max(s_done, s_to);
    }
}

} // namespace craton::waves
