#include <craton/runtime/notified_copies.hpp>

#include "copy_engine.hpp"

#include <craton/base/assert.hpp>

#include <mutex>
#include <unordered_map>

namespace craton::runtime {

struct notified_copies::unsent {
    std::mutex mutex;
    std::unordered_map<int, std::vector<copy_engine::counted_copy>> by_target;
};

notified_copies::notified_copies(world& ranks)
    : world_(&ranks), elements_(ranks), unsent_(std::make_unique<unsent>()), copied_(ranks.node().ranks.size()) {}

notified_copies::~notified_copies() { world_->copies().forget_rounds(elements_.name()); }

void notified_copies::begin_round() { world_->copies().open_round(elements_, round_); }

void notified_copies::start(const copy_end& source, const copy_end& target, const copy_shape& shape, std::size_t element_bytes) {
    const strided_box box = checked_copy(source, target, shape, element_bytes);
    if (box.elements() == 0) return;
    CRATON_ASSERT(source.in->base(source.rank) != nullptr);
    if (const auto later = copy_engine::copy_or_name(source, target, box)) {
        const std::lock_guard lock(unsent_->mutex);
        unsent_->by_target[target.rank].push_back(*later);
    } else {
        const int place = world_->node().ranks.of(target.rank);
        CRATON_ASSERT(place >= 0);
        copied_[static_cast<std::size_t>(place)].fetch_add(box.elements(), std::memory_order_relaxed);
    }
}

void notified_copies::end_round(std::span<const int> targets) {
    for (const int target : targets) {
        if (const int place = world_->node().ranks.of(target); place >= 0) {
            const std::int64_t copied = copied_[static_cast<std::size_t>(place)].exchange(0, std::memory_order_relaxed);
            if (copied > 0) {
                elements_.at_neighbour(target, round_).fetch_add(copied, std::memory_order_release);
                world_->wake(target);
            }
        }
        if (const auto found = unsent_->by_target.find(target); found != unsent_->by_target.end()) {
            world_->copies().send_counted(target, found->second, {elements_.name(), round_});
            world_->flush(target); // it does not wait for company
            found->second.clear();
        }
    }
    ++round_;
}

void notified_copies::wait(int source, std::int64_t elements) {
    // On a node data comes within the time of a cache miss when its sender has a core; then whoever computes has it first.
    constexpr int looks_between_polls = 50;
    const std::int64_t round = round_ - 1;
    auto& wanted = waited_for_[source][static_cast<std::size_t>(round) % arrival_counters::turns];
    wanted += elements;
    const auto& arrived = elements_.of(source, round);
    const auto is_here = [&, looks = world_->shares_memory_with(source) ? looks_between_polls : 1] {
        for (int look = 0; look < looks; ++look) {
            if (arrived.load(std::memory_order_acquire) >= wanted) return true;
        }
        return false;
    };
    if (!is_here()) world_->wait_until(is_here);
}

} // namespace craton::runtime
