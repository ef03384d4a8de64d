// How index lists are dealt out to their owners and cut into runs.

#include "index_bins.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace {

using namespace craton::array;

TEST(find_runs, joins_what_is_consecutive_in_storage) {
    std::vector<index_run> runs;
    find_runs(std::vector<std::int32_t>{3, 4, 5, 9, 10, 2}, 1, runs);
    ASSERT_EQ(runs.size(), 3U);
    EXPECT_EQ(runs[0].length, 3);
    EXPECT_EQ(runs[1].local, 9);
    EXPECT_EQ(runs[1].first, 3);
    EXPECT_EQ(runs[2].local, 2);
}

TEST(find_runs, short_runs_are_not_worthwhile) {
    std::vector<std::int32_t> places(100);
    std::iota(places.begin(), places.end(), 0);
    std::vector<index_run> runs;
    find_runs(places, mean_run_worthwhile, runs);
    EXPECT_EQ(runs.size(), 1U);
    for (auto& p : places) p *= 2;
    find_runs(places, mean_run_worthwhile, runs);
    EXPECT_TRUE(runs.empty());
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
