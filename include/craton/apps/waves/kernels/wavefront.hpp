#pragma once

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace craton::waves {

// Velocity and stress of one step in one passage through memory. Two sweeps of the whole grid fetch 48 + 56 bytes of a cell (and write 12 + 24); a core waits for what it fetches,
// what it writes costs little. Here a block of rows goes down the planes, stress two planes behind velocity and, where blocks meet, two rows: what one has fetched or written is still
// in the core's second-level cache when the other needs it, and 68 bytes of an elastic cell are fetched (100 rather than 136 of an anelastic one).

/// One part of a step: new velocities of some cells and new stresses of some.
struct wavefront {
    cell_range velocity, stress;

    /// Calls update_velocity(range) and update_stress(range), which do the work on the calling thread, until all cells are done, blocks of about `rows` rows after each other. Velocity
    /// is always computed from old stresses, stress from new velocities. `surface`: plane 0 is the free surface, whose closure reaches further. Throws what the two do.
    template <class Velocity, class Stress>
    void run(std::int64_t rows, bool surface, const Velocity& update_velocity, const Stress& update_stress) const;

  private:
    // Rows of one block.
    template <class Velocity, class Stress>
    static void run_down(const cell_range& v, const cell_range& s, bool surface, const Velocity& update_velocity,
                         const Stress& update_stress);
};

/// Parts that may run at the same time, and the stresses that are left for when all parts are done (in any order, also at the same time).
struct wavefront_plan {
    std::vector<wavefront> parts;
    std::vector<cell_range> between; ///< stress of four rows at each cut
};

/// Cuts the rows of `velocity` into at most `parts` equal parts of at least 8 rows. Every velocity within two cells of `stress` along an axis must be among `velocity`, or be new
/// already, or lie outside the grid; every velocity that needs an old stress of `stress` must be among `velocity` or be new already. So with a neighbour across a face the velocities of
/// its two layers of cells come first (and travel), then the plan, for stress without these two layers, then, with the neighbour's velocities, those layers' stress.
/// Memory traffic prefers few parts: one or two per thread.
wavefront_plan plan_wavefronts(const cell_range& velocity, const cell_range& stress, std::int64_t parts);

/// Rows of a block such that what is between the two updates, about 65 planes of the rows, stays within 1.25 MB of cache.
[[nodiscard]] constexpr std::int64_t wavefront_rows(const brick_shape& shape) {
    return std::max<std::int64_t>(8, 4800 / std::max<std::int64_t>(1, shape.pitch));
}

template <class Velocity, class Stress>
void wavefront::run(std::int64_t rows, bool surface, const Velocity& update_velocity, const Stress& update_stress) const {
    const std::int64_t height = std::max<std::int64_t>(0, velocity.j1 - velocity.j0);
    const std::int64_t blocks = std::max<std::int64_t>(1, (height + rows / 2) / rows);
    for (std::int64_t b = 0; b < blocks; ++b) {
        cell_range v = velocity;
        cell_range s = stress;
        v.j0 = velocity.j0 + height * b / blocks;
        v.j1 = velocity.j0 + height * (b + 1) / blocks;
        if (b > 0) s.j0 = std::clamp(v.j0 - halo, stress.j0, stress.j1);
        if (b + 1 < blocks) s.j1 = std::clamp(v.j1 - halo, stress.j0, stress.j1);
        run_down(v, s, surface, update_velocity, update_stress);
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
