#include <craton/runtime/counter.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <cstring>

namespace craton::runtime {

namespace {

int checked_owner(const world& ranks, int owner) {
    if (owner < 0 || owner >= ranks.size()) {
        throw user_error(fmt::format("counter: owner rank {} does not exist; allowed: 0 to {}", owner, ranks.size() - 1));
    }
    return owner;
}

} // namespace

counter::counter(world& ranks, int owner)
    : world_(&ranks), owner_(checked_owner(ranks, owner)), memory_(ranks, sizeof(std::int64_t)),
      here_(global_ptr<std::int64_t>{&memory_, owner, 0}.local()),
      handler_(ranks.register_handler([this](const incoming_message& message) {
          std::int64_t increment = 0;
          std::memcpy(&increment, message.payload.data(), sizeof(increment));
          const std::int64_t before = fetch_add(increment);
          world_->reply(message, std::as_bytes(std::span(&before, 1)));
      })) {
    ranks.barrier();
}

counter::~counter() { world_->unregister_handler(handler_); }

std::int64_t counter::ask(std::int64_t increment) {
    const auto answer = world_->call(owner_, handler_, std::as_bytes(std::span(&increment, 1)));
    std::int64_t before = 0;
    std::memcpy(&before, answer.data(), sizeof(before));
    return before;
}

void counter::reset() {
    world_->barrier();
    if (world_->rank() == owner_) std::atomic_ref(*here_).store(0, std::memory_order_release);
    world_->barrier();
}

} // namespace craton::runtime
