#include "node_sum.hpp"

#include <craton/base/assert.hpp>

#include <atomic>
#include <cstddef>
#include <utility>

namespace craton::runtime {

/// In the zeroed memory of a node's first rank. What all add to and what all look at while they wait lie on lines of their own.
struct node_sum::desk {
    alignas(64) std::atomic<std::uint64_t> come; ///< ranks, of all turns
    std::array<std::atomic<std::int64_t>, 2> sum;
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);
    alignas(64) std::atomic<std::uint64_t> handed; ///< turn that `totals` are of
    pair totals;
};

node_sum::node_sum(const comm::communicator& world, const node& neighbours, doorbell& bell)
    : neighbours_(&neighbours), bell_(&bell), several_nodes_(neighbours.count > 1) {
    if (neighbours.ranks.size() > 1) {
        memory_ = memory_file(neighbours.communicator, sizeof(desk));
        desk_ = reinterpret_cast<desk*>(memory_.base(0)); // zeroed memory is a desk at which nobody has come
    } else {
        alone_ = std::make_unique<desk>();
        desk_ = alone_.get();
    }
    if (!several_nodes_) return;
    between_nodes_ = neighbours.communicator.rank() == 0;
    auto of_this_kind = world.split(between_nodes_ ? 0 : 1);
    if (between_nodes_) first_ranks_ = std::move(of_this_kind);
}

node_sum::~node_sum() = default;

bool node_sum::rings() const noexcept { return !between_nodes_ || desk_->come.load(std::memory_order_relaxed) != all_have_come(); }

node_sum::pair node_sum::collect() {
    pair all{};
    // Nobody adds to them again before this turn's totals are handed out.
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = desk_->sum[i].exchange(0, std::memory_order_relaxed);
    return all;
}

void node_sum::hand_out(pair totals) {
    desk_->totals = totals;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    desk_->handed.store(turn_, std::memory_order_release);
    const int own_place = neighbours_->communicator.rank();
    for (int place = 0; place < neighbours_->communicator.size(); ++place) {
        if (place != own_place) bell_->ring_if_crowded(neighbours_->ranks.at(place));
    }
}

void node_sum::start(pair own) {
    CRATON_ASSERT(done_);
    of_numbers_ = true;
    for (std::size_t i = 0; i < own.size(); ++i) desk_->sum[i].fetch_add(own[i], std::memory_order_relaxed);
    come();
}

void node_sum::start_barrier() {
    CRATON_ASSERT(done_);
    of_numbers_ = false;
    come();
}

void node_sum::come() {
    ++turn_;
    done_ = false;
    crossing_ = false;
    std::atomic_thread_fence(std::memory_order_seq_cst); // streaming stores, too, come before it
    if (desk_->come.fetch_add(1, std::memory_order_acq_rel) + 1 != all_have_come()) return;
    if (!several_nodes_) {
        hand_out(collect());
    } else if (!between_nodes_) {
        bell_->ring_if_crowded(neighbours_->ranks.at(0));
    }
}

bool node_sum::test() {
    if (done_) return true;
    if (between_nodes_ && desk_->come.load(std::memory_order_acquire) == all_have_come()) {
        if (!crossing_) {
            sum_ = collect();
            crossed_ = of_numbers_ ? first_ranks_->start_sum(sum_, totals_) : first_ranks_->start_barrier();
            crossing_ = true;
        }
        if (!crossed_.test()) return false;
        hand_out(totals_);
        done_ = true;
    } else if (desk_->handed.load(std::memory_order_acquire) == turn_) {
        totals_ = desk_->totals;
        done_ = true;
    }
    return done_;
}

} // namespace craton::runtime
