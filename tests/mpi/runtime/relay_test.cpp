// Small messages that travel in two hops.

#include "../../expect_user_error.hpp"
#include "relay.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/runtime/world.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace {

using namespace craton;
using runtime::hop;
using runtime::incoming_message;
using runtime::relay;
using runtime::travel;

TEST(relay_ways, end_at_the_target_after_two_hops_at_most) {
    for (int ranks = 2; ranks <= 40; ++ranks) {
        for (int row = 2; row < ranks; ++row) {
            for (int from = 0; from < ranks; ++from) {
                std::set<int> sent_to;
                for (int to = 0; to < ranks; ++to) {
                    if (to == from) continue;
                    const auto way = relay::way_between(from, to, row, ranks);
                    ASSERT_TRUE(way.over >= 0 && way.over < ranks && way.over != from);
                    sent_to.insert(way.over);
                    if (way.next_hop == hop::first) {
                        ASSERT_NE(way.over, to);
                        const bool in_row = way.over / row == to / row;
                        const bool in_column = way.over % row == to % row;
                        ASSERT_TRUE(in_row || in_column) << from << " to " << to << ", rows of " << row << " of " << ranks;
                        ASSERT_NE(relay::way_between(way.over, to, row, ranks).next_hop, hop::first);
                    } else {
                        ASSERT_EQ(way.over, to);
                    }
                }
                const int rows = (ranks + row - 1) / row;
                ASSERT_LE(static_cast<int>(sent_to.size()), row - 1 + rows - 1);
            }
        }
    }
}

/// Rows of two: with three ranks or more some messages are handed on.
class relay_test : public testing::TestWithParam<int> {
  protected:
    static constexpr std::size_t bound = std::size_t{1} << 20;
    static constexpr std::size_t largest_in_two_hops = (std::size_t{8} << 10) - 2 * sizeof(runtime::message_header);
    void SetUp() override {
        world_ = std::make_unique<runtime::world>(
            comm::communicator::world(),
            runtime::world_options{.ranks_per_node = GetParam(), .max_bytes_in_flight = bound, .ranks_per_row = 2});
    }
    [[nodiscard]] runtime::world& world() { return *world_; }
    [[nodiscard]] std::int64_t sum(std::int64_t value) { return world().communicator().sum(value); }
    [[nodiscard]] std::int64_t handed_on() { return sum(world().statistics().messages_handed_on); }
    /// Collective.
    void expect_some_handed_on() {
        const auto count = handed_on();
        if (world().size() > 2) {
            EXPECT_GT(count, 0);
        }
    }

  private:
    std::unique_ptr<runtime::world> world_;
};
INSTANTIATE_TEST_SUITE_P(nodes, relay_test, testing::Values(0, 1, 2));

void send_to(runtime::world& world, int target, runtime::handler_id id, std::int64_t value, std::size_t bytes = 8) {
    auto message = world.prepare(target, id, bytes);
    std::memcpy(message.payload().data(), &value, sizeof(value));
    world.send(std::move(message));
}

std::int64_t value_of(const incoming_message& message) {
    std::int64_t value = 0;
    std::memcpy(&value, message.payload.data(), sizeof(value));
    return value;
}

TEST_P(relay_test, handlers_see_the_origin) {
    std::vector<std::int64_t> from(static_cast<std::size_t>(world().size()));
    bool right = true;
    const auto id = world().register_handler(
        [&](const incoming_message& message) {
            from[static_cast<std::size_t>(message.source)] += 1;
            right = right && value_of(message) == 100 * message.source + world().rank() && message.payload.size() == 24;
        },
        travel::in_two_hops);
    world().barrier();
    for (int target = 0; target < world().size(); ++target) send_to(world(), target, id, 100 * world().rank() + target, 24);
    world().quiesce();
    EXPECT_TRUE(right);
    EXPECT_TRUE(std::ranges::all_of(from, [](std::int64_t count) { return count == 1; }));
    expect_some_handed_on();
    world().unregister_handler(id);
}

TEST_P(relay_test, messages_for_other_handlers_and_long_ones_go_straight) {
    std::int64_t got = 0;
    const auto count = [&](const incoming_message& message) { got += value_of(message); };
    const auto straight = world().register_handler(count);
    const auto relayed = world().register_handler(count, travel::in_two_hops);
    world().barrier();
    for (int target = 0; target < world().size(); ++target) {
        send_to(world(), target, straight, 1);
        send_to(world(), target, relayed, 10, largest_in_two_hops + 1);
    }
    world().quiesce();
    EXPECT_EQ(got, 11 * world().size());
    EXPECT_EQ(handed_on(), 0);
    for (int target = 0; target < world().size(); ++target) send_to(world(), target, relayed, 10, largest_in_two_hops);
    world().quiesce();
    EXPECT_EQ(got, 21 * world().size());
    expect_some_handed_on();
    world().unregister_handler(straight);
    world().unregister_handler(relayed);
}

TEST_P(relay_test, many_to_many_from_several_threads) {
    const std::array<std::size_t, 5> sizes{8, 40, 200, 1000, 8000};
    std::int64_t got = 0;
    const auto id =
        world().register_handler([&](const incoming_message& message) { got += value_of(message); }, travel::in_two_hops);
    world().barrier();
    std::atomic<std::int64_t> sent{0};
    const auto work = [&](unsigned seed) {
        std::mt19937 draw(seed);
        for (int i = 0; i < 3000; ++i) {
            const auto value = static_cast<std::int64_t>(draw() % 1000);
            const int target = static_cast<int>(draw() % static_cast<unsigned>(world().size()));
            send_to(world(), target, id, value, sizes[draw() % sizes.size()]);
            sent += value;
        }
    };
    const auto seed = static_cast<unsigned>(world().rank());
    std::thread other(work, seed + 100);
    work(seed);
    other.join();
    world().quiesce();
    EXPECT_EQ(sum(got), sum(sent.load()));
    EXPECT_LE(world().statistics().peak_bytes_in_flight, static_cast<std::int64_t>(bound));
    EXPECT_EQ(world().bytes_in_flight(), 0U);
    expect_some_handed_on();
    world().unregister_handler(id);
}

// Who hands on stops taking when it has no room, and goes on when it has.
TEST_P(relay_test, a_target_that_computes_does_not_fill_those_between) {
    std::int64_t got = 0;
    const auto id = world().register_handler([&](const incoming_message&) { ++got; }, travel::in_two_hops);
    world().barrier();
    const int target = world().size() - 1;
    const int each = 4000;
    if (world().rank() == target)
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    else
        for (int i = 0; i < each; ++i) send_to(world(), target, id, i, 1000); // four times the bound
    world().quiesce();
    EXPECT_EQ(sum(got), std::int64_t{each} * (world().size() - 1));
    expect_some_handed_on();
    EXPECT_LE(world().statistics().peak_bytes_in_flight, static_cast<std::int64_t>(bound));
    world().unregister_handler(id);
}

TEST_P(relay_test, a_bound_below_a_message_lets_one_travel) {
    world().set_max_bytes_in_flight(100);
    EXPECT_EQ(world().max_bytes_in_flight(), 100U);
    std::int64_t got = 0;
    const auto id = world().register_handler([&](const incoming_message&) { ++got; }, travel::in_two_hops);
    world().barrier();
    for (int i = 0; i < 50; ++i) {
        for (int target = 0; target < world().size(); ++target) send_to(world(), target, id, i, 2000);
    }
    world().quiesce();
    EXPECT_EQ(got, 50 * world().size());
    expect_some_handed_on();
    world().unregister_handler(id);
}

TEST_P(relay_test, handlers_send_and_reply) {
    std::int64_t got = 0;
    const auto answered = world().register_handler([&](const incoming_message&) { ++got; }, travel::in_two_hops);
    const auto asked = world().register_handler(
        [&](const incoming_message& message) { send_to(world(), message.source, answered, 1); }, travel::in_two_hops);
    const auto called = world().register_handler([&](const incoming_message& message) { world().reply(message, message.payload); },
                                                 travel::in_two_hops);
    world().barrier();
    for (int i = 0; i < 200; ++i) {
        for (int target = 0; target < world().size(); ++target) send_to(world(), target, asked, i);
    }
    for (int target = 0; target < world().size(); ++target) {
        const std::array<std::byte, 3> question{std::byte{1}, std::byte{2}, std::byte{3}};
        const auto answer = world().call(target, called, question);
        EXPECT_TRUE(std::ranges::equal(answer, question));
    }
    world().quiesce();
    EXPECT_EQ(got, 200 * world().size());
    expect_some_handed_on();
    for (const auto id : {answered, asked, called}) world().unregister_handler(id);
}

TEST_P(relay_test, messages_wait_for_their_handler) {
    std::int64_t got = 0;
    const int first = world().size() > 1 ? 1 : 0;
    const auto handler = [&](const incoming_message& message) { got += 10 + message.source; };
    runtime::handler_id id = 0;
    if (world().rank() == first) {
        id = world().register_handler(handler, travel::in_two_hops);
        for (int target = 0; target < world().size(); ++target) send_to(world(), target, id, 0);
        world().flush();
    }
    world().barrier(); // ranks poll meanwhile, and some have the message
    if (world().rank() != first) id = world().register_handler(handler, travel::in_two_hops);
    world().quiesce();
    EXPECT_EQ(got, 10 + first);
    expect_some_handed_on();
    world().unregister_handler(id);
}

TEST_P(relay_test, a_row_as_long_as_the_world_is_none) {
    const runtime::world one(comm::communicator::world(),
                             {.ranks_per_node = GetParam(), .ranks_per_row = std::max(2, world().size())});
    EXPECT_EQ(one.ranks_per_row(), 1);
    const runtime::world nodes(comm::communicator::world(),
                               {.ranks_per_node = GetParam(), .ranks_per_row = runtime::world_options::row_is_node});
    const int most = nodes.node().most_ranks;
    EXPECT_EQ(nodes.ranks_per_row(), most < nodes.size() ? most : 1);
}

TEST_P(relay_test, settings_are_checked) {
    const auto with = [&](int row) {
        const runtime::world other(world().communicator(), {.ranks_per_node = GetParam(), .ranks_per_row = row});
        return other.ranks_per_row();
    };
    tests::expect_user_error([&] { static_cast<void>(with(-2)); }, {"ranks_per_row is -2", "allowed: 0 or more"});
    if (world().size() > 1) {
        tests::expect_user_error([&] { static_cast<void>(with(world().rank() == 1 ? -2 : 2)); }, {"ranks_per_row is -2"});
        tests::expect_user_error([&] { static_cast<void>(with(2 + world().rank() % 2)); },
                                 {"ranks_per_row is 2 on one rank and 3 on another", "allowed: the same"});
    }
    const char* const set = std::getenv("CRATON_RANKS_PER_ROW");
    const std::string before = set == nullptr ? "" : set;
    ::setenv("CRATON_RANKS_PER_ROW", "nodes", 1);
    tests::expect_user_error([&] { static_cast<void>(with(0)); },
                             {"CRATON_RANKS_PER_ROW is 'nodes'", "allowed: 'node' or an integer of 1 or more"});
    ::setenv("CRATON_RANKS_PER_ROW", "2", 1);
    EXPECT_EQ(with(0), world().size() > 2 ? 2 : 1);
    EXPECT_EQ(with(1), 1);
    ::setenv("CRATON_RANKS_PER_ROW", before.c_str(), 1);
}

} // namespace
