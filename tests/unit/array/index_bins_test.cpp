// Binning and the scatter kernels against plain loops.

#include "index_bins.hpp"
#include "scatter_add.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace {

using craton::array::bin_by_owner;
using craton::array::cyclic_dimension;
using craton::array::find_runs;
using craton::array::index_run;
using craton::array::owned_indices;
using craton::array::scatter_add_packed;
using craton::array::scatter_add_runs;

TEST(bin_by_owner, gives_every_index_to_its_owner_once) {
    const cyclic_dimension d{100, 7, 3};
    const std::vector<std::int64_t> indices{0, 6, 7, 8, 20, 21, 22, 50, 99};
    std::vector<std::int32_t> order(indices.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<owned_indices> bins;
    bin_by_owner(indices, order, d, bins);
    ASSERT_EQ(bins.size(), 3U);
    std::size_t total = 0;
    for (std::size_t p = 0; p < 3; ++p) {
        total += bins[p].size();
        for (std::size_t a = 0; a < bins[p].size(); ++a) {
            EXPECT_EQ(d.global(static_cast<std::int64_t>(p), bins[p].local[a]),
                      indices[static_cast<std::size_t>(bins[p].position[a])]);
        }
    }
    EXPECT_EQ(total, indices.size());
}

TEST(find_runs, joins_what_is_consecutive_in_list_and_storage) {
    const owned_indices list{{3, 4, 5, 9, 10, 2}, {0, 1, 2, 3, 5, 6}};
    std::vector<index_run> runs;
    find_runs(list, runs);
    ASSERT_EQ(runs.size(), 4U);
    EXPECT_EQ(runs[0].length, 3);
    EXPECT_EQ(runs[1].local, 9); // 9 and 10 are neighbours in storage but not in the list
    EXPECT_EQ(runs[2].position, 5);
    EXPECT_EQ(runs[3].local, 2);
}

TEST(scatter_add, equals_the_plain_loop_for_any_stride_and_prefix) {
    std::mt19937 random(3);
    for (int trial = 0; trial < 200; ++trial) {
        const std::int64_t stride = std::uniform_int_distribution(1, 3)(random);
        owned_indices list;
        std::int32_t local = 0;
        std::int32_t position = 0;
        for (int a = 0; a < 20; ++a) {
            local += std::uniform_int_distribution(1, 2)(random);
            position += std::uniform_int_distribution(1, 2)(random);
            list.local.push_back(local);
            list.position.push_back(position);
        }
        const std::int64_t limit = std::uniform_int_distribution(0, 20)(random);
        std::vector<float> source(static_cast<std::size_t>((position + 1) * stride));
        std::iota(source.begin(), source.end(), 1.0F);
        std::vector<float> plain(64, 1.0F);
        std::vector<float> by_runs(64, 1.0F);
        std::vector<float> packed(64, 1.0F);
        std::vector<float> packed_source;
        for (std::size_t a = 0; a < static_cast<std::size_t>(limit); ++a) {
            const float value = source[static_cast<std::size_t>(list.position[a] * stride)];
            plain[static_cast<std::size_t>(list.local[a])] += value;
            packed_source.push_back(value);
        }
        std::vector<index_run> runs;
        find_runs(list, runs);
        scatter_add_runs(by_runs.data(), source.data(), stride, std::span<const index_run>(runs), limit);
        scatter_add_packed(packed.data(), packed_source.data(), list.local, limit);
        EXPECT_EQ(by_runs, plain);
        EXPECT_EQ(packed, plain);
    }
}

} // namespace
