#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/runtime/copy.hpp>
#include <craton/runtime/neighbour_sync.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using namespace craton;
using runtime::global_ptr;

class neighbour_sync_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(neighbour_sync_test);

TEST_P(neighbour_sync_test, hands_data_around_a_ring_many_times) {
    runtime::neighbour_sync sync(world());
    const runtime::segment memory(world(), sizeof(std::int64_t));
    const int right = (world().rank() + 1) % world().size();
    const int left = (world().rank() + world().size() - 1) % world().size();
    auto* const own = global_ptr<std::int64_t>{&memory, world().rank(), 0}.local();
    world().barrier();
    for (std::int64_t round = 1; round <= 500; ++round) {
        // Asymmetric: put to the right and signal it; wait for the left only. Then tell the left that its value has been read.
        const std::int64_t value = round * 100 + world().rank();
        runtime::rput<std::int64_t>(std::span(&value, 1), {&memory, right, 0});
        sync.signal(std::span(&right, 1));
        sync.wait(std::span(&left, 1));
        ASSERT_EQ(*own, round * 100 + left);
        sync.signal(std::span(&left, 1));
        sync.wait(std::span(&right, 1));
    }
    world().quiesce();
}

TEST_P(neighbour_sync_test, a_rank_may_run_ahead_and_signal_without_waiting) {
    runtime::neighbour_sync sync(world());
    std::vector<int> others;
    for (int rank = 1; rank < world().size(); ++rank) others.push_back(rank);
    constexpr int signals = 1000;
    if (world().rank() == 0) {
        for (int i = 0; i < signals; ++i) sync.signal(others);
        for (int i = 0; i < signals; ++i) sync.wait(others);
    } else {
        const int root = 0;
        for (int i = 0; i < signals; ++i) sync.wait(std::span(&root, 1));
        for (int i = 0; i < signals; ++i) sync.signal(std::span(&root, 1));
    }
    world().quiesce();
}

TEST_P(neighbour_sync_test, waits_for_those_named_and_for_nobody_else) {
    runtime::neighbour_sync sync(world());
    world().barrier();
    const int slow = world().size() - 1;
    const auto start = std::chrono::steady_clock::now();
    if (world().rank() == slow) {
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
    } else {
        std::vector<int> fast;
        for (int rank = 0; rank < slow; ++rank) fast.push_back(rank); // itself too
        for (int i = 0; i < 10; ++i) sync.synchronise(fast);
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(350));
    }
    // Now with the slow one: nobody returns before it has signalled.
    std::vector<int> all;
    for (int rank = 0; rank < world().size(); ++rank) all.push_back(rank);
    sync.synchronise(all);
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(300));
    world().quiesce();
}

TEST_P(neighbour_sync_test, a_rank_may_be_named_twice) {
    runtime::neighbour_sync sync(world());
    const int right = (world().rank() + 1) % world().size();
    const int left = (world().rank() + world().size() - 1) % world().size();
    sync.signal(std::vector<int>{right, right, right});
    sync.wait(std::vector<int>{left, left});
    sync.wait(std::vector<int>{left});
    world().quiesce();
}

TEST_P(neighbour_sync_test, refuses_ranks_that_do_not_exist) {
    runtime::neighbour_sync sync(world());
    tests::expect_user_error([&] { sync.signal(std::vector<int>{0, world().size()}); },
                             {"signal", "does not exist", "allowed: 0 to"});
    tests::expect_user_error([&] { sync.wait(std::vector<int>{-1}); }, {"wait", "rank -1"});
    world().quiesce(); // and rank 0 has not been signalled: the check comes first
}

} // namespace
