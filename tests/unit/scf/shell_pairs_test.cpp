#include <craton/apps/scf/shell_pairs.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

namespace craton::scf {
namespace {

TEST(scf_shell_pairs, ranges_hold_all_shells_in_order) {
    const std::vector<int> first{0, 3, 4, 9, 30, 31};
    const auto ranges = shell_ranges(first, 9);
    std::vector<std::pair<int, int>> found;
    for (const auto& each : ranges) found.emplace_back(each.first, each.last);
    EXPECT_EQ(found, (std::vector<std::pair<int, int>>{{0, 3}, {3, 4}, {4, 5}})); // a shell that is too large has one of its own
}

TEST(scf_shell_pairs, holds_each_significant_pair_once_and_largest_first) {
    constexpr int shells = 7;
    constexpr double threshold = 1e-3;
    std::vector<double> bounds(shells * shells);
    for (int i = 0; i < shells; ++i)
        for (int j = 0; j < shells; ++j) bounds[i * shells + j] = 4 * std::exp(-0.5 * (i - j) * (i - j) - 0.1 * (i + j));
    const std::vector<shell_range> ranges{{0, 2}, {2, 3}, {3, 7}};
    std::set<std::pair<int, int>> found;
    const auto list = significant_pairs(bounds, ranges, threshold);
    for (const auto& block : list.blocks) {
        double last = block.bound();
        for (const auto& pair : block.pairs) {
            EXPECT_TRUE(found.insert({pair.i, pair.j}).second) << pair.i << ' ' << pair.j;
            EXPECT_TRUE(pair.i >= ranges[block.rows].first && pair.i < ranges[block.rows].last);
            EXPECT_TRUE(pair.j >= ranges[block.columns].first && pair.j < ranges[block.columns].last);
            const double bound = bounds[pair.i * shells + pair.j];
            EXPECT_GE(pair.bound, bound);
            EXPECT_LE(pair.bound, bound * (1 + 2e-7));
            EXPECT_LE(pair.bound, last);
            last = pair.bound;
        }
    }
    std::set<std::pair<int, int>> expected;
    for (int i = 0; i < shells; ++i)
        for (int j = 0; j <= i; ++j)
            if (bounds[i * shells + j] * 4 >= threshold) expected.insert({i, j});
    EXPECT_EQ(found, expected);
    EXPECT_LT(expected.size(), shells * (shells + 1) / 2u); // some are left out
}

} // namespace
} // namespace craton::scf
