#include "../../../src/runtime/doorbell.hpp"
#include "../../../src/runtime/node_sum.hpp"
#include "../cpu_seconds.hpp"
#include "../deliveries.hpp"

#include <craton/base/timer.hpp>
#include <craton/runtime/counter.hpp>
#include <craton/runtime/progress_thread.hpp>
#include <craton/runtime/segment.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

namespace {

using namespace craton;
using namespace std::chrono_literals;
using runtime::incoming_message;
using runtime::node_sum;

/// As on a machine with more ranks than cores, on any machine: those that wait long sleep.
class waiting_test : public tests::every_delivery {
  protected:
    void SetUp() override {
        setenv("CRATON_CROWDED", "1", 1);
        tests::every_delivery::SetUp();
        unsetenv("CRATON_CROWDED");
    }
    void send(int target, runtime::handler_id id) {
        world().send(world().prepare(target, id, 0));
        world().flush(target);
    }
};
CRATON_FOR_EVERY_DELIVERY(waiting_test);

TEST_P(waiting_test, sums_are_those_of_mpi_in_every_turn) {
    runtime::doorbell bell(world().communicator());
    node_sum sums(world().communicator(), world().node(), bell);
    const std::int64_t rank = world().rank();
    for (std::int64_t turn = 0; turn < 300; ++turn) {
        const node_sum::pair own{turn * 1'000'000'007 - rank, (rank + 1) * (turn % 7) - (std::int64_t{1} << 40)};
        if (turn % 5 == 4) { // a barrier between them
            sums.start_barrier();
            while (!sums.test()) std::this_thread::yield();
        }
        sums.start(own);
        while (!sums.test()) std::this_thread::yield();
        ASSERT_TRUE(sums.test());
        if (turn % 10 != 0) continue; // MPI's would bring the ranks into step
        EXPECT_EQ(sums.totals(), (node_sum::pair{world().communicator().sum(own[0]), world().communicator().sum(own[1])}));
    }
    world().barrier();
}

TEST_P(waiting_test, a_barrier_lets_nobody_out_before_all_have_come) {
    runtime::counter come(world());
    for (int round = 1; round <= 100; ++round) {
        if ((round + world().rank()) % 17 == 0) std::this_thread::sleep_for(1ms); // another one is last
        static_cast<void>(come.fetch_add());
        world().barrier();
        EXPECT_GE(come.read(), static_cast<std::int64_t>(round) * world().size());
    }
    world().barrier();
}

TEST_P(waiting_test, what_was_written_before_a_barrier_is_seen_behind_it) {
    constexpr std::size_t count = 1000;
    runtime::segment memory(world(), count * sizeof(std::int64_t));
    auto* const mine = reinterpret_cast<std::int64_t*>(memory.local());
    for (std::int64_t round = 1; round <= 50; ++round) {
        std::fill_n(mine, count, round * 100 + world().rank());
        world().barrier();
        for (const int rank : world().node().ranks.all()) {
            const auto* const theirs = reinterpret_cast<const std::int64_t*>(memory.base(rank));
            ASSERT_EQ(std::count(theirs, theirs + count, round * 100 + rank), static_cast<std::ptrdiff_t>(count));
        }
        world().barrier();
    }
}

TEST_P(waiting_test, a_rank_that_waits_long_sleeps_until_a_message_comes) {
    std::atomic<bool> come{false};
    const auto id = world().register_handler([&](const incoming_message&) { come = true; });
    const int next = (world().rank() + 1) % world().size();
    world().barrier();
    std::this_thread::sleep_for(10ms * world().rank()); // so that each waits for another one
    const base::timer wall;
    const double before = tests::cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    std::thread later([&] {
        std::this_thread::sleep_for(60ms);
        send(next, id);
    });
    world().wait_until([&] { return come.load(); });
    const double waited = wall.seconds();
    const double cpu = tests::cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before;
    later.join();
    world().quiesce();
    if (waited > 0.02) { // looking all the time costs all of it
        EXPECT_LT(cpu, 0.4 * waited);
    }
    world().unregister_handler(id);
}

TEST_P(waiting_test, a_condition_that_has_held_is_not_asked_again) {
    world().barrier();
    const base::timer wall;
    for (const double until : {0.0, 0.0001, 0.003, 0.03}) { // before any wait, after a few looks, while it yields, while it sleeps
        const double end = wall.seconds() + until;
        int held = 0;
        world().wait_until([&] {
            if (wall.seconds() >= end) ++held;
            return held > 0;
        });
        EXPECT_EQ(held, 1);
    }
    world().quiesce();
}

TEST_P(waiting_test, wake_ends_a_sleep) {
    const auto machine = world().communicator().split_shared_memory();
    if (machine.size() != world().size()) GTEST_SKIP() << "ranks on several machines: nobody rings from there";
    std::atomic<bool> is_over{false};
    std::thread later([&] {
        std::this_thread::sleep_for(50ms);
        while (!is_over) { // a ring before the sleep was announced is for nobody
            world().wake((world().rank() + 1) % world().size());
            std::this_thread::sleep_for(1ms);
        }
    });
    const base::timer wall;
    EXPECT_TRUE(world().wait_for_arrivals(std::chrono::seconds(20)));
    EXPECT_LT(wall.seconds(), 15);
    world().barrier();
    is_over = true;
    later.join();
    world().barrier();
}

TEST_P(waiting_test, a_neighbour_wakes_who_waits_for_its_memory) {
    runtime::segment memory(world(), sizeof(std::atomic<int>));
    const auto flag_of = [&](int rank) { return reinterpret_cast<std::atomic<int>*>(memory.base(rank)); };
    const auto& node = world().node();
    const int next = node.ranks.at((node.communicator.rank() + 1) % node.communicator.size());
    for (int round = 1; round <= 100; ++round) {
        if ((round + world().rank()) % 20 == 0) std::this_thread::sleep_for(3ms); // who waits for it sleeps by then
        flag_of(next)->store(round);
        world().wake(next);
        world().wait_until([&] { return flag_of(world().rank())->load() == round; });
        world().barrier();
    }
}

TEST_P(waiting_test, threads_of_a_rank_wait_beside_its_progress_thread) {
    const auto id = world().register_handler([&](const incoming_message& message) { world().reply(message, {}); });
    runtime::progress_thread progress(world());
    progress.start();
    world().barrier();
    std::vector<std::thread> team;
    std::atomic<int> answered{0};
    for (int thread = 0; thread < 3; ++thread) {
        team.emplace_back([&, thread] {
            for (int i = 0; i < 50; ++i) {
                static_cast<void>(world().call((world().rank() + thread) % world().size(), id, {}));
                answered.fetch_add(1);
            }
        });
    }
    for (auto& each : team) each.join();
    EXPECT_EQ(answered, 150);
    progress.stop();
    world().quiesce();
    world().unregister_handler(id);
}

} // namespace
