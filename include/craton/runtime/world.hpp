#pragma once

#include <craton/comm/communicator.hpp>
#include <craton/runtime/message.hpp>
#include <craton/runtime/node.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace craton::runtime {

struct world_options {
    /// k > 0 makes virtual nodes of k consecutive ranks; 0 takes the machine's nodes (or CRATON_RANKS_PER_NODE where set).
    int ranks_per_node = 0;
    /// Bytes of messages this rank may have under way before send() waits for room.
    std::size_t max_bytes_in_flight = std::size_t{64} << 20;
};

/// What this rank has done since the world was made.
struct world_statistics {
    std::int64_t messages_sent = 0;
    std::int64_t messages_executed = 0;
    std::int64_t bytes_sent = 0;
    std::int64_t direct_updates = 0;
    std::int64_t peak_bytes_in_flight = 0;
};

/// Ranks that share one address space. Made explicitly from a communicator; several may live side by side.
///
/// Messages (active messages: von Eicken et al. 1992; French et al. 2015, III-B) run a registered handler at the target, one at a
/// time per rank, inside poll(). A handler may send messages and reply, must not block, and must not throw: an exception in a handler ends the job.
/// Threads: every member may be called from any thread unless it says "collective"; collective members from one thread per rank.
class world {
  public:
    using handler = std::function<void(const incoming_message&)>;

    /// Collective over `communicator`, which is duplicated. Throws user_error when MPI does not grant MPI_THREAD_MULTIPLE or
    /// CRATON_RANKS_PER_NODE is not a positive integer.
    explicit world(const comm::communicator& communicator, const world_options& options = {});
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    /// Not collective, never waits: quiesce first, or what is still under way may be lost.
    ~world();

    [[nodiscard]] int rank() const noexcept { return comm_.rank(); }
    [[nodiscard]] int size() const noexcept { return comm_.size(); }
    [[nodiscard]] const runtime::node& node() const noexcept { return node_; }
    [[nodiscard]] const comm::communicator& communicator() const noexcept { return comm_; }
    /// True when memory of `rank` is mapped here, so that direct delivery applies.
    [[nodiscard]] bool shares_memory_with(int rank) const { return node_.contains(rank); }

    /// Names a handler. All ranks register the same handlers in the same order. Not blocking; messages that arrive before the
    /// registration wait for it.
    [[nodiscard]] handler_id register_handler(handler function);
    /// No message for it may be under way (quiesce first).
    void unregister_handler(handler_id id);

    /// A message of `payload_bytes` for a handler at `target`; throws user_error for 2 GiB or more; polls while the bytes in flight leave no room for it, except inside a handler.
    [[nodiscard]] outgoing_message prepare(int target, handler_id id, std::size_t payload_bytes, std::uint64_t token = 0);
    /// Starts it. Returns at once; complete at the target after a quiesce().
    void send(outgoing_message message);

    /// Sends a request and waits (polling) for the reply's payload. Not inside a handler.
    [[nodiscard]] std::vector<std::byte> call(int target, handler_id id, std::span<const std::byte> payload);
    /// Answers a call from inside its handler.
    void reply(const incoming_message& request, std::span<const std::byte> payload);

    /// Makes progress: completes sends, runs handlers of messages that have arrived. Returns how many ran. Never blocks; when another
    /// thread is at it, returns 0 at once.
    int poll();
    /// Collective, blocking: every message sent anywhere before it, and by the handlers of those, has been executed when it returns.
    /// Threads of this rank that send must have finished sending.
    void quiesce();
    /// Collective, blocking; polls meanwhile.
    void barrier();

    /// Prints "craton: rank r: message" and ends the job with the exit code. Does not return.
    [[noreturn]] void abort(const std::string& message, int exit_code);

    [[nodiscard]] world_statistics statistics() const;
    /// For the storey above: counts an update that was applied in place in a neighbour's memory.
    void count_direct_update() noexcept { direct_updates_.fetch_add(1, std::memory_order_relaxed); }

  private:
    struct pending_send {
        comm::request request;
        std::vector<std::byte> bytes;
    };

    void complete_sends();
    /// False when the handler does not exist yet and the message waits for it.
    bool run_handler(int source, std::span<const std::byte> bytes);
    void run_deferred();
    [[nodiscard]] std::vector<std::byte> take_buffer(std::size_t bytes);
    void wait_polling(comm::request& request);

    comm::communicator comm_;
    runtime::node node_;
    std::size_t max_bytes_in_flight_;

    std::mutex progress_; // held by the one thread that makes progress: handlers run in isolation
    std::vector<std::byte> receive_buffer_;

    mutable std::mutex sends_mutex_;
    std::list<pending_send> sends_;
    std::vector<std::vector<std::byte>> free_buffers_;
    std::size_t bytes_in_flight_ = 0;
    std::size_t peak_bytes_in_flight_ = 0;

    std::mutex handlers_mutex_;
    std::unordered_map<handler_id, handler> handlers_;
    handler_id next_handler_ = 1;
    struct deferred_message {
        int source;
        std::vector<std::byte> bytes;
    };
    std::vector<deferred_message> deferred_; // arrived before their handler was registered; guarded by progress_

    std::mutex replies_mutex_;
    std::unordered_map<std::uint64_t, std::vector<std::byte>> replies_;
    std::atomic<std::uint64_t> next_token_{1};

    std::atomic<std::int64_t> messages_sent_{0};
    std::atomic<std::int64_t> messages_executed_{0};
    std::atomic<std::int64_t> bytes_sent_{0};
    std::atomic<std::int64_t> direct_updates_{0};
};

} // namespace craton::runtime
