#pragma once

#include "buffer_pool.hpp"
#include "doorbell.hpp"
#include "inbox.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/comm/request_set.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace craton::runtime {

/// What a rank has to send: bounds its bytes, puts small records to one target together, keeps buffers alive until they have left.
/// Any thread, but complete(): one at a time.
class send_queue {
  public:
    send_queue(const comm::communicator& ranks, int tag, buffer_pool& pool, doorbell& bell, inbox& neighbours,
               std::size_t most_bytes);

    /// Records up to this size travel together.
    static constexpr std::size_t small_record_bytes = std::size_t{8} << 10;
    static constexpr std::size_t aggregate_bytes = std::size_t{64} << 10;

    /// What a message of so many bytes counts for: its buffer, and what the queue keeps to know of it.
    [[nodiscard]] static std::size_t counted(std::size_t bytes) { return buffer_pool::capacity_for(bytes) + entry_bytes; }
    /// Counts a message of so many bytes as in flight if there is room for it (alone, anything has room), or always when `forced`.
    [[nodiscard]] bool reserve(std::size_t bytes, bool forced) { return reserve_counted(counted(bytes), forced); }
    void release(std::size_t bytes) noexcept { release_counted(counted(bytes)); }

    /// Starts a message of its own, which was reserved; it is released when the target has begun to receive it.
    void start(int target, byte_buffer buffer, std::size_t bytes);
    /// Adds a small record, which was reserved, to what the target is to get next; starts that when it is full.
    void append(int target, std::span<const std::byte> record);
    /// True when something waits for company.
    [[nodiscard]] bool any_waits() const noexcept { return waiting_count_.load(std::memory_order_relaxed) > 0; }
    /// Starts what waits for company, unless as much is already on its way by MPI to that target as keeps it busy. The wait is no
    /// loss then, and what comes meanwhile travels along (Nagle 1984, RFC 896).
    void flush_idle();
    /// Starts everything that waits for company, or what waits for one target, but not to targets that have 100 aggregates to
    /// receive yet: that is left to flush_idle(). For one target: true when nothing is left.
    void flush();
    bool flush(int target);

    /// Hands back the buffers of sends that have completed; returns how many did.
    int complete();
    /// What MPI has to send, as far as complete() has seen it: for ranks that wait in one call of MPI.
    [[nodiscard]] comm::request_set& under_way() noexcept { return requests_; }
    /// For teardown: gives what has not completed to the end of the process. True when MPI still has some of it.
    bool abandon();

    [[nodiscard]] std::size_t bytes_in_flight() const noexcept { return bytes_in_flight_.load(std::memory_order_acquire); }
    [[nodiscard]] std::size_t peak_bytes_in_flight() const noexcept { return peak_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t limit() const noexcept { return most_bytes_.load(std::memory_order_relaxed); }
    void set_limit(std::size_t most_bytes) noexcept { most_bytes_.store(most_bytes, std::memory_order_relaxed); }
    [[nodiscard]] std::int64_t transfers() const noexcept { return transfers_.load(std::memory_order_relaxed); }

  private:
    // Of a transfer, above its buffer: an outbox in its table, a departure and its request, each with room to grow.
    static constexpr std::size_t entry_bytes = 256;

    // What waits for company on its way to one target.
    struct outbox {
        byte_buffer buffer;
        std::uint32_t used = 0;
        std::int32_t under_way = 0; // aggregates by MPI that the target has not begun to receive
        bool listed = false;        // in waiting_
        [[nodiscard]] std::size_t counted() const noexcept { return buffer.capacity() == 0 ? 0 : buffer.capacity() + entry_bytes; }
    };
    // Only targets that something waits for or is under way to, and a few more, have an outbox: a rank may have 100,000 of them.
    struct outboxes {
        std::mutex mutex;
        std::unordered_map<int, outbox> of_target;
        int last_target = -1; // whose outbox was made or found last: often the next one too
        outbox* last = nullptr;
        outbox& at(int target) {
            if (target != last_target) {
                last = &of_target[target];
                last_target = target;
            }
            return *last;
        }
        void forget_if_idle(int target);
    };
    struct departure {
        byte_buffer buffer;
        std::size_t counted = 0;
        bool joint = false; // an aggregate
        int target = -1;
    };
    struct started_send {
        comm::request request;
        departure what;
    };

    [[nodiscard]] bool reserve_counted(std::size_t bytes, bool forced);
    void release_counted(std::size_t bytes) noexcept { bytes_in_flight_.fetch_sub(bytes, std::memory_order_acq_rel); }
    void start_locked(int target, outbox& box);
    void make_room(int target, outbox& box, std::size_t record_bytes);
    [[nodiscard]] bool grow(outbox& box, std::size_t record_bytes);
    void exchange_buffer(outbox& box, std::size_t capacity);
    [[nodiscard]] outboxes& outboxes_with(int target) noexcept {
        return outboxes_[static_cast<std::size_t>(target) % outboxes_.size()];
    }
    void hand_over(int target, byte_buffer buffer, std::size_t bytes, std::size_t counted, bool joint);
    template <class Ready> void flush_where(Ready ready);

    const comm::communicator* ranks_;
    int tag_;
    buffer_pool* pool_;
    doorbell* bell_;
    inbox* neighbours_;

    std::atomic<std::size_t> most_bytes_;
    std::atomic<std::size_t> bytes_in_flight_{0};
    std::atomic<std::size_t> peak_{0};
    std::atomic<std::int64_t> transfers_{0};

    std::array<outboxes, 64> outboxes_;            // by target, in turn
    std::atomic<std::size_t> waiting_capacity_{0}; // of the outboxes' buffers
    std::mutex waiting_mutex_;
    std::vector<int> waiting_; // ranks whose outbox may hold something
    std::atomic<int> waiting_count_{0};

    std::mutex started_mutex_;
    std::vector<started_send> started_;
    std::atomic<bool> any_started_{false};

    // Seen only by complete().
    comm::request_set requests_;
    std::vector<departure> departures_; // at the same place as its request
    std::size_t next_look_ = 0;
};

} // namespace craton::runtime
