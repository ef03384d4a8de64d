#pragma once

#include <craton/runtime/message.hpp>
#include <craton/runtime/world.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace craton::array {

/// What a caller waits for: the receipts of the messages of one operation. Any thread.
class receipts {
  public:
    /// Whether all replies have come.
    [[nodiscard]] bool all_here() const noexcept { return missing_.load(std::memory_order_acquire) == 0; }

  private:
    friend class owner_calls;
    std::uint64_t token_ = 0;
    std::atomic<std::int64_t> missing_{1}; // one more until the operation has sent everything
    std::function<void(std::span<const std::byte>)> on_answer_;
};

/// Work that is done where the data is: messages to handlers at the owner which send a receipt, with an answer if they have one,
/// once their work is done. A world::call() waits for one reply; here one operation sends many messages to many owners and waits
/// for all together.
class owner_calls {
  public:
    /// Does what `request` says; what it adds to `answer` goes back with the receipt. Runs in a handler: must not block, must not
    /// throw.
    using work = std::function<void(std::span<const std::byte> request, std::vector<std::byte>& answer)>;
    using awaited = std::shared_ptr<receipts>; ///< null: no receipt is asked for

    /// Registers a handler: in the same order on every rank, and a barrier() before anything is sent.
    explicit owner_calls(runtime::world& ranks);
    owner_calls(const owner_calls&) = delete;
    owner_calls& operator=(const owner_calls&) = delete;
    /// Not collective; nothing may be under way (quiesce first).
    ~owner_calls();

    /// As the constructor.
    [[nodiscard]] runtime::handler_id offer(work what, runtime::travel how = runtime::travel::straight);

    /// Opens an operation whose receipts are awaited. `on_answer` runs inside a handler, for one answer at a time. Any thread.
    [[nodiscard]] awaited open(std::function<void(std::span<const std::byte>)> on_answer = {});
    /// A message of the operation (or of none); to be filled and sent with world::send(). Waits for room as world::prepare() does.
    /// Any thread.
    [[nodiscard]] runtime::outgoing_message prepare(int target, runtime::handler_id what, std::size_t payload_bytes,
                                                    const awaited& by);
    /// The operation has sent everything. Null is allowed.
    void close(const awaited& by);

    /// The world that the calls go through.
    [[nodiscard]] runtime::world& ranks() const noexcept { return *world_; }

  private:
    void one_less(const awaited& by);

    runtime::world* world_;
    runtime::handler_id receipt_handler_;
    std::vector<runtime::handler_id> offered_;
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, awaited> open_;
    std::uint64_t next_token_ = 1;
};

} // namespace craton::array
