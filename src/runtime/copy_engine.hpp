#pragma once

#include "strided.hpp"

#include <craton/runtime/arrival_counters.hpp>
#include <craton/runtime/byte_buffer.hpp>
#include <craton/runtime/copy.hpp>
#include <craton/runtime/world.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace craton::runtime {

/// The box of a copy. Throws user_error for a shape that is none or leaves a segment.
[[nodiscard]] strided_box checked_copy(const copy_end& source, const copy_end& target, const copy_shape& shape,
                                       std::size_t element_bytes);

/// The part of a world that carries copies off the node, in pieces:
///   put      the origin packs pieces and sends them to the target's rank, which unpacks each and tells the origin how much it was
///   get      the origin asks the source's rank; there poll() packs and sends pieces as the bound on bytes in flight allows, since
///            a handler must not wait; each goes to the rank of the target, the origin itself or a third, as in put
class copy_engine {
  public:
    /// Registers handlers: in the same order on every rank.
    explicit copy_engine(world& ranks);

    [[nodiscard]] copy_handle start(const copy_end& source, const copy_end& target, const strided_box& box);
    /// Copies from mapped memory without an acknowledgement, everything for a target in as few messages as can be: the target's
    /// rank adds their elements to its counter of this rank, when they are in its memory, but not before it has opened that round
    /// of these counters: until then it keeps the message.
    struct counter_name {
        std::uint32_t counters = 0;
        std::int64_t round = 0;
    };
    struct counted_copy {
        strided_box box;
        const std::byte* source = nullptr;
        std::uint32_t memory = 0; ///< the target's, by its name
        std::uint64_t offset = 0;
    };
    /// What is to be sent; nothing where the target is mapped here too: then the copy is complete, and nothing has been counted.
    [[nodiscard]] static std::optional<counted_copy> copy_or_name(const copy_end& source, const copy_end& target,
                                                                  const strided_box& box);
    void send_counted(int target, std::span<const counted_copy> copies, const counter_name& counter);
    /// Rounds up to this one may write to this rank's memory and are counted here. Any thread.
    void open_round(arrival_counters& counters, std::int64_t round);
    void forget_rounds(std::uint32_t counters);
    /// Sends pieces that others have asked for, some per call. Only where progress is made. Returns how many.
    int serve();
    [[nodiscard]] bool busy() const noexcept { return jobs_waiting_.load(std::memory_order_relaxed) > 0; }

  private:
    /// Where pieces go: memory of a rank, by its name and offset or (by its own rank) by address; and who is told.
    struct destination {
        std::int32_t rank = -1;
        std::uint32_t memory = 0;
        std::uint64_t offset = 0;   // or address, where memory is `by_address`
        std::int32_t origin = -1;   // who is told; -1: counters of the target's
        std::uint32_t counters = 0; // their name
        std::uint64_t token = 0;    // of the copy at its origin, or the source that is counted
        std::int64_t round = 0;     // of these counters
    };
    // A message that came before its round.
    struct early_message {
        std::uint32_t counters = 0;
        std::int64_t round = 0;
        byte_buffer payload;
        std::size_t bytes = 0;
    };
    struct piece_header {
        destination to;
        std::int64_t first = 0;
        std::int64_t count = 0;
        std::int32_t element_bytes = 0;
        std::int32_t dimensions = 0;
    };
    struct request {
        strided_box box;
        destination to;
        std::uint32_t source_memory = 0;
        std::uint32_t reserved = 0;
        std::uint64_t source_offset = 0;
    };
    struct job {
        strided_box box;
        destination to;
        const std::byte* source = nullptr;
        std::int64_t next = 0;
    };
    struct acknowledgement {
        std::uint64_t token = 0;
        std::int64_t count = 0;
    };

    [[nodiscard]] static std::size_t piece_bytes(const strided_box& box, std::int64_t count);
    void send_pieces(const strided_box& box, const destination& where, const std::byte* from);
    static void write_piece(payload_writer& out, const job& what, std::int64_t count);
    void take_piece(const incoming_message& message);
    // What is counted is kept, put in place and counted under rounds_mutex_.
    [[nodiscard]] bool keep_if_early(const destination& to, std::span<const std::byte> payload);
    void put_in_place(std::span<const std::byte> payload);
    // The first piece of a payload; returns what follows it.
    [[nodiscard]] std::span<const std::byte> put_first(std::span<const std::byte> payload);
    void take_request(const incoming_message& message);
    void arrived(std::uint64_t token, std::int64_t count);
    void count(const destination& to, std::int64_t elements);

    world* world_;
    handler_id piece_handler_ = 0;
    handler_id request_handler_ = 0;
    handler_id acknowledgement_handler_ = 0;

    std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::shared_ptr<copy_handle::state>> under_way_;
    std::uint64_t next_token_ = 1;

    std::mutex rounds_mutex_;
    struct open_round_of {
        arrival_counters* counters = nullptr;
        std::int64_t round = 0;
    };
    std::unordered_map<std::uint32_t, open_round_of> open_rounds_; // by the name of their counters
    std::vector<early_message> early_;

    std::deque<job> jobs_; // asked for by others; touched only where progress is made
    std::atomic<int> jobs_waiting_{0};
};

} // namespace craton::runtime
