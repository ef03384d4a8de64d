#pragma once

#include <craton/runtime/segment.hpp>
#include <craton/runtime/world.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace craton::runtime {

/// Hands out the task numbers 0 to count - 1, each to exactly one caller (Ozog et al. 2016, II-E, Algorithm 3): first every rank's
/// own, a run of consecutive numbers of about equal predicted cost, then, when those are used up, half of what another rank has
/// left: of the neighbour on the node with the most (by the mean cost of what it began with), else of ranks tried in random order,
/// 16 + 8 log2(ranks) of them at most. What is stolen can be stolen again.
///
/// A rank's own tasks cost an atomic operation in its memory; stealing from another node costs a message and its reply, for which
/// the victim must poll or have a progress_thread. Any thread.
class work_queue {
  public:
    /// Predicted costs of tasks that this rank alone has made. They are numbered behind those of the ranks before it.
    struct own_costs {
        std::span<const double> of_tasks;
    };

    /// Collective; the predicted cost of every task (in any unit, relative). Ranks may compute it each for itself and differ by
    /// rounding: each rank's costs count for a part of the tasks. Throws user_error on every rank for a cost that is negative or
    /// not finite, for costs whose sum is not, for 2^32 tasks or more, when ranks give different numbers of tasks, and when some
    /// ranks give costs and others none.
    work_queue(world& ranks, std::span<const double> predicted_cost);
    /// The same where nobody knows all tasks, and in the same unit on all ranks. Throws user_error on every rank for costs as
    /// above, and for 2^32 tasks or more in all.
    work_queue(world& ranks, const own_costs& predicted_cost);
    /// All tasks cost the same.
    work_queue(world& ranks, std::int64_t count);
    work_queue(const work_queue&) = delete;
    work_queue& operator=(const work_queue&) = delete;
    /// Not collective; no next() of any rank may be under way.
    ~work_queue();

    /// The next task for the caller; nothing when there are none left that it could find: a task being stolen is found only by its
    /// thief, and of very many ranks not all are asked. Blocking while it steals, and then polls. Not inside a handler.
    [[nodiscard]] std::optional<std::int64_t> next();
    /// Collective: all tasks are to be done again. No next() may be under way.
    void reset();

    /// Tasks of all ranks.
    [[nodiscard]] std::int64_t count() const { return count_; }
    /// Tasks [first, second) that are this rank's before anything is stolen.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> own() const { return own_; }
    /// How many of the tasks that this rank was given it had stolen.
    [[nodiscard]] std::int64_t stolen() const noexcept { return stolen_.load(std::memory_order_relaxed); }

  private:
    using word = std::atomic<std::uint64_t>; // tasks [high half, low half) of a rank, not yet handed out
    // Of each rank, where all can reach it.
    struct shared_state {
        word left;
        std::atomic<double> cost_of_one; // of those on average: whom to steal from
        std::int64_t first, last;        // what it begins with
    };
    struct loot {
        std::uint64_t range = 0;
        double cost_of_one = 0;
    };
    struct checked_tasks {
        std::int64_t count;
        std::int64_t given_before;    // tasks whose costs ranks before this one give
        std::span<const double> cost; // of those that this one gives
        bool all_alike;
    };
    [[nodiscard]] static checked_tasks checked(world& ranks, std::int64_t count, const std::span<const double>* cost);
    [[nodiscard]] static checked_tasks checked(world& ranks, const own_costs& cost);
    work_queue(world& ranks, const checked_tasks& tasks);
    [[nodiscard]] shared_state& state_of(int rank) const; // of a rank of the node
    [[nodiscard]] std::optional<std::int64_t> take_own();
    [[nodiscard]] std::optional<std::int64_t> steal();
    [[nodiscard]] std::optional<std::int64_t> keep_stolen(const loot& stolen);
    [[nodiscard]] loot steal_from(int victim);
    [[nodiscard]] int richest_neighbour() const;
    void divide_by_number();
    void divide(const checked_tasks& tasks);

    world* world_;
    std::int64_t count_;
    std::pair<std::int64_t, std::int64_t> own_{0, 0};
    double cost_of_own_ = 1; // of one of them, on average
    segment memory_;
    handler_id handler_;
    std::mutex thief_; // one thread of a rank steals, for all
    std::mt19937_64 random_;
    std::atomic<std::int64_t> stolen_{0};
};

} // namespace craton::runtime
