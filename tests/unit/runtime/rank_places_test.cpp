#include <craton/runtime/rank_places.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace {

using craton::runtime::rank_places;

void expect_places(const std::vector<int>& ranks, int world) {
    const rank_places places(ranks);
    std::vector<int> expected(static_cast<std::size_t>(world), -1);
    for (std::size_t i = 0; i < ranks.size(); ++i) expected[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);
    EXPECT_EQ(places.of(-1), -1);
    EXPECT_EQ(places.of(world), -1);
    for (int rank = 0; rank < world; ++rank) {
        EXPECT_EQ(places.of(rank), expected[static_cast<std::size_t>(rank)]) << rank;
        EXPECT_EQ(places.contains(rank), expected[static_cast<std::size_t>(rank)] >= 0);
    }
    EXPECT_EQ(places.all(), ranks);
}

TEST(rank_places, are_those_of_a_table) {
    expect_places({}, 4);
    expect_places({0}, 3);
    expect_places({2}, 5);
    expect_places({0, 1, 2, 3}, 4);
    expect_places({4, 5, 6}, 9);        // one machine after the other
    expect_places({1, 4, 7, 10}, 13);   // machines in turn
    expect_places({0, 1, 4, 5, 9}, 12); // anything else
    expect_places({0, 7}, 8);
}

} // namespace
