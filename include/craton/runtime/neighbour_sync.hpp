#pragma once

#include <craton/runtime/arrival_counters.hpp>
#include <craton/runtime/by_rank.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <span>

namespace craton::runtime {

/// Synchronises a rank with the ranks that it names, and nobody else (Shan et al. 2015, IV-D): counters in shared memory on a node,
/// messages off it, no barrier. Lists may differ per rank: A may signal B without waiting for it, as long as every wait is met by a
/// signal.
///
/// Signals count: the n-th wait for a rank is met by the n-th signal of that rank, so a rank may run ahead and the object is used
/// again without end. A rank may stand in a list several times, and may be the caller. What a rank wrote to shared memory before it
/// signalled, and copies that it had completed (copy_handle::wait, rput), are there when the wait returns; messages sent before may
/// still be under way. Any thread, one at a time in wait().
class neighbour_sync {
  public:
    /// Collective.
    explicit neighbour_sync(world& ranks);
    neighbour_sync(const neighbour_sync&) = delete;
    neighbour_sync& operator=(const neighbour_sync&) = delete;
    /// Not collective; no signal may be under way.
    ~neighbour_sync();

    /// Not blocking, unless the bound on bytes in flight is reached: then polls. To a rank off the node that has 100 signals to
    /// receive yet, more leave together at a later poll(). Throws user_error, before any signal, for a rank that does not exist.
    void signal(std::span<const int> ranks);
    /// Blocking, polls: returns when each of the ranks has signalled this one once more than this one has waited for it. Throws as
    /// signal().
    void wait(std::span<const int> ranks);
    /// Signals and waits for the same list.
    void synchronise(std::span<const int> ranks) {
        signal(ranks);
        wait(ranks);
    }

  private:
    void check(std::span<const int> ranks, const char* call) const;

    world* world_;
    arrival_counters received_;
    handler_id handler_;
    by_rank<std::int64_t> waited_; // how often this rank has waited for each
};

} // namespace craton::runtime
