// How index lists are dealt out to their owners and cut into lines.

#include "index_bins.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace {

using namespace craton::array;

TEST(find_lines, gathers_what_shares_sixteen_elements) {
    std::vector<place_line> lines;
    const std::vector<std::int32_t> places{3, 4, 15, 16, 40};
    EXPECT_TRUE(find_lines(places, {}, 16, lines));
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0].local, 0);
    EXPECT_EQ(lines[0].taken, (1U << 3) | (1U << 4) | (1U << 15));
    EXPECT_EQ(lines[0].count, 3);
    EXPECT_EQ(lines[1].local, 16);
    EXPECT_EQ(lines[1].first, 3);
    EXPECT_EQ(lines[2].taken, 1U << 8);
    EXPECT_EQ(lines[2].first, 4);
    EXPECT_TRUE(find_lines(places, std::vector<std::int32_t>{10, 11, 12, 30, 20}, 16, lines));
    EXPECT_EQ(lines[1].position, 30);
    EXPECT_FALSE(find_lines(places, std::vector<std::int32_t>{10, 11, 13, 30, 31}, 16, lines));
}

TEST(deal_by_owner, positions_lie_with_their_owners_in_the_order_given) {
    std::mt19937 random(10);
    dealt_indices dealt;
    for (const std::int64_t block : {1, 7, 64}) {
        for (const std::int64_t processes : {1, 3, 500}) {
            const cyclic_dimension dimension{1000, block, processes};
            std::vector<std::int64_t> indices(300);
            for (auto& i : indices) i = std::uniform_int_distribution<std::int64_t>(0, 999)(random);
            deal_by_owner(indices, dimension, dealt);
            std::size_t found = 0;
            for (int owner = 0; owner < processes; ++owner) {
                std::int32_t before = -1;
                for (const auto position : dealt.of(owner)) {
                    EXPECT_GT(position, before);
                    EXPECT_EQ(dimension.owner(indices[static_cast<std::size_t>(position)]), owner);
                    before = position;
                    ++found;
                }
            }
            EXPECT_EQ(found, indices.size());
        }
    }
    deal_by_owner({}, {1000, 7, 3}, dealt);
    EXPECT_TRUE(dealt.of(0).empty() && dealt.of(2).empty());
    deal_by_owner(std::vector<std::int64_t>{8, 8, 8}, {1000, 7, 3}, dealt);
    EXPECT_TRUE(dealt.of(0).empty() && dealt.of(1).size() == 3 && dealt.of(2).empty());
}

TEST(bin_by_owner, every_index_goes_where_the_layout_says) {
    std::mt19937 random(9);
    for (const std::int64_t block : {1, 7, 64}) {
        for (const std::int64_t processes : {1, 3, 4}) {
            const cyclic_dimension dimension{1000, block, processes};
            std::vector<std::int64_t> indices(300);
            for (auto& i : indices) i = std::uniform_int_distribution<std::int64_t>(0, 999)(random);
            std::vector<std::int32_t> order;
            ascending_order(indices, order);
            std::vector<owned_indices> bins;
            bin_by_owner(indices, order, dimension, bins);
            std::size_t dealt = 0;
            for (std::int64_t p = 0; p < processes; ++p) {
                const auto& bin = bins[static_cast<std::size_t>(p)];
                dealt += bin.size();
                std::set<std::int32_t> places;
                for (std::size_t a = 0; a < bin.size(); ++a) {
                    const std::int64_t i = indices[static_cast<std::size_t>(bin.position[a])];
                    ASSERT_EQ(dimension.owner(i), p);
                    ASSERT_EQ(dimension.local(i), bin.local[a]);
                    places.insert(bin.local[a]);
                }
                ASSERT_EQ(bin.distinct, places.size() == bin.size());
            }
            ASSERT_EQ(dealt, indices.size());
        }
    }
}

} // namespace
