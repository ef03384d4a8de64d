#pragma once

#include <craton/array/brick_grid.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/notified_copies.hpp>
#include <craton/runtime/world.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace craton::array {

/// Ghost planes that are wanted of an array along an axis (0, 1, 2: x, y, z): so many below the brick's first plane, and so many above its
/// last.
struct brick_halo {
    int array = 0, axis = 0;
    int low = 0, high = 0;
    friend constexpr bool operator==(const brick_halo&, const brick_halo&) = default;
};

/// The rounds of copies that several exchanges among the same ranks take in turn.
class brick_rounds {
  public:
    /// Collective.
    explicit brick_rounds(runtime::world& ranks) : copies_(ranks) {}

  private:
    template <class T> friend class brick_exchange;
    runtime::notified_copies copies_;
    std::vector<int> neighbours_; // of whoever took a turn first
    const void* last_ = nullptr;  // whose round it was
    bool under_way_ = false;
};

/// Fills ghost planes of a set of arrays from the bricks beside them: faces only, no edges or corners; ghosts outside the grid stay as they
/// are.
///
/// begin() copies this rank's boundary planes into its neighbours' ghosts, finish() waits for what they copy into this rank's. In between
/// the rank computes what needs no ghosts of this set. On a node a copy is a store into the neighbour's memory; nobody asks first whether
/// it may be written, because sets that take turns answer that by themselves. Rules, on every rank:
///   1. all sets that share rounds belong to grids of one layout, and every rank calls their rounds in the same order: begin(), then
///      finish(), then the next round;
///   2. what reads the ghosts that a round filled reads them after its finish() and before the begin() of the next round, of whatever set;
///   3. no set has two rounds running (fill() is free of this).
/// For a leapfrog: compute the outer velocities (they read ghosts of the stresses), begin() the velocities, inner velocities, finish();
/// outer stresses (they read ghosts of the velocities), begin() the stresses, inner stresses, finish(); and so on.
///
/// Why nothing is overwritten that is still read. In every round each rank sends something to each of its neighbours, be it one element
/// that says no more than that. Let rank A begin round n of set S, and so write the ghosts of S of its neighbour B. They were last filled
/// in round m; by rule 3 round n - 1 was another set's, so m <= n - 2. A has finished round n - 1: it has what B sent in that round, so B
/// had begun round n - 1. By rule 2 B read the ghosts of round m before it began round m + 1 <= n - 1, and does not read them again before
/// it finishes round n. So B is done with them. Ghosts of a set that has not been filled yet and that are read as they were made (zero, or
/// what the rank has put there) are no different: B read them before it began round n - 1.
/// Only round 0 has none before it. There, either
/// nobody has read or written ghosts of its set since the grid was made (which ends with a barrier), or a world::barrier() comes after that
/// and before begin(), or it is a fill(). What a rank itself writes into its ghosts counts as a reading in all this. A rank's own planes
/// are read in begin(), which is done with them when it returns. A rank is never more than one round ahead of a neighbour, as
/// notified_copies demands: to begin round n + 1 it must have finished round n, for which each neighbour has begun round n.
template <class T> class brick_exchange {
  public:
    /// Collective. `wanted`: the same on every rank, each array and axis once at most. `team` shares the copies. `rounds`: of the sets that
    /// this one takes turns with; null: its own. The grid and the team must outlive it. Throws user_error on every rank when an array, axis
    /// or depth does not exist in the grid, a pair comes twice, or ranks want different planes.
    brick_exchange(const brick_grid<T>& grid, std::vector<brick_halo> wanted, base::thread_team* team = nullptr,
                   std::shared_ptr<brick_rounds> rounds = nullptr);

    /// Starts this rank's copies of a round. Not blocking, but that on a node copies are done on return; off it they have been packed.
    void begin();
    /// Blocking, polls: the neighbours' planes of this round are in this rank's ghosts when it returns.
    void finish();
    /// Collective, blocking, polls: a round at any time between others, whatever was read or written before.
    void fill();

    [[nodiscard]] const std::shared_ptr<brick_rounds>& rounds() const noexcept { return rounds_; }
    [[nodiscard]] const std::vector<brick_halo>& wanted() const noexcept { return wanted_; }
    /// Bytes that this rank sends in a round, those on its node included.
    [[nodiscard]] std::int64_t bytes_per_round() const noexcept;

  private:
    struct plane_copy {
        runtime::global_ptr<T> from, to;
        std::array<std::int64_t, 3> extents{}, from_strides{}, to_strides{}; // k slowest
    };
    struct arrival {
        int rank = -1;
        std::int64_t elements = 0;
    };

    void find_copies();
    void add_copy(const brick_halo& what, int side, int neighbour);
    void add_parts(const plane_copy& whole, int parts);

    const brick_grid<T>* grid_;
    std::vector<brick_halo> wanted_;
    base::thread_team* team_;
    std::shared_ptr<brick_rounds> rounds_;
    std::vector<plane_copy> copies_;
    std::vector<int> neighbours_;
    std::vector<arrival> arrivals_;
};

} // namespace craton::array
