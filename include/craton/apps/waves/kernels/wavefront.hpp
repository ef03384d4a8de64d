#pragma once

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace craton::waves {

// Velocity and stress of one step in one passage through memory. Two sweeps of the whole grid fetch 42 + 46 bytes of a cell (and
// write 12 + 24); a core waits for what it fetches, what it writes costs little. Here a block of rows goes down the planes, stress
// two planes behind velocity and, where blocks meet, two rows: what one has fetched or written is still in the core's second-level
// cache when the other needs it, and 52 bytes of an elastic cell are fetched (80 rather than 116 of an anelastic one).

/// Cells that go down the planes together.
struct wavefront_block {
    std::int64_t columns = 0, rows = 0;

    /// What is between the two updates, about 65 planes of a block, stays within 1.1 MB of second-level cache, 0.9 MB where memory
    /// variables pass through it too: a model of a cache of 2 MB fetches 9 bytes more than these of an elastic cell then, 12 of an
    /// anelastic one, and little more if a quarter of it is not to be had. Smaller blocks fetch more rows where they meet. Long
    /// rows are read fastest.
    [[nodiscard]] static constexpr wavefront_block of(const brick_shape& shape, bool anelastic) {
        const std::int64_t parts = std::max<std::int64_t>(1, (shape.nx + 255) / 512);
        const std::int64_t columns = (shape.nx + parts - 1) / parts;
        return {columns, std::max<std::int64_t>(4, (anelastic ? 3400 : 4000) / (columns + 8))};
    }
    /// Blocks of about as many rows, as many for each of the threads that share so many rows.
    [[nodiscard]] wavefront_block shared(std::int64_t of_rows, std::int64_t threads) const {
        const std::int64_t each = std::max<std::int64_t>(1, (of_rows + rows * threads / 2) / (rows * threads));
        return {columns, std::max<std::int64_t>(4, (of_rows + each * threads - 1) / (each * threads))};
    }
};

/// One part of a step: new velocities of some cells and new stresses of some.
struct wavefront {
    cell_range velocity, stress;
};

/// The blocks of a wavefront: one thread goes through them from the first row to the last, or two go towards each other and meet
/// wherever they do. A thread whose core is slowed down for a while does fewer then, and nobody waits for it.
class wavefront_blocks {
  public:
    /// At which end a thread begins.
    enum class from { first_row, last_row };

    wavefront_blocks(const wavefront& part, const wavefront_block& block)
        : part_(part), block_(block), count_(pieces({part.velocity.j0, part.velocity.j1}, block.rows)) {}

    /// Calls update_velocity(range) and update_stress(range), which do the work on the calling thread, for block after block, until
    /// none is left to take. Velocity is always computed from old stresses, stress from new velocities. `surface`: plane 0 is the
    /// free surface, whose closure reaches further. To be called once for an end, for both at the same time or one after the other.
    /// Throws what the two do.
    template <class Velocity, class Stress>
    void run(from end, bool surface, const Velocity& update_velocity, const Stress& update_stress);

    /// The stresses that are left where two threads met, for when both have returned.
    [[nodiscard]] cell_range between() const {
        cell_range left = part_.stress;
        const bool met = upwards_ > 0 && upwards_ < count_;
        const std::int64_t cut = met ? at(along_y().velocity, upwards_, count_, 1) : left.j0;
        left.j0 = std::max(left.j0, met ? cut - halo : cut);
        left.j1 = std::min(left.j1, met ? cut + halo : cut);
        return left;
    }

  private:
    struct extent {
        std::int64_t first = 0, last = 0;
    };
    struct piece {
        extent velocity, stress;
    };

    [[nodiscard]] piece along_y() const { return {{part_.velocity.j0, part_.velocity.j1}, {part_.stress.j0, part_.stress.j1}}; }
    static std::int64_t pieces(extent whole, std::int64_t size) {
        return std::max<std::int64_t>(1, (std::max<std::int64_t>(0, whole.last - whole.first) + size / 2) / size);
    }
    // Where piece n of `count` begins, at a multiple of `unit`.
    static std::int64_t at(extent whole, std::int64_t n, std::int64_t count, std::int64_t unit) {
        return std::max(whole.first, (whole.first + (whole.last - whole.first) * n / count) / unit * unit);
    }
    // Piece n along one axis. Stress lies `lag` cells before velocity, but for the ends of the whole.
    static piece cut(const piece& whole, std::int64_t n, std::int64_t count, std::int64_t unit, std::int64_t lag) {
        const extent& v = whole.velocity;
        const extent& s = whole.stress;
        const auto behind = [&](std::int64_t number) { return std::clamp(at(v, number, count, unit) - lag, s.first, s.last); };
        const bool ends = n + 1 == count;
        return {{n == 0 ? v.first : at(v, n, count, unit), ends ? v.last : at(v, n + 1, count, unit)},
                {n == 0 ? s.first : behind(n), ends ? s.last : behind(n + 1)}};
    }
    // Cells of one block.
    template <class Velocity, class Stress>
    static void run_down(const cell_range& v, const cell_range& s, bool surface, const Velocity& update_velocity,
                         const Stress& update_stress);

    wavefront part_;
    wavefront_block block_;
    std::int64_t count_;
    std::int64_t upwards_ = 0; // blocks taken from the first row on: written by that thread alone
    std::atomic<std::int64_t> taken_{0};
};

/// Parts that may run at the same time, and the stresses that are left for when all parts are done (in any order, also at the same
/// time).
struct wavefront_plan {
    std::vector<wavefront> parts;
    std::vector<cell_range> between; ///< stress of four rows at each cut
};

/// Cuts the rows of `velocity` into at most `parts` equal parts of at least 8 rows. Every velocity within two cells of `stress`
/// along an axis must be among `velocity`, or be new already, or lie outside the grid; every velocity that needs an old stress of
/// `stress` must be among `velocity` or be new already. So with a neighbour across a face the velocities of its two layers of cells
/// come first (and travel), then the plan, for stress without these two layers, then, with the neighbour's velocities, those
/// layers' stress. Memory traffic prefers few parts: one or two per thread.
wavefront_plan plan_wavefronts(const cell_range& velocity, const cell_range& stress, std::int64_t parts);

/// Appends cells of stress that are left for later, cut so that threads share them.
void leave_for_later(cell_range rest, std::vector<cell_range>& later);

template <class Velocity, class Stress>
void wavefront_blocks::run(from end, bool surface, const Velocity& update_velocity, const Stress& update_stress) {
    const piece along_x{{part_.velocity.i0, part_.velocity.i1}, {part_.stress.i0, part_.stress.i1}};
    const std::int64_t in_x = pieces(along_x.velocity, block_.columns);
    const std::int64_t line = 16; // floats: vectors begin where cache lines do
    // Each takes from its own end on: as many as there are, and no block twice.
    for (std::int64_t own = 0; taken_.fetch_add(1, std::memory_order_relaxed) < count_; ++own) {
        const bool upwards = end == from::first_row;
        if (upwards) ++upwards_;
        // Stress is left for the next block: above it, or below.
        const piece y = cut(along_y(), upwards ? own : count_ - 1 - own, count_, 1, upwards ? halo : -halo);
        for (std::int64_t a = 0; a < in_x; ++a) {
            const piece x = cut(along_x, a, in_x, line, line);
            run_down({x.velocity.first, x.velocity.last, y.velocity.first, y.velocity.last, part_.velocity.k0, part_.velocity.k1},
                     {x.stress.first, x.stress.last, y.stress.first, y.stress.last, part_.stress.k0, part_.stress.k1}, surface,
                     update_velocity, update_stress);
        }
    }
}

template <class Velocity, class Stress>
void wavefront_blocks::run_down(const cell_range& v, const cell_range& s, bool surface, const Velocity& update_velocity,
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
