#include <craton/runtime/work_queue.hpp>

#include "victims.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace craton::runtime {

namespace {

constexpr std::uint64_t pack(std::uint64_t first, std::uint64_t last) { return first << 32U | last; }
constexpr std::uint64_t first_of(std::uint64_t range) { return range >> 32U; }
constexpr std::uint64_t last_of(std::uint64_t range) { return range & 0xffffffffU; }
constexpr std::uint64_t count_of(std::uint64_t range) { return last_of(range) - first_of(range); }

// Takes the later half of what is left, so that the owner keeps what comes next for it; nothing is {0, 0}.
std::uint64_t take_half(std::atomic<std::uint64_t>& left) {
    std::uint64_t range = left.load(std::memory_order_acquire);
    while (count_of(range) > 0) {
        const std::uint64_t middle = first_of(range) + count_of(range) / 2;
        if (left.compare_exchange_weak(range, pack(first_of(range), middle), std::memory_order_acq_rel)) {
            return pack(middle, last_of(range));
        }
    }
    return 0;
}

std::string bad_cost(std::span<const double> cost) {
    for (std::size_t i = 0; i < cost.size(); ++i) {
        if (!std::isfinite(cost[i]) || cost[i] < 0.0) {
            return fmt::format("work_queue: predicted cost {} of task {}; allowed: finite numbers, 0 or more", cost[i], i);
        }
    }
    return {};
}

// cost: nothing where all tasks cost the same.
std::vector<double> checked_sums(world& ranks, std::int64_t count, std::optional<std::span<const double>> cost) {
    ranks.barrier(); // polls, before what does not
    const auto& all = ranks.communicator();
    const std::int64_t least = all.minimum(count);
    const std::int64_t most = all.maximum(count);
    if (least != most) {
        throw user_error(
            fmt::format("work_queue: the ranks give {} to {} tasks; allowed: the same number on every rank", least, most));
    }
    if (count < 0 || count > std::int64_t{std::numeric_limits<std::uint32_t>::max()}) {
        throw user_error(fmt::format("work_queue: {} tasks; allowed: 0 to 2^32 - 1", count));
    }
    const bool others_have = all.maximum(cost ? 1 : 0) != 0;
    comm::agree(all, cost.has_value() == others_have ? (cost ? bad_cost(*cost) : std::string())
                                                     : "work_queue: costs of tasks on some ranks; allowed: on all or on none");
    if (!cost || cost->empty()) return {};
    std::vector<double> sums(static_cast<std::size_t>(count) + 1, 0.0);
    for (std::size_t i = 0; i + 1 < sums.size(); ++i) sums[i + 1] = sums[i] + (*cost)[i];
    return sums;
}

} // namespace

work_queue::work_queue(world& ranks, std::span<const double> predicted_cost)
    : work_queue(ranks, {static_cast<std::int64_t>(predicted_cost.size()),
                         checked_sums(ranks, static_cast<std::int64_t>(predicted_cost.size()), predicted_cost)}) {}

work_queue::work_queue(world& ranks, std::int64_t count) : work_queue(ranks, {count, checked_sums(ranks, count, std::nullopt)}) {}

work_queue::work_queue(world& ranks, counted_costs costs)
    : world_(&ranks), count_(costs.count), cost_before_(std::move(costs.before)), memory_(ranks, sizeof(word)),
      handler_(ranks.register_handler([this](const incoming_message& message) {
          const std::uint64_t range = take_half(left_at(world_->rank()));
          world_->reply(message, std::as_bytes(std::span(&range, 1)));
      })),
      random_(static_cast<std::uint64_t>(ranks.rank()) + 1) {
    partition();
    reset();
}

work_queue::~work_queue() { world_->unregister_handler(handler_); }

// Rank r begins where r / ranks of the cost lies before; tasks of no cost at all are divided by number. Rank 0's answer holds:
// costs that each rank has computed may differ in the last bit, and where the ranks disagree tasks would be done twice or never.
void work_queue::partition() {
    const auto ranks = static_cast<std::size_t>(world_->size());
    const auto rank = static_cast<std::size_t>(world_->rank());
    const double total = cost_before(count_);
    const auto by_number = [&](std::size_t r) { return count_ * static_cast<std::int64_t>(r) / static_cast<std::int64_t>(ranks); };
    if (cost_before_.empty()) { // whole numbers are the same everywhere
        own_ = {by_number(rank), by_number(rank + 1)};
        return;
    }
    std::vector<std::int64_t> first(ranks + 1, count_);
    for (std::size_t r = 0; r < ranks; ++r) {
        if (!(total > 0.0)) {
            first[r] = by_number(r);
            continue;
        }
        const double wanted = total * static_cast<double>(r) / static_cast<double>(ranks);
        // The nearer of the two places between tasks that surround it.
        auto place = std::lower_bound(cost_before_.begin(), cost_before_.end(), wanted);
        if (place != cost_before_.begin() && wanted - *std::prev(place) < *place - wanted) --place;
        first[r] = place - cost_before_.begin();
    }
    first[0] = 0;
    world_->communicator().broadcast_in_place(first);
    own_ = {first[rank], first[rank + 1]};
}

void work_queue::reset() {
    world_->barrier();
    const auto [first, last] = own();
    left_at(world_->rank())
        .store(pack(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last)), std::memory_order_release);
    stolen_.store(0, std::memory_order_relaxed);
    world_->barrier();
}

work_queue::word& work_queue::left_at(int rank) const { return *global_ptr<word>{&memory_, rank, 0}.local(); }

double work_queue::cost_before(std::int64_t task) const {
    return cost_before_.empty() ? static_cast<double>(task) : cost_before_[static_cast<std::size_t>(task)];
}

double work_queue::cost_of(std::uint64_t range) const {
    // A range may be empty anywhere; what costs nothing still counts a little, or it would never be stolen.
    const double cost =
        cost_before(static_cast<std::int64_t>(last_of(range))) - cost_before(static_cast<std::int64_t>(first_of(range)));
    return cost + static_cast<double>(count_of(range)) * 1e-12 * (1.0 + cost_before(count_));
}

std::optional<std::int64_t> work_queue::take_own() {
    auto& left = left_at(world_->rank());
    std::uint64_t range = left.load(std::memory_order_acquire);
    while (count_of(range) > 0) {
        if (left.compare_exchange_weak(range, pack(first_of(range) + 1, last_of(range)), std::memory_order_acq_rel)) {
            return static_cast<std::int64_t>(first_of(range));
        }
    }
    return std::nullopt;
}

std::optional<std::int64_t> work_queue::next() {
    if (auto task = take_own()) return task;
    std::unique_lock guard(thief_, std::try_to_lock);
    if (!guard.owns_lock()) { // another thread steals; what it brings is for all
        std::optional<std::int64_t> task;
        world_->wait_until([&] {
            task = take_own();
            return task || guard.try_lock();
        });
        if (task) return task;
    }
    auto task = take_own();
    if (!task) task = steal();
    guard.unlock();
    world_->wake(world_->rank()); // those that wait for this thread's theft
    return task;
}

int work_queue::richest_neighbour() const {
    int richest = -1;
    double most = 0.0;
    for (const int rank : world_->node().ranks.all()) {
        if (rank == world_->rank()) continue;
        const double cost = cost_of(left_at(rank).load(std::memory_order_acquire));
        if (cost > most) {
            most = cost;
            richest = rank;
        }
    }
    return richest;
}

std::uint64_t work_queue::steal_from(int victim) {
    if (world_->shares_memory_with(victim)) return take_half(left_at(victim));
    const auto answer = world_->call(victim, handler_, {});
    std::uint64_t range = 0;
    std::memcpy(&range, answer.data(), sizeof(range));
    return range;
}

// The first is the thief's own; the others can be taken by its other threads, and be stolen again.
std::optional<std::int64_t> work_queue::keep_stolen(std::uint64_t range) {
    stolen_.fetch_add(static_cast<std::int64_t>(count_of(range)), std::memory_order_relaxed);
    // Empty since this thread looked, and only this thread fills it.
    left_at(world_->rank()).store(pack(first_of(range) + 1, last_of(range)), std::memory_order_release);
    return static_cast<std::int64_t>(first_of(range));
}

std::optional<std::int64_t> work_queue::steal() {
    for (int victim = richest_neighbour(); victim >= 0; victim = richest_neighbour()) {
        const std::uint64_t range = steal_from(victim);
        if (count_of(range) > 0) return keep_stolen(range);
    }
    const auto victims = draw_victims(
        world_->size(), world_->node().communicator.size(), [this](int rank) { return world_->shares_memory_with(rank); }, random_);
    for (const int victim : victims) {
        const std::uint64_t range = steal_from(victim);
        if (count_of(range) > 0) return keep_stolen(range);
    }
    return std::nullopt;
}

} // namespace craton::runtime
