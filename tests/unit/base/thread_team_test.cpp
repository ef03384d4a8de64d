#include "../../expect_user_error.hpp"
#include "../../sanitized.hpp"

#include <craton/base/thread_team.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using craton::base::thread_team;

TEST(thread_team_test, every_number_once_and_all_is_seen_afterwards) {
    for (const int threads : {1, 2, 3, 5}) {
        thread_team team(threads);
        EXPECT_EQ(team.size(), threads);
        std::vector<std::int64_t> times(1000, 0); // not atomic: the team orders what its threads write
        for (int round = 1; round <= 300; ++round) {
            const std::int64_t count = round % 7 == 0 ? 0 : round % 1000;
            team.for_each(count, [&](std::int64_t n) { ++times[static_cast<std::size_t>(n)]; });
        }
        std::int64_t expected = 0;
        for (int round = 1; round <= 300; ++round) expected += round % 7 == 0 ? 0 : round;
        EXPECT_EQ(std::accumulate(times.begin(), times.end(), std::int64_t{0}), expected);
    }
}

TEST(thread_team_test, wakes_up_after_a_rest) {
    thread_team team(3);
    std::vector<int> done(8, 0);
    for (int round = 1; round <= 5; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2)); // longer than they stay awake
        team.for_each(8, [&](std::int64_t n) { ++done[static_cast<std::size_t>(n)]; });
        EXPECT_EQ(done, std::vector<int>(8, round));
    }
}

TEST(thread_team_test, an_exception_comes_out_and_the_team_goes_on) {
    thread_team team(2);
    EXPECT_THROW(team.for_each(100,
                               [](std::int64_t n) {
                                   if (n == 40) throw std::runtime_error("forty");
                               }),
                 std::runtime_error);
    std::vector<int> done(10, 0);
    team.for_each(10, [&](std::int64_t n) { ++done[static_cast<std::size_t>(n)]; });
    EXPECT_EQ(done, std::vector<int>(10, 1));
    craton::tests::expect_user_error([] { thread_team none(0); }, {"0 threads", "at least 1"});
}

// In a process of its own, which has room for the stacks of some dozens.
TEST(thread_team_test, says_when_the_system_starts_no_more) {
    if (craton::tests::sanitized) GTEST_SKIP() << "a sanitizer wants more address space than may be left here";
    const auto with_little_room = [] {
        constexpr rlim_t room = rlim_t{512} << 20;
        const rlimit limit{room, room};
        ::setrlimit(RLIMIT_AS, &limit);
        try {
            const thread_team team(2000);
        } catch (const craton::user_error& error) {
            std::fputs(error.what(), stderr);
            std::exit(2); // the process has no other thread
        }
        std::exit(0);
    };
    EXPECT_EXIT(with_little_room(), testing::ExitedWithCode(2),
                "thread team: 2000 threads: .* allowed: as many as the system starts");
}

} // namespace
