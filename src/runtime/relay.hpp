#pragma once

#include "inbox.hpp"
#include "receive_queue.hpp"
#include "send_queue.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/runtime/message.hpp>
#include <craton/runtime/node.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace craton::runtime {

/// Small messages that travel in two hops. Ranks stand in rows of equal length: a message goes along its sender's row to the
/// column of its target, and from there along that column. (From a shorter last row it may go along the column first.) So a rank
/// sends to a row and a column of others instead of to all, and has more for each of them at a time. Where rows are nodes, the
/// first hop is made in memory. (Maley and DeVinney 2019, "Conveyors for streaming many-to-many communication", with two hops.)
///
/// Each hop has bytes in flight of its own. What is on its last hop is run when it arrives, whatever else waits, so it makes room
/// for what comes from the row; and that for what this rank sends. So ranks do not wait for each other in a circle as long as all
/// of them poll, though a rank that hands on takes no more than it has room for. A target that does not poll stops, in time, what
/// others send over the same rank.
class relay {
  public:
    /// Collective. `row`: ranks of a row, 2 to the number of ranks - 1. `first_tag` is that of messages on their first hop,
    /// `last_tag` and `neighbours` those of messages that arrive.
    relay(const comm::communicator& ranks, const node& node, int row, int first_tag, int last_tag, buffer_pool& pool,
          doorbell& bell, inbox& neighbours, std::size_t most_bytes);

    struct way {
        hop next_hop = hop::only; ///< only: nobody is between
        int over = -1;            ///< the rank to which it goes next
    };
    [[nodiscard]] way way_to(int target) const noexcept { return way_between(rank_, target, row_, size_); }
    /// From one rank to another on a grid with rows of `row` ranks, the last of which may be shorter.
    [[nodiscard]] static way way_between(int from, int to, int row, int ranks) noexcept;

    /// As of a send_queue, for messages that go one of the hops. Any thread.
    [[nodiscard]] bool reserve(hop which, std::size_t bytes, bool forced);
    void send(hop which, int over, std::span<const std::byte> record) { queue(which).append(over, record); }
    void flush_idle();
    void flush();
    bool flush(int target);

    /// Hands on what has arrived, while there is room for it, and about 1 MiB of it at most; asks MPI for arrivals where `by_mpi`,
    /// or where it must. Returns how many messages it handed on. One thread at a time, as complete().
    int serve(bool by_mpi);
    int complete() { return first_.complete() + last_.complete(); }
    [[nodiscard]] bool busy() const noexcept;
    [[nodiscard]] bool reaches_all() const noexcept { return row_in_reach_; }
    void set_limit(std::size_t most_bytes) noexcept;
    [[nodiscard]] std::size_t bytes_in_flight() const noexcept { return first_.bytes_in_flight() + last_.bytes_in_flight(); }
    /// At most: of each hop, at its own time.
    [[nodiscard]] std::size_t peak_bytes_in_flight() const noexcept {
        return first_.peak_bytes_in_flight() + last_.peak_bytes_in_flight();
    }
    [[nodiscard]] std::int64_t transfers() const noexcept { return first_.transfers() + last_.transfers(); }
    [[nodiscard]] std::int64_t handed_on() const noexcept { return handed_on_.load(std::memory_order_relaxed); }
    /// For teardown, as of the queues.
    bool abandon();

    // For ranks that wait in one call of MPI.
    [[nodiscard]] send_queue& first() noexcept { return first_; }
    [[nodiscard]] send_queue& last() noexcept { return last_; }
    [[nodiscard]] receive_queue& receives() noexcept { return receives_; }

  private:
    [[nodiscard]] send_queue& queue(hop which) noexcept { return which == hop::first ? first_ : last_; }
    [[nodiscard]] bool take_next(bool by_mpi);
    [[nodiscard]] bool take_from_ring();
    [[nodiscard]] bool take_from_mpi();
    void finish();

    int rank_;
    int size_;
    int row_;
    buffer_pool* pool_;
    inbox from_row_;
    bool row_in_reach_ = false;
    send_queue first_;
    send_queue last_;
    receive_queue receives_;

    // The arrival that is being handed on.
    std::span<const std::byte> rest_;
    std::optional<receive_queue::arrival> by_mpi_; // else it lies in from_row_
    std::atomic<bool> holds_{false};
    bool ring_next_ = false;                  // the ring and MPI take turns
    std::atomic<bool> waits_for_room_{false}; // what comes from the row goes before what this rank sends
    std::atomic<std::int64_t> handed_on_{0};
};

} // namespace craton::runtime
