#pragma once

#include <craton/comm/communicator.hpp>
#include <craton/runtime/message.hpp>
#include <craton/runtime/node.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace craton::runtime {

class buffer_pool;
class copy_engine;
class doorbell;
class inbox;
class node_sum;
class relay;
class send_queue;
class receive_queue;

/// What a world is made with. The same on every rank.
struct world_options {
    /// k > 0 makes virtual nodes of k consecutive ranks; 0 takes the machine's nodes (or CRATON_RANKS_PER_NODE where set).
    int ranks_per_node = 0;
    /// Bytes of messages this rank may have under way before prepare() waits for room; 1 or more. A message counts with its whole
    /// buffer, and 256 bytes more where it travels alone.
    std::size_t max_bytes_in_flight = std::size_t{64} << 20;
    /// k > 1: ranks stand in rows of k consecutive ones, and small messages that may go in two hops do (travel::in_two_hops). 1:
    /// all go straight. row_is_node: rows as long as the largest node, which are its ranks where nodes are filled one after the
    /// other. 0 takes CRATON_RANKS_PER_ROW ("node" or k) where set, else 1. The same on every rank.
    int ranks_per_row = 0;
    static constexpr int row_is_node = -1;
};

/// What this rank has done since the world was made.
struct world_statistics {
    std::int64_t messages_sent = 0;
    std::int64_t messages_executed = 0;
    std::int64_t bytes_sent = 0; ///< of own messages, with their headers
    std::int64_t direct_updates = 0;
    std::int64_t peak_bytes_in_flight =
        0; ///< replies and other messages from inside handlers, which do not wait for room, included; with rows at most
    std::int64_t transfers_sent = 0;     ///< MPI messages: few within a node, and small ones travel together
    std::int64_t messages_handed_on = 0; ///< of other ranks, on their way in two hops
};

/// How a thread that only attends to messages spends its time when none comes. While it is awake it gives up its core after every
/// look; then it sleeps, and is woken by ranks of the same machine.
struct attendance {
    /// After a message: what answers it comes soon.
    std::chrono::microseconds awake{20};
    /// The same while something is under way: MPI moves a long message only while it is looked after.
    std::chrono::microseconds awake_while_busy{20};
    std::chrono::microseconds longest_sleep{std::chrono::milliseconds{100}};
    std::chrono::microseconds longest_sleep_while_busy{100};
};

/// Ranks that share one address space. Made explicitly from a communicator; several may live side by side.
///
/// Messages (active messages: von Eicken et al. 1992; French et al. 2015, III-B) run a registered handler at the target, one at a
/// time per rank, inside poll(). A handler may send messages and reply, must not block, and must not throw: an exception in a
/// handler ends the job. No order is promised between messages, not even between two from one rank to the same target: small ones
/// travel together and wait for company while their target is busy, long ones do not. Inside a handler no world makes progress:
/// what the handler of one world sends in another leaves at that world's next poll().
///
/// Memory: messages prepared or under way at this rank and buffers kept for reuse stay within max_bytes_in_flight(), but for a
/// single message larger than that and for what handlers send. Whole buffers count, which are up to a quarter larger than what is
/// in them, and 256 bytes for each transfer. Besides:
/// - a ring of 1 MiB for messages from ranks of the node, and another where ranks stand in rows;
/// - lists of transfers, which keep the room that they once had, and buffers kept for reuse where the bound counts such lists:
///   nothing to speak of unless most messages are small and travel alone;
/// - 72 bytes for each of up to 512 targets that nothing is under way to any more, three times that where ranks stand in rows;
/// - 4 bytes per rank of the world;
/// - messages being received: another is begun while those under way have less than 16 MiB, so 16 MiB and the longest message (1
///   MiB or so from craton's arrays, whatever a caller of prepare() makes it otherwise); with rows about 1 MiB more of those on
///   their first hop;
/// - messages that arrive before their handler is registered here: kept, without a bound (a rank that refused them could wait for
///   an answer behind them for ever). Register, then barrier(), then send, as everything in craton does, and there are none.
///
/// Two hops: where ranks stand in rows (world_options::ranks_per_row), a message for a handler that allows it goes along the row of
/// its sender to the column of its target, and then along that column. A rank has fewer others to send to, and sends each more at a
/// time; a message takes longer, and waits for a rank in between that computes without polling. Half of the bound on bytes in
/// flight is then for messages that go straight, a quarter for those on their first hop, a quarter for those on their last one, and
/// in each of these a single message may be larger. Messages above 8 KiB, those with a token, which are waited for, and those
/// within a row go straight; those within a column make the last hop alone.
///
/// Threads: every member may be called from any thread unless it says "collective"; collective members from one thread per rank.
class world {
  public:
    /// Runs on the target of a message, inside a poll().
    using handler = std::function<void(const incoming_message&)>;

    /// Collective over `communicator`, which is duplicated. Throws user_error when MPI does not grant MPI_THREAD_MULTIPLE,
    /// CRATON_RANKS_PER_NODE is not a positive integer, CRATON_RANKS_PER_ROW neither "node" nor one, ranks_per_row differs between
    /// ranks, or max_bytes_in_flight is 0.
    explicit world(const comm::communicator& communicator, const world_options& options = {});
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    /// Not collective, never waits: quiesce first, or what is still under way may be lost.
    ~world();

    /// Of this process, how many there are, and what they are made of. Any thread.
    [[nodiscard]] int rank() const noexcept { return comm_.rank(); }
    [[nodiscard]] int size() const noexcept { return comm_.size(); }
    [[nodiscard]] const runtime::node& node() const noexcept { return node_; }
    [[nodiscard]] const comm::communicator& communicator() const noexcept { return comm_; }
    /// True when memory of `rank` is mapped here, so that direct delivery applies.
    [[nodiscard]] bool shares_memory_with(int rank) const { return node_.contains(rank); }

    /// Names a handler. All ranks register the same handlers in the same order. Not blocking; messages that arrive before the
    /// registration wait for it.
    [[nodiscard]] handler_id register_handler(handler function, travel how = travel::straight);
    /// No message for it may be under way (quiesce first). Not inside a handler, nor is the destruction of anything that has
    /// handlers (counters, arrays): it waits until no handler runs.
    void unregister_handler(handler_id id);

    /// A message of `payload_bytes` for a handler at `target`; throws user_error for 2 GiB or more; polls while the bytes in flight
    /// leave no room for it, except inside a handler. Must be sent: its bytes count as in flight from here on.
    [[nodiscard]] outgoing_message prepare(int target, handler_id id, std::size_t payload_bytes, std::uint64_t token = 0);
    /// As prepare(), but gives nothing instead of waiting when there is no room.
    [[nodiscard]] std::optional<outgoing_message> try_prepare(int target, handler_id id, std::size_t payload_bytes,
                                                              std::uint64_t token = 0);
    /// Starts it, or puts a small one (8 KiB at most) with others for the same target, which leave together: when there are 64 KiB
    /// of them, at the next poll() if the target is idle, at flush(), quiesce() and whatever waits. Returns at once, but for less
    /// than half a millisecond where the ring of a neighbour is full; complete at the target after a quiesce().
    void send(outgoing_message message);
    /// Starts every message that waits for others, or every one for a target. Not blocking. To a target that has not received 100
    /// such transfers yet nothing more is started: what waits leaves at a poll() after it has. Of two hops the first is started.
    void flush();
    void flush(int target);

    /// Sends a request and waits (polling) for the reply's payload. Not inside a handler.
    [[nodiscard]] std::vector<std::byte> call(int target, handler_id id, std::span<const std::byte> payload);
    /// A call in two parts, so that several can be under way. The first sends the request, waits for room at most, and returns the
    /// call's number; the second waits (polling) for its reply, once for each number. Not inside a handler.
    [[nodiscard]] std::uint64_t start_call(int target, handler_id id, std::span<const std::byte> payload);
    [[nodiscard]] std::vector<std::byte> finish_call(std::uint64_t number);
    /// Answers a call from inside its handler. Never waits for room: replies are bounded by the calls that ask for them.
    void reply(const incoming_message& request, std::span<const std::byte> payload);

    /// Makes progress: completes sends, runs handlers of messages that have arrived, hands on those of other ranks. Returns how
    /// many of both. Never blocks; when another thread is at it, returns 0 at once.
    int poll();
    /// Ranks of a row; 1 where all messages go straight.
    [[nodiscard]] int ranks_per_row() const noexcept { return ranks_per_row_; }
    /// True while something of this rank is on its way out or in: a reason to keep polling.
    [[nodiscard]] bool busy() const noexcept;
    /// Sleeps until something may have arrived, at most for so long (90 microseconds where ranks of other machines cannot wake this
    /// one), after a last poll(). Returns true when that poll found messages or another thread at it, `go_on` (asked once,
    /// before the sleep) was false, or the sleep ended early. For threads that only poll.
    bool wait_for_arrivals(std::chrono::microseconds at_most, const std::function<bool()>& go_on = {});
    /// Attends to messages while `go_on` holds and other threads of this rank compute. `go_on` is asked between looks and before
    /// each sleep, and should be brief. Who makes it false calls wake_sleepers(). Returns the seconds that handlers and
    /// handing on took, but for those that it finds just before a sleep. Not inside a handler.
    double attend_while(const std::function<bool()>& go_on, const attendance& how = {});
    /// Ends the sleeps of other threads of this rank in attend_while() and wait_for_arrivals(); make their `go_on` false before, or
    /// they sleep again.
    void wake_sleepers() noexcept;
    /// Waits, polling, for what other ranks or threads bring about. It looks a few times, then gives up the core between its looks.
    /// Where the machine has more ranks of this world than cores it then sleeps until a message or a wake() comes, a millisecond at
    /// most, unless MPI has something of this world under way here. `done` is asked often and not again once it has held; it may
    /// poll and take what it waits for, and must not block. Not inside a handler. Any thread.
    template <class Done> void wait_until(Done&& done) {
        const auto rings = [] { return true; };
        wait_for(condition_on(done), condition_on(rings));
    }
    /// Wakes the threads of a rank that sleep in wait_until() after something in its memory was changed that they wait for. Costs
    /// next to nothing where none sleeps.
    void wake(int rank) noexcept;
    /// Collective, blocking: every message sent anywhere before it, and by the handlers of those, has been executed when it
    /// returns. Threads of this rank that send must have finished sending.
    void quiesce();
    /// Collective, blocking; polls meanwhile.
    void barrier();

    /// The bound on bytes in flight of this rank; may differ per rank and change at any time. Throws user_error for 0.
    void set_max_bytes_in_flight(std::size_t bytes);
    [[nodiscard]] std::size_t max_bytes_in_flight() const noexcept;
    [[nodiscard]] std::size_t bytes_in_flight() const noexcept;

    /// Prints "craton: rank r: message" and ends the job with the exit code. Does not return.
    [[noreturn]] void abort(const std::string& message, int exit_code);

    /// What this rank has done until now. Any thread.
    [[nodiscard]] world_statistics statistics() const;
    /// For the storey above: counts an update that was applied in place in a neighbour's memory.
    void count_direct_update() noexcept { direct_updates_.fetch_add(1, std::memory_order_relaxed); }

    // For the runtime itself.

    /// Names memory of this rank so that other ranks' messages can speak of it: collective, in the same order on every rank.
    [[nodiscard]] std::uint32_t name_memory(std::byte* base);
    void forget_memory(std::uint32_t name);
    [[nodiscard]] std::byte* named_memory(std::uint32_t name);
    /// Inside a handler: what it was asked for is not done when it returns; quiesce() waits for the release.
    void hold_quiesce() noexcept { messages_sent_.fetch_add(1, std::memory_order_relaxed); }
    void release_quiesce() noexcept { messages_executed_.fetch_add(1, std::memory_order_release); }
    [[nodiscard]] copy_engine& copies() noexcept { return *copies_; }

  private:
    struct kept_message {
        int source = -1;
        std::size_t bytes = 0;
        byte_buffer buffer;
    };

    [[nodiscard]] bool reserve_room(const outgoing_message& message);
    void write_header(outgoing_message& message, handler_id id, std::size_t payload_bytes, std::uint64_t token);
    [[nodiscard]] bool goes_into_ring(const outgoing_message& message);
    std::optional<int> try_poll(bool thorough); ///< nothing where this thread could not make progress
    int run_records(int source, std::span<const std::byte> records);
    bool run_handler(int source, std::span<const std::byte> record);
    int run_deferred();
    int run_own();
    int run_inbox();
    void flush_straight(int target);
    void flush_idle();
    int complete_sends();
    [[nodiscard]] handler* find_handler(int source, handler_id id);
    /// A caller's condition, without memory of its own: waits are short.
    struct condition {
        void* what;
        bool (*ask)(void*);
        [[nodiscard]] bool operator()() const { return ask(what); }
    };
    template <class Done> static condition condition_on(Done& done) {
        return {const_cast<void*>(static_cast<const void*>(&done)),
                [](void* what) -> bool { return (*static_cast<Done*>(what))(); }};
    }
    /// While `rings` does not hold, nobody wakes this thread.
    void wait_for(condition done, condition rings);
    /// At the end of a quiesce(), when all has been executed: sends that have completed give their buffers back.
    void hear_of_sends();
    void wait_for_sum();

    comm::communicator comm_;
    runtime::node node_;

    // Held by the one thread that makes progress: handlers run in isolation.
    std::mutex progress_;
    int polls_since_completion_ = 0; // guarded by progress_
    int polls_since_mpi_ = 0;        // guarded by progress_
    std::unique_ptr<buffer_pool> pool_;
    std::unique_ptr<doorbell> bell_;
    std::unique_ptr<inbox> inbox_;
    std::unique_ptr<send_queue> sends_;
    std::unique_ptr<receive_queue> receives_;
    std::unique_ptr<node_sum> sums_;
    int ranks_per_row_ = 1;
    std::unique_ptr<relay> relay_; // null where there is one row

    std::unique_ptr<copy_engine> copies_;

    std::mutex memories_mutex_;
    std::vector<std::byte*> memories_; // by name; null where forgotten

    std::mutex own_mutex_;
    std::deque<kept_message> own_; // from this rank to itself
    std::atomic<bool> any_own_{false};

    std::mutex handlers_mutex_;
    std::deque<handler> handlers_; // by id; empty where none is any more
    std::atomic<handler_id> handlers_count_{0};
    std::vector<kept_message> deferred_; // arrived before their handler was registered; guarded by progress_
    handler_id deferred_seen_ = 0;       // handlers_count_ when they were last tried

    std::mutex replies_mutex_;
    std::unordered_map<std::uint64_t, std::vector<std::byte>> replies_;
    std::atomic<std::uint64_t> next_token_{1};

    std::atomic<std::size_t> max_bytes_in_flight_;
    std::atomic<int> alone_since_poll_{0};
    std::atomic<std::int64_t> messages_sent_{0};
    std::atomic<std::int64_t> messages_executed_{0};
    std::atomic<std::int64_t> bytes_sent_{0};
    std::atomic<std::int64_t> direct_updates_{0};
};

} // namespace craton::runtime
