#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/runtime/notified_copies.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using namespace craton;
using runtime::global_ptr;

class notified_copies_test : public tests::every_delivery {
  protected:
    // Left and right of this rank in a ring, each once.
    [[nodiscard]] std::vector<int> beside() {
        const int size = world().size();
        std::vector<int> found{(world().rank() + 1) % size, (world().rank() + size - 1) % size};
        if (found[0] == found[1]) found.pop_back();
        return found;
    }
};
CRATON_FOR_EVERY_DELIVERY(notified_copies_test);

// Each rank has a column for itself and one per source; sides of the blocks differ by rank, from less than a small message to more
// than a piece.
TEST_P(notified_copies_test, what_was_waited_for_is_there_round_after_round) {
    constexpr std::int64_t most = 100'000;
    const auto elements_of = [](int rank) { return rank % 2 == 0 ? std::int64_t{7} : most; };
    const auto slot = [&](int source) { return static_cast<std::size_t>((1 + source) * most) * sizeof(double); };
    const int me = world().rank();
    const runtime::segment memory(world(), slot(world().size()));
    runtime::notified_copies copies(world());
    auto* const own = global_ptr<double>{&memory, me, 0}.local();
    const std::int64_t stride = 1;
    for (int round = 0; round < 40; ++round) {
        const std::int64_t elements = elements_of(me);
        for (std::int64_t i = 0; i < elements; ++i) own[i] = static_cast<double>(1000 * round + 10 * i + me);
        const auto ranks = beside();
        copies.begin_round();
        // The halves of a block travel apart.
        for (const int rank : ranks) {
            for (const auto& [first, count] : {std::pair{std::int64_t{0}, elements / 2}, {elements / 2, elements - elements / 2}}) {
                const auto skipped = static_cast<std::size_t>(first);
                copies.start<double>(global_ptr<double>{&memory, me, 0} + skipped,
                                     global_ptr<double>{&memory, rank, slot(me)} + skipped,
                                     {std::span(&count, 1), std::span(&stride, 1), std::span(&stride, 1)});
            }
        }
        copies.end_round(ranks);
        for (std::int64_t i = 0; i < elements; ++i) own[i] = -1; // it may be written again at once
        for (const int rank : ranks) copies.wait(rank, elements_of(rank));
        for (const int rank : ranks) {
            const auto* const got = global_ptr<double>{&memory, me, slot(rank)}.local();
            for (std::int64_t i = 0; i < elements_of(rank); ++i) {
                ASSERT_EQ(got[i], static_cast<double>(1000 * round + 10 * i + rank)) << "round " << round << ", element " << i;
            }
        }
        // Where memory is shared, all must have looked at what the next round overwrites; messages are kept until this rank begins
        // it.
        if (GetParam() != 1) world().barrier();
    }
    world().quiesce();
}

// Without barriers: two rooms per source take turns, and ranks run ahead of each other as far as they may.
TEST_P(notified_copies_test, ranks_that_run_ahead_do_not_mix_up_rounds) {
    const int me = world().rank();
    const runtime::segment memory(world(), static_cast<std::size_t>(2 * world().size() + 1) * sizeof(std::int64_t));
    runtime::notified_copies copies(world());
    const std::int64_t one = 1;
    const auto ranks = beside();
    auto* const own = global_ptr<std::int64_t>{&memory, me, 0}.local();
    for (std::int64_t round = 0; round < 500; ++round) {
        if (round % 100 == 10 * me) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const auto room = [&](int source) { return sizeof(std::int64_t) * static_cast<std::size_t>(1 + 2 * source + round % 2); };
        own[0] = 100 * round + me;
        copies.begin_round();
        for (const int rank : ranks) {
            copies.start<std::int64_t>({&memory, me, 0}, {&memory, rank, room(me)},
                                       {std::span(&one, 1), std::span(&one, 1), std::span(&one, 1)});
        }
        copies.end_round(ranks);
        for (const int rank : ranks) {
            copies.wait(rank, 1);
            ASSERT_EQ(*(global_ptr<std::int64_t>{&memory, me, room(rank)}.local()), 100 * round + rank);
        }
    }
    world().quiesce();
}

// Rank 0 copies a round ahead while rank 1 still polls, for something else, in the round before.
TEST_P(notified_copies_test, what_comes_early_is_kept_off_the_node) {
    if (world().size() < 2 || GetParam() != 1) GTEST_SKIP() << "two ranks that share no memory";
    const int me = world().rank();
    const runtime::segment memory(world(), sizeof(std::int64_t));
    auto& value = *global_ptr<std::int64_t>{&memory, me, 0}.local();
    const std::int64_t one = 1;
    const runtime::copy_shape shape{std::span(&one, 1), std::span(&one, 1), std::span(&one, 1)};
    runtime::notified_copies copies(world());
    for (std::int64_t round = 1; round <= 3; ++round) {
        if (me == 0) {
            value = round;
            copies.begin_round();
            copies.start<std::int64_t>({&memory, 0, 0}, {&memory, 1, 0}, shape);
            const int target = 1;
            copies.end_round(std::span(&target, 1));
        }
        world().quiesce(); // the message has been executed, but rank 1 has not begun this round
        if (me == 1) {
            EXPECT_EQ(value, round - 1);
            copies.begin_round();
            EXPECT_EQ(value, round);
            copies.end_round({});
            copies.wait(0, 1);
        }
        world().barrier();
    }
}

TEST_P(notified_copies_test, threads_share_the_copies_of_a_round) {
    constexpr std::int64_t elements = 64;
    constexpr int threads = 3;
    const int me = world().rank();
    const int right = (me + 1) % world().size();
    const int left = (me + world().size() - 1) % world().size();
    const runtime::segment memory(world(), 2 * threads * elements * sizeof(float));
    runtime::notified_copies copies(world());
    auto* const own = global_ptr<float>{&memory, me, 0}.local();
    std::fill_n(own, threads * elements, static_cast<float>(me + 1));
    copies.begin_round();
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t) {
        team.emplace_back([&, t] {
            const auto at = static_cast<std::size_t>(t * elements);
            const std::int64_t stride = 1;
            copies.start<float>(global_ptr<float>{&memory, me, 0} + at,
                                global_ptr<float>{&memory, right, 0} + threads * elements + at,
                                {std::span(&elements, 1), std::span(&stride, 1), std::span(&stride, 1)});
        });
    }
    for (auto& each : team) each.join();
    copies.end_round(std::span(&right, 1));
    copies.wait(left, threads * elements);
    for (std::int64_t i = 0; i < threads * elements; ++i) ASSERT_EQ(own[threads * elements + i], static_cast<float>(left + 1));
    world().barrier();
}

TEST_P(notified_copies_test, nothing_may_be_copied_to_any_rank) {
    const runtime::segment memory(world(), 8 * sizeof(float));
    runtime::notified_copies copies(world());
    const std::int64_t extent = 0, stride = 1;
    const auto ranks = beside();
    copies.begin_round();
    for (const int rank : ranks) {
        copies.start<float>({&memory, world().rank(), 0}, {&memory, rank, 0},
                            {std::span(&extent, 1), std::span(&stride, 1), std::span(&stride, 1)});
    }
    copies.end_round(ranks);
    for (const int rank : ranks) copies.wait(rank, 0);
    world().barrier();
}

TEST_P(notified_copies_test, refuses_elements_outside_the_segment) {
    const runtime::segment memory(world(), 8 * sizeof(float));
    runtime::notified_copies copies(world());
    const std::int64_t extent = 9, stride = 1;
    tests::expect_user_error(
        [&] {
            copies.start<float>({&memory, world().rank(), 0}, {&memory, world().rank(), 0},
                                {std::span(&extent, 1), std::span(&stride, 1), std::span(&stride, 1)});
        },
        {"copy: source takes bytes 0 to 36", "allowed: 0 to 32"});
    world().barrier();
}

} // namespace
