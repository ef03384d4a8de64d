#include "../deliveries.hpp"

#include <craton/base/error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using namespace craton;
using runtime::incoming_message;

class world_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(world_test);

template <class T> void send_value(runtime::world& world, int target, runtime::handler_id id, const T& value) {
    auto message = world.prepare(target, id, sizeof(T));
    std::memcpy(message.payload().data(), &value, sizeof(T));
    world.send(std::move(message));
}

template <class T> T received(const incoming_message& message) {
    T value;
    std::memcpy(&value, message.payload.data(), sizeof(T));
    return value;
}

TEST_P(world_test, knows_its_node) {
    const auto& node = world().node();
    EXPECT_TRUE(world().shares_memory_with(world().rank()));
    EXPECT_EQ(static_cast<int>(node.world_rank.size()), node.communicator.size());
    if (GetParam() == 1) {
        EXPECT_EQ(node.count, world().size());
    }
    if (GetParam() == 2) {
        EXPECT_EQ(node.count, (world().size() + 1) / 2);
        const int neighbour = world().rank() ^ 1;
        if (neighbour < world().size()) {
            EXPECT_TRUE(world().shares_memory_with(neighbour));
        }
    }
}

TEST_P(world_test, every_message_is_executed_before_quiesce_returns) {
    std::int64_t sum = 0;
    const auto id = world().register_handler([&](const incoming_message& m) { sum += received<std::int64_t>(m); });
    world().barrier();
    constexpr int rounds = 200;
    for (int i = 0; i < rounds; ++i) {
        for (int target = 0; target < world().size(); ++target) send_value(world(), target, id, std::int64_t{i});
    }
    world().quiesce();
    EXPECT_EQ(sum, std::int64_t{world().size()} * rounds * (rounds - 1) / 2);
    world().unregister_handler(id);
}

TEST_P(world_test, quiesce_waits_for_messages_that_handlers_send) {
    // A message is passed on around the ring until its count is used up.
    std::int64_t hops = 0;
    runtime::handler_id id = 0;
    id = world().register_handler([&](const incoming_message& m) {
        ++hops;
        const auto left = received<std::int64_t>(m);
        if (left > 0) send_value(world(), (world().rank() + 1) % world().size(), id, left - 1);
    });
    world().barrier();
    if (world().rank() == 0) send_value(world(), world().size() - 1, id, std::int64_t{999});
    world().quiesce();
    EXPECT_EQ(world().communicator().sum(hops), 1000);
    world().unregister_handler(id);
}

TEST_P(world_test, handlers_run_one_at_a_time) {
    std::atomic<int> inside{0};
    bool overlapped = false;
    std::int64_t executed = 0;
    const auto id = world().register_handler([&](const incoming_message&) {
        if (inside.fetch_add(1) != 0) overlapped = true;
        ++executed; // unprotected on purpose: isolation is the protection
        inside.fetch_sub(1);
    });
    world().barrier();
    constexpr int each = 500;
    {
        std::vector<std::jthread> team;
        for (int t = 0; t < 3; ++t) {
            team.emplace_back([&] {
                for (int i = 0; i < each; ++i) {
                    send_value(world(), (world().rank() + i) % world().size(), id, i);
                    world().poll();
                }
            });
        }
    }
    world().quiesce();
    EXPECT_FALSE(overlapped);
    EXPECT_EQ(world().communicator().sum(executed), std::int64_t{3} * each * world().size());
    world().unregister_handler(id);
}

TEST_P(world_test, payloads_of_any_size_arrive_whole_and_aligned) {
    std::int64_t wrong = 0;
    std::int64_t bytes = 0;
    const auto id = world().register_handler([&](const incoming_message& m) {
        if (reinterpret_cast<std::uintptr_t>(m.payload.data()) % 16 != 0) ++wrong;
        for (std::size_t i = 0; i < m.payload.size(); ++i) {
            if (m.payload[i] != std::byte{static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(m.source))}) ++wrong;
        }
        bytes += static_cast<std::int64_t>(m.payload.size());
    });
    world().barrier();
    std::int64_t sent = 0;
    // The last is larger than the bound on bytes in flight: it must go all the same, alone.
    for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{70000}, std::size_t{3} << 20}) {
        auto message = world().prepare((world().rank() + 1) % world().size(), id, size);
        for (std::size_t i = 0; i < size; ++i) {
            message.payload()[i] = std::byte{static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(world().rank()))};
        }
        world().send(std::move(message));
        sent += static_cast<std::int64_t>(size);
    }
    world().quiesce();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(bytes, sent);
    world().unregister_handler(id);
}

TEST_P(world_test, call_brings_the_reply) {
    const auto id = world().register_handler([&](const incoming_message& m) {
        const auto answer = received<std::int64_t>(m) * 10 + world().rank();
        world().reply(m, std::as_bytes(std::span(&answer, 1)));
    });
    world().barrier();
    for (int target = 0; target < world().size(); ++target) {
        const std::int64_t question = 7;
        const auto reply = world().call(target, id, std::as_bytes(std::span(&question, 1)));
        std::int64_t answer = 0;
        ASSERT_EQ(reply.size(), sizeof(answer));
        std::memcpy(&answer, reply.data(), sizeof(answer));
        EXPECT_EQ(answer, 70 + target);
    }
    world().quiesce();
    world().unregister_handler(id);
}

TEST_P(world_test, a_message_waits_for_its_handler_to_be_registered) {
    std::int64_t executed = 0;
    const auto handler = [&](const incoming_message&) { ++executed; };
    runtime::handler_id id = 0;
    if (world().rank() == 0) {
        id = world().register_handler(handler);
        for (int target = 0; target < world().size(); ++target) send_value(world(), target, id, 1);
    } else {
        // Long enough for the message to be taken in before anyone can handle it.
        for (int i = 0; i < 2000; ++i) {
            EXPECT_EQ(world().poll(), 0);
            std::this_thread::sleep_for(std::chrono::microseconds(10));
        }
        id = world().register_handler(handler);
    }
    world().quiesce();
    EXPECT_EQ(executed, 1);
    world().unregister_handler(id);
}

TEST_P(world_test, too_large_a_message_is_refused_and_leaves_no_trace) {
    const auto id = world().register_handler([](const incoming_message&) {});
    EXPECT_THROW(static_cast<void>(world().prepare(0, id, std::size_t{1} << 31)), user_error);
    EXPECT_EQ(world().statistics().peak_bytes_in_flight, 0);
    world().quiesce();
    world().unregister_handler(id);
}

TEST(world_teardown_test, does_not_wait_for_a_receiver_that_never_comes) {
    const auto communicator = comm::communicator::world();
    {
        runtime::world world(communicator, {1, std::size_t{1} << 20});
        const auto id = world.register_handler([](const incoming_message&) {});
        if (world.rank() == 0) send_value(world, world.size() - 1, id, 1); // and an error ends the scope before anyone polls
        communicator.barrier();
    }
    communicator.barrier();
}

TEST(world_options_test, a_bad_environment_variable_is_named) {
    ASSERT_EQ(setenv("CRATON_RANKS_PER_NODE", "two", 1), 0);
    const auto communicator = comm::communicator::world();
    try {
        const runtime::world world(communicator);
        FAIL() << "nothing was thrown";
    } catch (const user_error& error) {
        EXPECT_STREQ(error.what(), "environment variable CRATON_RANKS_PER_NODE is 'two'; allowed: an integer of 1 or more");
    }
    ASSERT_EQ(setenv("CRATON_RANKS_PER_NODE", "1", 1), 0);
    {
        const runtime::world world(communicator);
        EXPECT_EQ(world.node().count, world.size());
    }
    unsetenv("CRATON_RANKS_PER_NODE");
}

} // namespace
