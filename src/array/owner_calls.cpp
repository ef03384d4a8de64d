#include <craton/array/owner_calls.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace craton::array {

owner_calls::owner_calls(runtime::world& ranks)
    : world_(&ranks), receipt_handler_(ranks.register_handler([this](const runtime::incoming_message& message) {
          awaited by;
          {
              const std::lock_guard lock(mutex_);
              const auto found = open_.find(message.token);
              CRATON_ASSERT(found != open_.end());
              by = found->second;
          }
          if (by->on_answer_ && !message.payload.empty()) by->on_answer_(message.payload);
          one_less(by);
      })) {}

owner_calls::~owner_calls() {
    for (const auto id : offered_) world_->unregister_handler(id);
    world_->unregister_handler(receipt_handler_);
}

runtime::handler_id owner_calls::offer(work what, runtime::travel how) {
    const auto id = world_->register_handler(
        [this, does = std::move(what)](const runtime::incoming_message& message) {
            std::vector<std::byte> answer;
            does(message.payload, answer);
            if (message.token == 0) return;
            auto receipt = world_->prepare(message.source, receipt_handler_, answer.size(), message.token);
            std::ranges::copy(answer, receipt.payload().begin());
            world_->send(std::move(receipt));
        },
        how);
    offered_.push_back(id);
    return id;
}

owner_calls::awaited owner_calls::open(std::function<void(std::span<const std::byte>)> on_answer) {
    auto by = std::make_shared<receipts>();
    by->on_answer_ = std::move(on_answer);
    const std::lock_guard lock(mutex_);
    by->token_ = next_token_++;
    open_.emplace(by->token_, by);
    return by;
}

runtime::outgoing_message owner_calls::prepare(int target, runtime::handler_id what, std::size_t payload_bytes, const awaited& by) {
    if (by) by->missing_.fetch_add(1, std::memory_order_relaxed);
    return world_->prepare(target, what, payload_bytes, by ? by->token_ : 0);
}

void owner_calls::close(const awaited& by) {
    if (by) one_less(by);
}

void owner_calls::one_less(const awaited& by) {
    const std::uint64_t token = by->token_;
    if (by->missing_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    const std::lock_guard lock(mutex_);
    open_.erase(token);
}

} // namespace craton::array
