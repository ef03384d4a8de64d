#include "../deliveries.hpp"

#include <craton/base/error.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/stripe_lock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace craton;
using runtime::global_ptr;
using runtime::segment;

class segment_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(segment_test);

TEST_P(segment_test, is_zeroed_aligned_and_seen_by_the_node_only) {
    const segment memory(world(), 1000 + static_cast<std::size_t>(world().rank()));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.local()) % 4096, 0U);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(memory.local()[i], std::byte{0});
    world().barrier();
    *global_ptr<int>{&memory, world().rank(), 16}.local() = 100 + world().rank();
    world().barrier();
    for (int r = 0; r < world().size(); ++r) {
        const global_ptr<int> there{&memory, r, 16};
        if (world().shares_memory_with(r)) {
            ASSERT_NE(there.local(), nullptr);
            EXPECT_EQ(*there.local(), 100 + r);
            EXPECT_EQ((there + 2).local(), there.local() + 2);
        } else {
            EXPECT_EQ(there.local(), nullptr);
        }
    }
    world().barrier();
}

TEST_P(segment_test, may_be_empty_on_a_rank) {
    const segment memory(world(), world().rank() == 0 ? 64 : 0);
    world().barrier();
    EXPECT_NE(memory.local(), nullptr);
    world().barrier();
}

// Whether or not the system has such pages. Neighbours go on adding while the owner asks.
TEST_P(segment_test, keeps_what_is_in_pages_that_are_joined) {
    constexpr std::size_t count = (std::size_t{9} << 20) / sizeof(std::uint64_t) + 5;
    const segment memory(world(), count * sizeof(std::uint64_t));
    const auto number = [&](int rank, std::size_t n) {
        return global_ptr<std::uint64_t>{&memory, rank, n * sizeof(std::uint64_t)}.local();
    };
    const auto value = [](int rank, std::size_t n) { return (static_cast<std::uint64_t>(rank) << 40) + n; };
    const int own = world().rank();
    for (std::size_t n = 0; n < count; ++n) *number(own, n) = value(own, n);
    world().barrier();
    std::thread joining([&] { memory.join_pages(); });
    constexpr std::size_t step = 512;
    std::uint64_t adding = 0;
    for (int rank = 0; rank < world().size(); ++rank) {
        if (!world().shares_memory_with(rank)) continue;
        ++adding;
        for (std::size_t n = 0; n < count; n += step) std::atomic_ref(*number(rank, n)).fetch_add(1);
    }
    joining.join();
    world().barrier();
    for (int rank = 0; rank < world().size(); ++rank) {
        if (!world().shares_memory_with(rank)) continue;
        std::size_t wrong = 0;
        for (std::size_t n = 0; n < count; ++n) wrong += *number(rank, n) != value(rank, n) + (n % step == 0 ? adding : 0);
        EXPECT_EQ(wrong, 0U) << "memory of rank " << rank;
    }
    memory.join_pages(); // once more changes nothing
    EXPECT_EQ(*number(own, 1), value(own, 1));
    world().barrier();
}

TEST_P(segment_test, refuses_on_every_rank_what_the_machine_cannot_give_to_one) {
    EXPECT_THROW(segment(world(), world().rank() == 0 ? std::size_t{1} << 62 : 64), user_error);
    EXPECT_THROW(segment(world(), std::size_t{1} << 62), user_error);
    world().barrier();
}

TEST_P(segment_test, stripe_lock_excludes_threads_and_processes) {
    const segment memory(world(), 128);
    const int owner = world().node().ranks.at(0);
    auto* lock = global_ptr<runtime::stripe_lock>{&memory, owner, 0}.local();
    auto* value = global_ptr<std::int64_t>{&memory, owner, 64}.local();
    world().barrier();
    constexpr int each = 20000;
    {
        std::vector<std::jthread> team;
        for (int t = 0; t < 2; ++t) {
            team.emplace_back([&] {
                for (int i = 0; i < each; ++i) {
                    const std::lock_guard guard(*lock);
                    *value = *value + 1;
                }
            });
        }
    }
    world().barrier();
    EXPECT_EQ(*value, std::int64_t{2} * each * world().node().communicator.size());
    world().barrier();
}

} // namespace
