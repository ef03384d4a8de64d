#include "../../../src/runtime/victims.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace {

using craton::runtime::draw_victims;
using craton::runtime::most_victims;

std::vector<int> drawn(int ranks, int first_near, int near_count, unsigned seed) {
    std::mt19937_64 random(seed);
    return draw_victims(ranks, near_count, [=](int rank) { return rank >= first_near && rank < first_near + near_count; }, random);
}

TEST(victims, few_ranks_are_all_asked_once) {
    for (int ranks = 1; ranks <= 40; ++ranks) {
        const int near_count = std::min(ranks, 3);
        auto victims = drawn(ranks, ranks - near_count, near_count, 1);
        std::ranges::sort(victims);
        std::vector<int> others;
        for (int rank = 0; rank < ranks - near_count; ++rank) others.push_back(rank);
        EXPECT_EQ(victims, others) << ranks;
    }
    EXPECT_TRUE(drawn(64, 0, 64, 1).empty()); // one node
}

TEST(victims, of_many_ranks_as_many_are_asked_as_the_logarithm_says) {
    EXPECT_EQ(most_victims(1), 16);
    EXPECT_EQ(most_victims(1024), 96);
    EXPECT_EQ(most_victims(100'000), 144);
    for (const int ranks : {1000, 12'288, 100'000}) {
        const auto victims = drawn(ranks, 128, 64, 7);
        EXPECT_EQ(static_cast<int>(victims.size()), most_victims(ranks));
        for (const int victim : victims) {
            EXPECT_TRUE((victim >= 0 && victim < 128) || (victim >= 192 && victim < ranks)) << victim;
        }
    }
}

TEST(victims, thieves_ask_different_ranks_and_every_rank_is_asked) {
    std::set<int> first;
    std::set<int> all;
    for (unsigned thief = 1; thief <= 2000; ++thief) {
        const auto victims = drawn(1000, 0, 8, thief);
        first.insert(victims.front());
        all.insert(victims.begin(), victims.end());
    }
    EXPECT_GT(first.size(), 500U);
    EXPECT_EQ(all.size(), 992U);
}

} // namespace
