#include <craton/runtime/work_queue.hpp>

#include "victims.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/runtime/copy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
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

// first: the number of the first of these tasks.
std::string bad_cost(std::span<const double> cost, std::int64_t first) {
    for (std::size_t i = 0; i < cost.size(); ++i) {
        if (!std::isfinite(cost[i]) || cost[i] < 0.0) {
            return fmt::format("work_queue: predicted cost {} of task {}; allowed: finite numbers, 0 or more", cost[i],
                               first + static_cast<std::int64_t>(i));
        }
    }
    return {};
}

// The same bits on every rank. Collective.
double sum_of_all(const comm::communicator& ranks, std::span<const double> own) {
    std::array<double, 1> sum{std::accumulate(own.begin(), own.end(), 0.0)};
    ranks.sum_in_place(std::span<double>(sum));
    const double found = ranks.maximum(sum[0]);
    if (std::isfinite(found)) return found;
    throw user_error("work_queue: the predicted costs of all tasks are too much together; allowed: a finite sum");
}

void check_count(std::int64_t count) {
    if (count < 0 || count > std::int64_t{std::numeric_limits<std::uint32_t>::max()}) {
        throw user_error(fmt::format("work_queue: {} tasks; allowed: 0 to 2^32 - 1", count));
    }
}

} // namespace

// cost: null where all tasks cost the same.
work_queue::checked_tasks work_queue::checked(world& ranks, std::int64_t count, const std::span<const double>* cost) {
    ranks.barrier(); // polls, before what does not
    const auto& all = ranks.communicator();
    const std::int64_t least = all.minimum(count);
    const std::int64_t most = all.maximum(count);
    if (least != most) {
        throw user_error(
            fmt::format("work_queue: the ranks give {} to {} tasks; allowed: the same number on every rank", least, most));
    }
    check_count(count);
    const bool others_have = all.maximum(cost != nullptr ? 1 : 0) != 0;
    comm::agree(all, (cost != nullptr) == others_have ? (cost != nullptr ? bad_cost(*cost, 0) : std::string())
                                                      : "work_queue: costs of tasks on some ranks; allowed: on all or on none");
    if (cost == nullptr) return {count, 0, {}, true};
    const std::int64_t first = count * ranks.rank() / ranks.size();
    const std::int64_t last = count * (ranks.rank() + 1) / ranks.size();
    return {count, first, cost->subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)), false};
}

work_queue::checked_tasks work_queue::checked(world& ranks, const own_costs& cost) {
    ranks.barrier(); // polls, before what does not
    const auto& all = ranks.communicator();
    const auto own = static_cast<std::int64_t>(cost.of_tasks.size());
    const std::int64_t count = all.sum(own);
    check_count(count);
    const std::int64_t before = all.sum_of_ranks_before(own);
    comm::agree(all, bad_cost(cost.of_tasks, before));
    return {count, before, cost.of_tasks, false};
}

work_queue::work_queue(world& ranks, std::span<const double> predicted_cost)
    : work_queue(ranks, checked(ranks, static_cast<std::int64_t>(predicted_cost.size()), &predicted_cost)) {}

work_queue::work_queue(world& ranks, const own_costs& predicted_cost) : work_queue(ranks, checked(ranks, predicted_cost)) {}

work_queue::work_queue(world& ranks, std::int64_t count) : work_queue(ranks, checked(ranks, count, nullptr)) {}

work_queue::work_queue(world& ranks, const checked_tasks& tasks)
    : world_(&ranks), count_(tasks.count), memory_(ranks, sizeof(shared_state)),
      handler_(ranks.register_handler([this](const incoming_message& message) {
          auto& own = state_of(world_->rank());
          const loot given{take_half(own.left), own.cost_of_one.load(std::memory_order_relaxed)};
          world_->reply(message, std::as_bytes(std::span(&given, 1)));
      })),
      random_(static_cast<std::uint64_t>(ranks.rank()) + 1) {
    if (tasks.all_alike) {
        divide_by_number();
    } else {
        divide(tasks);
    }
    reset();
}

work_queue::~work_queue() { world_->unregister_handler(handler_); }

void work_queue::divide_by_number() {
    const auto first = [&](std::int64_t rank) { return count_ * rank / world_->size(); };
    own_ = {first(world_->rank()), first(world_->rank() + 1)};
}

// Rank r begins where r / ranks of the cost lies before; tasks of no cost at all are divided by number. Costs become whole numbers,
// whose sums are the same in any order: who has the tasks where a rank begins is then certain, and tells it.
void work_queue::divide(const checked_tasks& tasks) {
    constexpr auto all_cost = static_cast<double>(std::int64_t{1} << 40); // times any number of ranks it is still a 64-bit number
    const auto& all = world_->communicator();
    const std::int64_t ranks = world_->size();
    const double total_cost = sum_of_all(all, tasks.cost);
    std::vector<std::int64_t> before{0}; // each of its tasks, and all of them
    for (const double each : tasks.cost)
        before.push_back(before.back() + (total_cost > 0.0 ? std::llround(each / total_cost * all_cost) : 1));
    const std::int64_t before_these = all.sum_of_ranks_before(before.back());
    const std::int64_t total = all.sum(before.back());
    auto& own = state_of(world_->rank());
    own.first = 0;
    own.last = count_;
    world_->barrier();
    std::vector<copy_handle> under_way;
    const auto tell = [&](std::int64_t rank, std::size_t place, std::int64_t task) {
        under_way.push_back(
            start_rput(std::span<const std::int64_t>(&task, 1), global_ptr<std::int64_t>{&memory_, static_cast<int>(rank), place}));
    };
    const auto wanted = [&](std::int64_t rank) { return total * rank / ranks; };
    std::int64_t rank = total > 0 ? (before_these * ranks + total - 1) / total : ranks;
    for (rank = std::max<std::int64_t>(rank, 1); rank < ranks && wanted(rank) < before_these + before.back(); ++rank) {
        const std::int64_t here = wanted(rank) - before_these;
        // The nearer of the two places between tasks that surround it.
        auto place = std::ranges::lower_bound(before, here);
        if (place != before.begin() && here - *std::prev(place) < *place - here) --place;
        const std::int64_t task = tasks.given_before + (place - before.begin());
        tell(rank, offsetof(shared_state, first), task);
        tell(rank - 1, offsetof(shared_state, last), task);
    }
    for (auto& each : under_way) each.wait();
    world_->barrier();
    own_ = {own.first, own.last};
    // Ranks begin with equal shares, so this says how many tasks make one: enough to choose whom to steal from.
    cost_of_own_ = static_cast<double>(total) / static_cast<double>(ranks * std::max<std::int64_t>(1, own_.second - own_.first));
}

void work_queue::reset() {
    world_->barrier();
    const auto [first, last] = own();
    auto& state = state_of(world_->rank());
    state.cost_of_one.store(cost_of_own_, std::memory_order_relaxed);
    state.left.store(pack(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last)), std::memory_order_release);
    stolen_.store(0, std::memory_order_relaxed);
    world_->barrier();
}

work_queue::shared_state& work_queue::state_of(int rank) const { return *global_ptr<shared_state>{&memory_, rank, 0}.local(); }

std::optional<std::int64_t> work_queue::take_own() {
    auto& left = state_of(world_->rank()).left;
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
        const auto& state = state_of(rank);
        const double of_one = state.cost_of_one.load(std::memory_order_relaxed);
        const double cost = of_one * static_cast<double>(count_of(state.left.load(std::memory_order_acquire)));
        if (cost > most) {
            most = cost;
            richest = rank;
        }
    }
    return richest;
}

work_queue::loot work_queue::steal_from(int victim) {
    if (world_->shares_memory_with(victim)) {
        auto& state = state_of(victim);
        return {take_half(state.left), state.cost_of_one.load(std::memory_order_relaxed)};
    }
    const auto answer = world_->call(victim, handler_, {});
    loot stolen;
    std::memcpy(&stolen, answer.data(), sizeof(stolen));
    return stolen;
}

// The first is the thief's own; the others can be taken by its other threads, and be stolen again.
std::optional<std::int64_t> work_queue::keep_stolen(const loot& stolen) {
    stolen_.fetch_add(static_cast<std::int64_t>(count_of(stolen.range)), std::memory_order_relaxed);
    auto& own = state_of(world_->rank());
    own.cost_of_one.store(stolen.cost_of_one, std::memory_order_relaxed);
    // Empty since this thread looked, and only this thread fills it.
    own.left.store(pack(first_of(stolen.range) + 1, last_of(stolen.range)), std::memory_order_release);
    return static_cast<std::int64_t>(first_of(stolen.range));
}

std::optional<std::int64_t> work_queue::steal() {
    for (int victim = richest_neighbour(); victim >= 0; victim = richest_neighbour()) {
        const auto stolen = steal_from(victim);
        if (count_of(stolen.range) > 0) return keep_stolen(stolen);
    }
    const auto victims = draw_victims(
        world_->size(), world_->node().communicator.size(), [this](int rank) { return world_->shares_memory_with(rank); }, random_);
    for (const int victim : victims) {
        const auto stolen = steal_from(victim);
        if (count_of(stolen.range) > 0) return keep_stolen(stolen);
    }
    return std::nullopt;
}

} // namespace craton::runtime
