#pragma once

#include <craton/comm/communicator.hpp>
#include <craton/runtime/memory_file.hpp>
#include <craton/runtime/node.hpp>
#include <craton/runtime/rank_places.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace craton::runtime {

/// Messages between ranks of a node, in memory that all of them see: each rank has a ring of 1 MiB, into which any neighbour writes
/// and from which the rank reads. A message is copied once, and MPI has no part in it. What finds no room goes by MPI.
///
/// A writer claims the next bytes of the ring by moving its end, writes them and then marks them as whole, so that writers do not
/// wait for each other. Messages are read in the order of claims: one that is not whole yet keeps those behind it waiting.
class inbox {
  public:
    /// Collective. Where a node has one rank, or memory cannot be shared, nobody is within reach.
    inbox(const comm::communicator& world, const node& neighbours);

    /// True for another rank of this node.
    [[nodiscard]] bool reaches(int rank) const noexcept { return rank != own_rank_ && neighbours_.contains(rank); }
    /// True where every other rank of the world is within reach.
    [[nodiscard]] bool reaches_all() const noexcept { return reaches_all_; }

    /// Copies the bytes into the ring of a rank within reach; false when there is no room. If the ring is full and its rank is
    /// reading, this waits for room: the message would come later by MPI. It waits at most 50 microseconds, and five times as long
    /// as 4 GB/s take for the bytes unless it is to wait `briefly`. Any thread.
    [[nodiscard]] bool put(int target, std::span<const std::byte> bytes, bool briefly) noexcept;
    /// Says that something for a rank within reach goes by MPI. Before it does. Any thread.
    void announce(int target) noexcept;

    struct arrival {
        int source = -1;
        std::span<const std::byte> bytes; ///< 16-byte aligned
    };
    /// The oldest message, if it is whole; its bytes stay until pop(). One thread at a time, as all that follows.
    [[nodiscard]] std::optional<arrival> front() noexcept;
    void pop() noexcept;
    /// A message from a rank within reach has come by MPI.
    void count_other_way() noexcept { came_other_way_.fetch_add(1, std::memory_order_relaxed); }
    /// True while something that a rank within reach has announced has not come. Any thread.
    [[nodiscard]] bool expects_other_way() const noexcept;
    /// Any thread.
    [[nodiscard]] bool empty() const noexcept;

  private:
    using clock = std::chrono::steady_clock;
    struct ring;
    [[nodiscard]] ring& of(int rank) const noexcept;
    [[nodiscard]] bool has_room(const ring& there, std::size_t place, std::uint64_t end) noexcept;
    [[nodiscard]] bool await_room(const ring& there, std::size_t place, std::uint64_t end, clock::duration step,
                                  clock::time_point give_up) noexcept;

    memory_file memory_;
    rank_places neighbours_;                                  // this rank too; empty where nobody is within reach
    std::vector<std::uint64_t> keys_;                         // of their rings
    std::unique_ptr<std::atomic<std::uint64_t>[]> seen_read_; // by place: how far its rank had read when a writer last looked
    std::unique_ptr<std::atomic<std::uint64_t>[]> stood_at_;  // by place: how far it had read when a writer gave up waiting for it
    ring* mine_ = nullptr;
    int own_rank_ = -1;
    int own_place_ = -1;
    std::uint64_t next_ = 0; // slots that this rank has read
    std::atomic<std::uint32_t> came_other_way_{0};
    bool reaches_all_ = false;
};

} // namespace craton::runtime
