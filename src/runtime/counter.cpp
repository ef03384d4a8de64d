#include <craton/runtime/counter.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cstring>

namespace craton::runtime {

namespace {

int checked_owner(const world& ranks, int owner) {
    if (owner < 0 || owner >= ranks.size()) {
        throw user_error(fmt::format("counter: owner rank {} does not exist; allowed: 0 to {}", owner, ranks.size() - 1));
    }
    return owner;
}

std::int64_t add_in_place(const segment& memory, int owner, std::int64_t increment) {
    const global_ptr<std::int64_t> value{&memory, owner, 0};
    return std::atomic_ref(*value.local()).fetch_add(increment, std::memory_order_acq_rel);
}

} // namespace

counter::counter(world& ranks, int owner)
    : world_(&ranks), owner_(checked_owner(ranks, owner)), memory_(ranks, sizeof(std::int64_t)),
      handler_(ranks.register_handler([this](const incoming_message& message) {
          std::int64_t increment = 0;
          std::memcpy(&increment, message.payload.data(), sizeof(increment));
          const std::int64_t before = add_in_place(memory_, owner_, increment);
          world_->reply(message, std::as_bytes(std::span(&before, 1)));
      })) {
    ranks.barrier();
}

counter::~counter() { world_->unregister_handler(handler_); }

std::int64_t counter::fetch_add(std::int64_t increment) {
    if (world_->shares_memory_with(owner_)) return add_in_place(memory_, owner_, increment);
    const auto answer = world_->call(owner_, handler_, std::as_bytes(std::span(&increment, 1)));
    std::int64_t before = 0;
    std::memcpy(&before, answer.data(), sizeof(before));
    return before;
}

void counter::reset() {
    world_->barrier();
    if (world_->rank() == owner_) {
        const global_ptr<std::int64_t> value{&memory_, owner_, 0};
        std::atomic_ref(*value.local()).store(0, std::memory_order_release);
    }
    world_->barrier();
}

} // namespace craton::runtime
