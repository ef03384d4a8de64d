#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/runtime/progress_thread.hpp>
#include <craton/runtime/work_queue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace craton;

class work_queue_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(work_queue_test);

// Every task was done once, by whichever rank.
void expect_each_once(runtime::world& world, std::vector<double> times) {
    world.quiesce(); // victims go on answering until all are done
    world.communicator().sum_in_place(std::span(times));
    for (std::size_t task = 0; task < times.size(); ++task) ASSERT_EQ(times[task], 1.0) << "task " << task;
    world.barrier();
}

TEST_P(work_queue_test, every_task_goes_to_exactly_one_caller) {
    for (const std::int64_t count : {0, 1, 2, 3, 1000}) {
        runtime::work_queue queue(world(), count);
        for (int round = 0; round < 3; ++round) {
            std::vector<double> times(static_cast<std::size_t>(count), 0.0);
            while (const auto task = queue.next()) times[static_cast<std::size_t>(*task)] += 1.0;
            expect_each_once(world(), times);
            queue.reset();
        }
    }
}

TEST_P(work_queue_test, threads_share_a_rank_s_tasks_and_what_it_steals) {
    constexpr std::int64_t count = 3000;
    runtime::work_queue queue(world(), count);
    std::vector<double> times(count, 0.0);
    std::mutex mutex;
    {
        std::vector<std::jthread> team;
        for (int t = 0; t < 3; ++t) {
            team.emplace_back([&] {
                while (const auto task = queue.next()) {
                    const std::lock_guard guard(mutex);
                    times[static_cast<std::size_t>(*task)] += 1.0;
                }
            });
        }
    }
    expect_each_once(world(), times);
}

TEST_P(work_queue_test, ranks_begin_with_equal_shares_of_the_predicted_cost) {
    constexpr std::size_t count = 1000;
    std::vector<double> cost(count);
    double total = 0.0;
    for (std::size_t i = 0; i < count; ++i) total += cost[i] = i < 100 ? 50.0 : 1.0; // the first tenth costs most
    runtime::work_queue queue(world(), cost);
    const auto [first, last] = queue.own();
    double own = 0.0;
    for (std::int64_t i = first; i < last; ++i) own += cost[static_cast<std::size_t>(i)];
    EXPECT_NEAR(own, total / world().size(), 50.0); // a task at each end
    EXPECT_EQ(world().communicator().sum(last - first), std::int64_t{count});
    // All tasks free: shared by number.
    runtime::work_queue free(world(), std::vector<double>(100, 0.0));
    EXPECT_NEAR(static_cast<double>(free.own().second - free.own().first), 100.0 / world().size(), 1.0);
    world().barrier();
}

TEST_P(work_queue_test, ranks_that_predict_differently_still_divide_the_tasks_alike) {
    constexpr std::size_t count = 5000;
    std::vector<double> cost(count);
    // Far more than rounding, so that it shows in a few thousand tasks: each rank finds others expensive.
    for (std::size_t i = 0; i < count; ++i) cost[i] = 1.0 + static_cast<double>((i + static_cast<std::size_t>(world().rank())) % 7);
    if (world().rank() > 0) cost[0] = 1000.0 * world().rank();
    runtime::work_queue queue(world(), cost);
    const auto firsts = world().communicator().all_gather(queue.own().first);
    const auto lasts = world().communicator().all_gather(queue.own().second);
    EXPECT_EQ(firsts.front(), 0);
    EXPECT_EQ(lasts.back(), std::int64_t{count});
    for (std::size_t r = 1; r < firsts.size(); ++r) EXPECT_EQ(firsts[r], lasts[r - 1]);
    std::vector<double> times(count, 0.0);
    while (const auto task = queue.next()) times[static_cast<std::size_t>(*task)] += 1.0;
    expect_each_once(world(), times);
}

TEST_P(work_queue_test, ranks_may_know_their_own_tasks_alone) {
    // The last rank has made nearly all of the work, others none or some that costs nothing.
    const auto rank = static_cast<std::size_t>(world().rank());
    const bool is_last = world().rank() + 1 == world().size();
    const std::vector<double> cost(is_last ? 997 : 3 * rank, is_last ? 2.0 : 0.0);
    runtime::work_queue queue(world(), runtime::work_queue::own_costs{cost});
    const auto count = world().communicator().sum(static_cast<std::int64_t>(cost.size()));
    EXPECT_EQ(queue.count(), count);
    const auto firsts = world().communicator().all_gather(queue.own().first);
    const auto lasts = world().communicator().all_gather(queue.own().second);
    EXPECT_EQ(firsts.front(), 0);
    EXPECT_EQ(lasts.back(), count);
    for (std::size_t r = 1; r < firsts.size(); ++r) EXPECT_EQ(firsts[r], lasts[r - 1]);
    const auto costly = std::max<std::int64_t>(0, lasts[rank] - std::max(firsts[rank], count - 997));
    EXPECT_NEAR(static_cast<double>(costly), 997.0 / world().size(), 1.0);
    for (int round = 0; round < 2; ++round) {
        std::vector<double> times(static_cast<std::size_t>(count), 0.0);
        while (const auto task = queue.next()) times[static_cast<std::size_t>(*task)] += 1.0;
        expect_each_once(world(), times);
        queue.reset();
    }
    runtime::work_queue none(world(), runtime::work_queue::own_costs{});
    EXPECT_EQ(none.next(), std::nullopt);
    world().barrier();
}

TEST_P(work_queue_test, wrong_predictions_are_made_good_by_stealing) {
    // Predicted equal; in truth the tasks of the last rank sleep and the others cost nothing.
    runtime::progress_thread progress(world());
    progress.start();
    const std::int64_t count = 40 * world().size();
    runtime::work_queue queue(world(), count);
    world().barrier();
    const auto start = std::chrono::steady_clock::now();
    std::vector<double> times(static_cast<std::size_t>(count), 0.0);
    std::int64_t done = 0;
    while (const auto task = queue.next()) {
        times[static_cast<std::size_t>(*task)] += 1.0;
        ++done;
        if (*task >= count - 40) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    expect_each_once(world(), times);
    EXPECT_EQ(world().communicator().sum(done), count);
    if (world().size() > 1) {
        // Alone the last rank would sleep 0.4 s; a rank that helps takes a part of its tasks.
        EXPECT_GT(world().communicator().sum(queue.stolen()), 0);
        if (world().rank() == world().size() - 1) {
            EXPECT_LT(done, 40);
        }
        EXPECT_LT(static_cast<double>(world().communicator().minimum(static_cast<std::int64_t>(took.count() * 1000))), 400.0);
    }
    world().barrier();
}

TEST_P(work_queue_test, refuses_costs_and_counts_that_make_no_sense) {
    std::vector<double> cost(10, 1.0);
    if (world().rank() == world().size() - 1) cost[3] = -1.0;
    tests::expect_user_error([&] { const runtime::work_queue queue(world(), cost); }, {"predicted cost -1 of task 3", "allowed"});
    cost[3] = std::numeric_limits<double>::quiet_NaN();
    tests::expect_user_error([&] { const runtime::work_queue queue(world(), cost); }, {"task 3", "allowed: finite"});
    tests::expect_user_error([&] { const runtime::work_queue queue(world(), runtime::work_queue::own_costs{cost}); },
                             {"task 3", "allowed: finite"});
    const std::vector<double> huge(10, 1e308);
    tests::expect_user_error([&] { const runtime::work_queue queue(world(), huge); }, {"allowed: a finite sum"});
    tests::expect_user_error([&] { const runtime::work_queue queue(world(), runtime::work_queue::own_costs{huge}); },
                             {"allowed: a finite sum"});
    std::vector<double> own(2, 1.0);
    if (world().rank() == world().size() - 1) own[1] = -2.0;
    tests::expect_user_error([&] { const runtime::work_queue queue(world(), runtime::work_queue::own_costs{own}); },
                             {"predicted cost -2 of task " + std::to_string(2 * world().size() - 1)});
    tests::expect_user_error([&] { const runtime::work_queue queue(world(), std::int64_t{-1}); }, {"-1 tasks"});
    tests::expect_user_error([&] { const runtime::work_queue queue(world(), std::int64_t{1} << 32); }, {"4294967296 tasks"});
    if (world().size() > 1) {
        tests::expect_user_error([&] { const runtime::work_queue queue(world(), std::int64_t{world().rank()}); },
                                 {"the ranks give 0 to", "allowed: the same number"});
    }
    world().barrier();
}

} // namespace
