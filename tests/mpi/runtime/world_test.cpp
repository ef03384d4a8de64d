#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/base/error.hpp>
#include <craton/base/timer.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
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
    EXPECT_EQ(static_cast<int>(node.ranks.size()), node.communicator.size());
    if (GetParam() == 1) {
        EXPECT_EQ(node.count, world().size());
    }
    // Otherwise the ranks may be on several machines (tools/two_hosts), whose nodes are not the ones expected here.
    const bool one_machine = world().communicator().split_shared_memory().size() == world().size();
    if (GetParam() == 2 && one_machine) {
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
    // With its header: 2 GiB are one byte too many for MPI's count already.
    for (const std::size_t bytes : {(std::size_t{1} << 31) - 16, std::size_t{1} << 31, std::size_t{1} << 40}) {
        tests::expect_user_error([&] { static_cast<void>(world().prepare(0, id, bytes)); },
                                 {"bytes of one message", std::to_string(bytes + 16), "does not fit a 32-bit integer"});
        tests::expect_user_error([&] { static_cast<void>(world().try_prepare(0, id, bytes)); }, "bytes of one message");
    }
    EXPECT_EQ(world().statistics().peak_bytes_in_flight, 0);
    world().quiesce();
    world().unregister_handler(id);
}

TEST_P(world_test, quiesce_waits_for_chains_that_fan_out_over_all_ranks) {
    // Each message of generation g makes two of generation g - 1, at targets that no rank knows before: 2^(g+1) - 1 in all per
    // start.
    std::int64_t executed = 0;
    runtime::handler_id id = 0;
    std::uint32_t state = static_cast<std::uint32_t>(world().rank()) * 7919U + 1U;
    id = world().register_handler([&](const incoming_message& m) {
        ++executed;
        const auto left = received<std::int64_t>(m);
        for (int child = 0; child < 2 && left > 0; ++child) {
            state = state * 1664525U + 1013904223U;
            send_value(world(), static_cast<int>((state >> 8U) % static_cast<std::uint32_t>(world().size())), id, left - 1);
        }
    });
    world().barrier();
    constexpr std::int64_t generations = 9;
    for (int round = 1; round <= 3; ++round) {
        for (int target = 0; target < world().size(); ++target) send_value(world(), target, id, generations);
        world().quiesce();
        const std::int64_t starts = std::int64_t{world().size()} * world().size() * round;
        EXPECT_EQ(world().communicator().sum(executed), starts * ((std::int64_t{2} << generations) - 1));
        EXPECT_EQ(world().bytes_in_flight(), 0U);
        world().barrier();
    }
    world().unregister_handler(id);
}

TEST_P(world_test, small_messages_travel_together_and_each_is_executed_once) {
    std::vector<int> times(5000, 0);
    const auto id =
        world().register_handler([&](const incoming_message& m) { ++times[static_cast<std::size_t>(received<int>(m))]; });
    world().barrier();
    const auto before = world().statistics();
    for (int i = 0; i < 5000; ++i) send_value(world(), (world().rank() + 1) % world().size(), id, i);
    const auto after = world().statistics();
    EXPECT_EQ(after.messages_sent - before.messages_sent, 5000);
    // 32 bytes each: a thousand to a transfer.
    EXPECT_LE(after.transfers_sent - before.transfers_sent, 10);
    world().quiesce();
    for (const int n : times) ASSERT_EQ(n, 1);
    world().unregister_handler(id);
}

TEST_P(world_test, flush_starts_what_waits_for_company) {
    std::atomic<int> executed{0};
    const auto id = world().register_handler([&](const incoming_message&) { ++executed; });
    world().barrier();
    const auto before = world().statistics().transfers_sent;
    const int right = (world().rank() + 1) % world().size();
    send_value(world(), right, id, 1);
    EXPECT_EQ(world().statistics().transfers_sent, before);
    world().flush();
    // Within a node, and to itself, a rank needs no transfer.
    EXPECT_EQ(world().statistics().transfers_sent, before + (world().shares_memory_with(right) ? 0 : 1));
    // Of many within a node some wait, too, until the flush; it is all that their sender does for them.
    constexpr int more = 50;
    for (int i = 0; i < more; ++i) send_value(world(), right, id, i);
    world().flush();
    world().communicator().barrier(); // of MPI: nobody polls
    for (int looks = 0; looks < 1000 && executed < more + 1; ++looks) world().poll();
    const int left = (world().rank() + world().size() - 1) % world().size();
    if (world().shares_memory_with(left)) {
        EXPECT_EQ(executed, more + 1);
    }
    world().quiesce();
    EXPECT_EQ(executed, more + 1);
    world().unregister_handler(id);
}

TEST_P(world_test, messages_within_a_node_need_no_mpi) {
    std::int64_t sum = 0;
    const auto id = world().register_handler([&](const incoming_message& m) { sum += received<int>(m); });
    world().barrier();
    const auto before = world().statistics();
    const int right = (world().rank() + 1) % world().size();
    for (int i = 0; i < 1000; ++i) send_value(world(), right, id, i);
    world().quiesce();
    const auto after = world().statistics();
    EXPECT_EQ(sum, 1000 * 999 / 2);
    EXPECT_EQ(after.messages_sent - before.messages_sent, 1000);
    EXPECT_EQ(after.transfers_sent > before.transfers_sent, !world().shares_memory_with(right));
    world().unregister_handler(id);
}

// More than a neighbour's ring holds, from every rank at once and from several threads, while the target does not look; some are
// too long for the ring at any time. Then the same again while it looks: positions in the ring go round.
TEST_P(world_test, what_a_neighbours_memory_has_no_room_for_arrives_too) {
    runtime::world roomy(world().communicator(), {GetParam(), std::size_t{64} << 20});
    const int target = roomy.size() - 1;
    std::int64_t wrong = 0, bytes = 0;
    const auto id = roomy.register_handler([&](const incoming_message& m) {
        // Every byte says how long it is.
        for (const std::byte each : m.payload) wrong += each != static_cast<std::byte>(m.payload.size() % 251);
        wrong += reinterpret_cast<std::uintptr_t>(m.payload.data()) % 16 != 0;
        bytes += static_cast<std::int64_t>(m.payload.size());
    });
    constexpr std::array<std::size_t, 7> sizes{1, 47, 4000, 8192, 33333, 100001, 400000};
    const auto send_all = [&](int times) {
        std::vector<std::jthread> team;
        for (int thread = 0; thread < 2; ++thread) {
            team.emplace_back([&] {
                for (int i = 0; i < times; ++i) {
                    for (const std::size_t size : sizes) {
                        auto message = roomy.prepare(target, id, size);
                        std::ranges::fill(message.payload(), static_cast<std::byte>(size % 251));
                        roomy.send(std::move(message));
                    }
                }
            });
        }
    };
    roomy.barrier();
    const auto before = roomy.statistics().transfers_sent;
    if (roomy.rank() != target) {
        send_all(5);
        EXPECT_GT(roomy.statistics().transfers_sent, before);
    }
    roomy.communicator().barrier(); // until here the target has not polled
    roomy.quiesce();
    if (roomy.rank() != target) send_all(20);
    roomy.quiesce();
    std::int64_t expected = 0;
    for (const std::size_t size : sizes) expected += static_cast<std::int64_t>(size) * 2 * 25 * (roomy.size() - 1);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(bytes, roomy.rank() == target ? expected : 0);
    roomy.unregister_handler(id);
    roomy.barrier();
}

TEST_P(world_test, bytes_in_flight_stay_within_a_bound_that_can_be_changed) {
    EXPECT_EQ(world().max_bytes_in_flight(), std::size_t{1} << 20);
    constexpr std::size_t bound = std::size_t{256} << 10;
    world().set_max_bytes_in_flight(bound);
    EXPECT_EQ(world().max_bytes_in_flight(), bound);
    std::int64_t bytes = 0;
    const auto id =
        world().register_handler([&](const incoming_message& m) { bytes += static_cast<std::int64_t>(m.payload.size()); });
    world().barrier();
    // All at rank 0, as fast as they can, from several threads, long and short.
    {
        std::vector<std::jthread> team;
        for (int t = 0; t < 3; ++t) {
            team.emplace_back([&] {
                for (const std::size_t size : {100000, 50, 4000, 30000}) {
                    for (int i = 0; i < 40; ++i) world().send(world().prepare(0, id, size));
                }
            });
        }
    }
    EXPECT_LE(world().bytes_in_flight(), bound);
    world().quiesce();
    EXPECT_GT(world().statistics().peak_bytes_in_flight, 100000);
    EXPECT_LE(world().statistics().peak_bytes_in_flight, static_cast<std::int64_t>(bound));
    EXPECT_EQ(bytes, world().rank() == 0 ? std::int64_t{world().size()} * 3 * 40 * (100000 + 50 + 4000 + 30000) : 0);
    world().unregister_handler(id);
}

TEST_P(world_test, try_prepare_gives_nothing_when_there_is_no_room) {
    const auto id = world().register_handler([](const incoming_message&) {});
    auto first = world().prepare(0, id, std::size_t{700} << 10);
    EXPECT_FALSE(world().try_prepare(0, id, std::size_t{300} << 10).has_value());
    auto second = world().try_prepare(0, id, 1000);
    ASSERT_TRUE(second.has_value());
    world().send(std::move(first));
    world().send(std::move(*second));
    world().quiesce();
    world().unregister_handler(id);
}

TEST_P(world_test, a_message_counts_with_its_whole_buffer_and_all_of_it_is_given_back) {
    const auto id = world().register_handler([](const incoming_message&) {});
    world().barrier();
    for (const std::size_t size : {std::size_t{40}, std::size_t{5000}, std::size_t{129} << 10}) {
        const std::size_t before = world().bytes_in_flight();
        auto message = world().prepare((world().rank() + 1) % world().size(), id, size);
        const std::size_t counted = world().bytes_in_flight() - before;
        EXPECT_GE(counted, std::max(size, std::size_t{128}) + 256) << size; // the smallest buffer, and what knows of it
        EXPECT_LE(counted, 2 * size + 512) << size;
        world().send(std::move(message));
    }
    world().quiesce();
    EXPECT_EQ(world().bytes_in_flight(), 0U);
    world().unregister_handler(id);
}

// Buffers that wait, grow, are refused more and start: by any bound all arrive, and nothing stays counted.
TEST_P(world_test, small_messages_and_replies_arrive_by_the_smallest_bounds) {
    std::atomic<std::int64_t> sum = 0;
    const auto add = world().register_handler([&](const incoming_message& m) { sum += std::to_integer<int>(m.payload[0]); });
    const auto answer = world().register_handler([&](const incoming_message& m) {
        for (int copy = 0; copy < 3; ++copy) { // beyond the bound: a handler does not wait
            auto message = world().prepare(m.source, add, m.payload.size());
            std::ranges::copy(m.payload, message.payload().begin());
            world().send(std::move(message));
        }
    });
    for (const std::size_t bound : {std::size_t{1}, std::size_t{1} << 10, std::size_t{20} << 10}) {
        world().set_max_bytes_in_flight(bound);
        world().barrier();
        {
            std::vector<std::jthread> team;
            for (int t = 0; t < 2; ++t) {
                team.emplace_back([&] {
                    for (int i = 0; i < 60; ++i) {
                        for (int target = 0; target < world().size(); ++target) {
                            auto message = world().prepare(target, answer, i % 10 == 0 ? 5000 : 40);
                            std::ranges::fill(message.payload(), std::byte{7});
                            world().send(std::move(message));
                        }
                    }
                });
            }
        }
        world().quiesce();
        EXPECT_EQ(sum.exchange(0), std::int64_t{7} * 3 * 2 * 60 * world().size()) << bound;
        EXPECT_EQ(world().bytes_in_flight(), 0U) << bound;
    }
    world().unregister_handler(answer);
    world().unregister_handler(add);
}

TEST_P(world_test, replies_count_as_in_flight) {
    constexpr std::size_t bytes = std::size_t{3} << 20; // three times the bound: a handler does not wait
    const auto id = world().register_handler([&](const incoming_message& m) {
        const std::vector<std::byte> answer(bytes, std::byte{5});
        world().reply(m, answer);
    });
    world().barrier();
    const auto answer = world().call((world().rank() + 1) % world().size(), id, {});
    ASSERT_EQ(answer.size(), bytes);
    EXPECT_EQ(answer.back(), std::byte{5});
    world().quiesce();
    EXPECT_GE(world().statistics().peak_bytes_in_flight, static_cast<std::int64_t>(bytes));
    world().unregister_handler(id);
}

TEST_P(world_test, a_bound_of_nothing_is_refused) {
    tests::expect_user_error([&] { world().set_max_bytes_in_flight(0); }, {"max_bytes_in_flight", "0", "allowed: 1"});
    tests::expect_user_error([&] { const runtime::world other(world().communicator(), {0, 0}); }, {"max_bytes_in_flight", "0"});
    world().barrier();
}

TEST_P(world_test, a_sender_does_not_wait_for_a_target_that_computes) {
    std::int64_t executed = 0;
    const auto id = world().register_handler([&](const incoming_message&) { ++executed; });
    world().barrier();
    const int target = world().size() - 1;
    const auto start = std::chrono::steady_clock::now();
    if (world().rank() == target) {
        std::this_thread::sleep_for(std::chrono::milliseconds(500)); // does not poll
    } else {
        // Half the bound: long ones, which wait for the target to be received, and short ones.
        for (int i = 0; i < 4; ++i) world().send(world().prepare(target, id, std::size_t{100} << 10));
        for (int i = 0; i < 1000; ++i) send_value(world(), target, id, i);
        world().poll();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        EXPECT_LT(took.count(), 0.45);
    }
    world().quiesce();
    EXPECT_EQ(executed, world().rank() == target ? 1004 * (world().size() - 1) : 0);
    world().unregister_handler(id);
}

// Bytes of this process that are in memory.
std::size_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    std::size_t all = 0;
    std::size_t resident = 0;
    in >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST_P(world_test, small_messages_flushed_one_by_one_to_a_target_that_computes_hold_little_memory) {
    std::int64_t executed = 0;
    const auto id = world().register_handler([&](const incoming_message&) { ++executed; });
    constexpr int each = 10000;
    const int target = world().size() - 1;
    world().barrier();
    world().communicator().barrier(); // of MPI: nobody's messages are still to be taken in
    if (world().rank() != target) {
        const std::size_t before = resident_bytes();
        const auto transfers = world().statistics().transfers_sent;
        for (int i = 0; i < each; ++i) {
            send_value(world(), target, id, i);
            world().flush(target);
        }
        if (!world().shares_memory_with(target)) {
            EXPECT_GT(world().statistics().transfers_sent, transfers + 10); // not by waiting for company from the first on
        }
        EXPECT_LT(resident_bytes(), before + (std::size_t{24} << 20));
    }
    world().communicator().barrier(); // until here the target has not polled
    world().quiesce();
    EXPECT_EQ(executed, world().rank() == target ? std::int64_t{each} * (world().size() - 1) : 0);
    world().unregister_handler(id);
}

TEST_P(world_test, flushed_messages_arrive_at_a_target_that_polls_though_their_sender_does_not) {
    std::atomic<int> executed{0};
    const auto id = world().register_handler([&](const incoming_message&) { ++executed; });
    world().barrier();
    const int target = (world().rank() + 1) % world().size();
    // More than are let under way at once to a target that does not receive: this one does.
    for (int round = 1; round <= 300; ++round) {
        send_value(world(), target, id, round);
        world().flush(target);
        while (executed < round) {
            world().poll();
            std::this_thread::yield();
        }
    }
    world().quiesce();
    world().unregister_handler(id);
}

TEST_P(world_test, no_single_send_to_a_target_that_computes_takes_long) {
    constexpr int messages = 60;
    constexpr std::size_t bytes = std::size_t{1} << 20;
    runtime::world roomy(world().communicator(), {GetParam(), 2 * messages * bytes});
    std::int64_t executed = 0;
    const auto id = roomy.register_handler([&](const incoming_message&) { ++executed; });
    const auto preemptions = [] {
        rusage usage{};
        getrusage(RUSAGE_THREAD, &usage);
        return usage.ru_nivcsw;
    };
    roomy.barrier();
    const int target = roomy.size() - 1;
    if (roomy.rank() == 0 && target != 0) {
        int long_ones = 0;
        for (int i = 0; i < messages; ++i) {
            const auto before = preemptions();
            const base::timer preparing;
            auto message = roomy.prepare(target, id, bytes);
            const double prepared = preparing.seconds();
            // The caller's own writing is not the call's; a sanitizer makes it milliseconds.
            std::ranges::fill(message.payload(), std::byte{1});
            const base::timer sending;
            roomy.send(std::move(message));
            const double took = prepared + sending.seconds();
            // What the scheduler takes when others want the core is not the call's.
            if (preemptions() == before && took > 5e-3) ++long_ones;
        }
        EXPECT_LE(long_ones, 1);
    }
    roomy.communicator().barrier(); // until here the target has not polled
    roomy.quiesce();
    EXPECT_EQ(executed, roomy.rank() == target && target != 0 ? messages : 0);
    roomy.unregister_handler(id);
    roomy.barrier();
}

TEST_P(world_test, handlers_of_one_world_send_in_another) {
    runtime::world other(world().communicator(), {GetParam(), std::size_t{1} << 16});
    std::int64_t there = 0;
    const auto arrive = other.register_handler([&](const incoming_message& m) { there += received<std::int64_t>(m); });
    const auto pass_on = world().register_handler([&](const incoming_message& m) {
        EXPECT_EQ(other.poll(), 0); // no progress inside a handler, in no world
        send_value(other, (other.rank() + 1) % other.size(), arrive, received<std::int64_t>(m));
    });
    world().barrier();
    for (std::int64_t i = 0; i < 3000; ++i) {
        send_value(world(), static_cast<int>(i) % world().size(), pass_on, i);
        world().poll();
        other.poll();
    }
    world().quiesce();
    other.quiesce();
    EXPECT_EQ(world().communicator().sum(there), std::int64_t{world().size()} * 3000 * 2999 / 2);
    world().unregister_handler(pass_on);
    other.unregister_handler(arrive);
    world().barrier();
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
