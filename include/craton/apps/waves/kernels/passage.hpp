#pragma once

#include <craton/apps/waves/kernels/wavefront.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace craton::waves {

// Several steps in one passage through memory. A block of rows and planes takes one step after another, each by wavefronts
// (wavefront.hpp), while its fields are in the last-level cache; then the next block follows. Memory is gone through once for all
// steps. Each half of a step lies two planes and two rows before the half that it follows: what it reads there is new, and what it
// writes nobody needs any more.
//
// Beside a neighbour a half needs what the neighbour's half before has given. There each half stops two cells earlier than the one
// before (`reached`). What is left, a shell of the brick, is done afterwards half by half, with an exchange of halos after each.
// No cell is computed twice, and the halos are as deep as for single steps.

/// Sides of a brick, by axis (x, y, z): those that have a neighbour.
struct brick_sides {
    std::array<bool, 3> low{}, high{};

    /// Whether no side has a neighbour.
    [[nodiscard]] bool none() const { return std::ranges::count(low, true) + std::ranges::count(high, true) == 0; }
};

/// How many steps share a passage, and the blocks of rows and planes that take them.
struct passage {
    std::int64_t steps = 1, rows = 0, planes = 0;
};

/// The most steps of a passage.
inline constexpr std::int64_t most_steps_together = 8;

/// A passage of about the least time for a brick whose threads have so much of the last-level cache to themselves. More steps fetch
/// each cell less often. They also make blocks thinner, which fetches the rows between blocks more often, and shells thicker. One
/// step where the brick fits into what is used of the cache (three quarters, 24 MiB for each thread at most), or no block does.
[[nodiscard]] passage choose_passage(const brick_shape& shape, bool anelastic, const brick_sides& neighbours,
                                     std::int64_t cache_bytes, std::int64_t threads, std::int64_t most_steps = most_steps_together);

namespace detail {

/// One axis of a passage.
struct passage_axis {
    std::int64_t first, last, count;
    bool low, high;    // where there is a neighbour
    std::int64_t wide; // cells from `first` on that a half takes together, or none of them

    static passage_axis of(std::int64_t first, std::int64_t last, std::int64_t block, bool low, bool high, std::int64_t wide) {
        return {first, last, std::max<std::int64_t>(1, (last - first + block / 2) / block), low, high, wide};
    }
    // Where block n begins, in a half; block `count` is the end.
    [[nodiscard]] std::int64_t begin(std::int64_t n, std::int64_t half) const {
        const std::int64_t lowest = std::min(last, first + (low ? half * halo : 0));
        const std::int64_t highest = std::max(lowest, last - (high ? half * halo : 0));
        const std::int64_t at = first + (last - first) * n / count - half * halo;
        const std::int64_t found = n == 0 ? lowest : n == count ? highest : std::clamp(at, lowest, highest);
        return found < first + wide ? lowest : found;
    }
};

/// The axes of a passage. A closure at the surface reads and writes its planes together.
struct passage_axes {
    passage_axis x, y, z;

    passage_axes(const cell_range& all, const brick_sides& neighbours, bool surface, const passage& blocks)
        : x(passage_axis::of(all.i0, all.i1, all.i1 - all.i0 + 1, neighbours.low[0], neighbours.high[0], 0)),
          y(passage_axis::of(all.j0, all.j1, blocks.rows, neighbours.low[1], neighbours.high[1], 0)),
          z(passage_axis::of(all.k0, all.k1, blocks.planes, neighbours.low[2], neighbours.high[2],
                             surface ? std::min<std::int64_t>(surface_closure::width, all.k1 - all.k0) : 0)) {}

    // Of blocks b0 <= b < b1 along y, c0 <= c < c1 along z.
    [[nodiscard]] cell_range cells(std::int64_t half, std::int64_t b0, std::int64_t b1, std::int64_t c0, std::int64_t c1) const {
        return {x.begin(0, half), x.begin(1, half), y.begin(b0, half), y.begin(b1, half), z.begin(c0, half), z.begin(c1, half)};
    }
};

} // namespace detail

/// The cells that a half of a passage reaches: velocities of step half / 2 where half is even, else stresses.
[[nodiscard]] inline cell_range reached(const cell_range& all, const brick_sides& neighbours, bool surface, std::int64_t half) {
    const detail::passage_axes axes(all, neighbours, surface, {1, all.j1 - all.j0 + 1, all.k1 - all.k0 + 1});
    return axes.cells(half, 0, 1, 0, 1);
}

/// Slabs that make up `all` without `inner`: across z, then what is left across y, then across x.
[[nodiscard]] std::vector<cell_range> shell_of(const cell_range& all, const cell_range& inner);

/// Calls take(step, wavefront), which does the work, block by block and in each for the steps 0 <= step < blocks.steps. The ghosts
/// of stress must be those before the first step. `surface`: plane 0 is the free surface; there must be surface_closure::width
/// planes. Throws what take does.
template <class Take>
void steps_together(const cell_range& all, const brick_sides& neighbours, bool surface, const passage& blocks, const Take& take) {
    if (all.empty()) return;
    const detail::passage_axes axes(all, neighbours, surface, blocks);
    for (std::int64_t b = 0; b < axes.y.count; ++b) {
        for (std::int64_t c = 0; c < axes.z.count; ++c) {
            for (std::int64_t n = 0; n < blocks.steps; ++n) {
                const wavefront part{axes.cells(2 * n, b, b + 1, c, c + 1), axes.cells(2 * n + 1, b, b + 1, c, c + 1)};
                if (!part.velocity.empty() || !part.stress.empty()) take(n, part);
            }
        }
    }
}

} // namespace craton::waves
