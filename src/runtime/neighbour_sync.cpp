#include <craton/runtime/neighbour_sync.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

namespace craton::runtime {

neighbour_sync::neighbour_sync(world& ranks)
    : world_(&ranks), received_(ranks), handler_(ranks.register_handler([this](const incoming_message& message) {
          received_.off_node(message.source).fetch_add(1, std::memory_order_release);
      })) {
    ranks.barrier();
}

neighbour_sync::~neighbour_sync() { world_->unregister_handler(handler_); }

void neighbour_sync::check(std::span<const int> ranks, const char* call) const {
    for (const int rank : ranks) {
        if (rank < 0 || rank >= world_->size()) {
            throw user_error(
                fmt::format("neighbour_sync {}: rank {} does not exist; allowed: 0 to {}", call, rank, world_->size() - 1));
        }
    }
}

void neighbour_sync::signal(std::span<const int> ranks) {
    check(ranks, "signal");
    for (const int target : ranks) {
        if (world_->shares_memory_with(target)) {
            received_.at_neighbour(target).fetch_add(1, std::memory_order_release);
            world_->wake(target);
        } else {
            world_->send(world_->prepare(target, handler_, 0));
            world_->flush(target); // a signal does not wait for company
        }
    }
}

void neighbour_sync::wait(std::span<const int> ranks) {
    check(ranks, "wait");
    // On a node a signal comes within the time of a cache miss when its sender has a core; then whoever computes has it first.
    constexpr int looks_between_polls = 50;
    for (const int source : ranks) {
        const std::int64_t wanted = ++waited_[source];
        const auto& received = received_.of(source);
        const auto is_here = [&, looks = world_->shares_memory_with(source) ? looks_between_polls : 1] {
            for (int look = 0; look < looks; ++look) {
                if (received.load(std::memory_order_acquire) >= wanted) return true;
            }
            return false;
        };
        if (!is_here()) world_->wait_until(is_here);
    }
}

} // namespace craton::runtime
