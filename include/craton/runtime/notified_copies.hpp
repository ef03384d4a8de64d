#pragma once

#include <craton/runtime/arrival_counters.hpp>
#include <craton/runtime/by_rank.hpp>
#include <craton/runtime/copy.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/world.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace craton::runtime {

/// Copies whose target counts what has arrived, so that it can wait for its data itself (notified access: Belli and Hoefler 2015):
/// no acknowledgement travels back and no signal follows, and who puts need not know when its data is there.
///
/// In rounds, as halos are exchanged, in which every rank takes part: it begins the round, starts copies, ends the round towards
/// the ranks that it has copied to, and waits for the ranks that copy to it, knowing how many elements the round brings from each.
/// A rank may be one round ahead of another that it copies to, and it is not further: it must have waited for an answer of that
/// one, in a round of this object, before it starts the next but one.
///
/// Off the node a rank's memory is not touched before it begins the round: what comes early is kept. On a node copies are stores,
/// and who begins a round must know that the others are done with what they are about to overwrite.
///
/// start() from any thread; the others from one, not while start() runs.
class notified_copies {
  public:
    /// Collective.
    explicit notified_copies(world& ranks);
    notified_copies(const notified_copies&) = delete;
    notified_copies& operator=(const notified_copies&) = delete;
    /// Not collective; everything that is copied to this rank must have been waited for.
    ~notified_copies();

    /// From here on this round may write to this rank's memory.
    void begin_round();
    /// Non-blocking; as start_copy_strided(), from memory that is mapped here, which may be written again when the round has been
    /// ended. Throws user_error when an element lies outside the segment.
    template <class T> void start(const global_ptr<T>& source, const global_ptr<T>& target, const copy_shape& shape) {
        static_assert(std::is_trivially_copyable_v<T>);
        start(copy_end::at(source), copy_end::at(target), shape, sizeof(T));
    }
    /// What this round copies to `targets` (each once; the caller too, if it waits for itself) has been started. Off the node it is
    /// packed here, by the runtime, into one message per target (several beyond half a MiB). Not blocking, as
    /// neighbour_sync::signal().
    void end_round(std::span<const int> targets);
    /// Blocking, polls: returns when this round's elements from a rank, so many of them, are in this rank's memory. Once per round
    /// for each rank that copies to this one, after end_round().
    void wait(int source, std::int64_t elements);

  private:
    void start(const copy_end& source, const copy_end& target, const copy_shape& shape, std::size_t element_bytes);

    world* world_;
    arrival_counters elements_;
    std::int64_t round_ = 0;
    by_rank<std::array<std::int64_t, arrival_counters::turns>> waited_for_; // elements per source, as they are counted
    struct unsent;                                                          // copies of this round to ranks off the node
    std::unique_ptr<unsent> unsent_;
    std::vector<std::atomic<std::int64_t>> copied_; // elements of this round per target on the node, by its place there
};

} // namespace craton::runtime
