#include "../../separable_source.hpp"

#include <craton/apps/scf/fock_tasks.hpp>
#include <craton/base/thread_team.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace craton::scf::fock_tasks_tests {
namespace {

const std::vector<int> first{0, 1, 4, 10, 11, 16, 30, 31, 34};
constexpr double threshold = 1e-6;

// All work alike.
struct cut_build {
    cut_build() : digester(first, shell_ranges(first, 6), std::make_shared<tests::separable_source>(first), threshold) {
        base::thread_team team(1);
        const auto bounds = schwarz_bounds(first, digester.source(), team);
        pairs = significant_pairs(bounds, digester.ranges(), threshold);
        std::vector<int> parts;
        for (std::size_t r = 0; r < digester.ranges().size(); ++r) parts.push_back(r < digester.ranges().size() / 2 ? 0 : 1);
        for (const auto& place : {std::array{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
            places.emplace_back(digester, weighed(digester, pairs));
            places.back().take_place(place, parts, parts);
            for (const double cost : places.back().coarse_costs()) coarse_cost += cost;
        }
    }
    void cut(double most) {
        for (auto& place : places) place.cut(place.coarse_costs(), most);
    }
    // Of all places.
    [[nodiscard]] std::vector<fock_task> tasks() const {
        std::vector<fock_task> all;
        for (const auto& place : places) all.insert(all.end(), place.tasks().begin(), place.tasks().end());
        return all;
    }
    [[nodiscard]] double cost(const largest_between_ranges& densities) const {
        double total = 0;
        for (const auto& place : places)
            for (const double each : place.costs(densities)) total += each;
        return total;
    }

    block_digester digester;
    pair_list pairs;
    std::vector<fock_tasks> places; // of a grid of two rows and two columns
    double coarse_cost = 0;
};

TEST(scf_fock_tasks, hold_every_pair_of_blocks_once) {
    for (const double most : {1e30, 3000.0, 1.0}) {
        cut_build build;
        build.cut(most);
        std::set<std::pair<int, int>> found;
        for (const fock_task& task : build.tasks()) {
            EXPECT_LT(task.first_ket, task.last_ket);
            for (int ket = task.first_ket; ket < task.last_ket; ++ket) {
                EXPECT_LE(ket, task.bra);
                EXPECT_EQ(build.pairs.blocks[ket].rows, build.pairs.blocks[task.first_ket].rows);
                EXPECT_TRUE(found.insert({task.bra, ket}).second);
            }
        }
        const std::size_t blocks = build.pairs.blocks.size();
        EXPECT_EQ(found.size(), blocks * (blocks + 1) / 2);
    }
}

TEST(scf_fock_tasks, cost_of_all_places_is_that_of_the_whole) {
    cut_build build;
    build.cut(2000);
    const std::size_t ranges = build.digester.ranges().size();
    const largest_between_ranges ones{ranges, std::vector<double>(ranges * ranges, 1.0), std::vector<double>(ranges * ranges, 1.0)};
    EXPECT_NEAR(build.cost(ones), build.coarse_cost, 1e-9 * build.coarse_cost);
    fock_tasks whole(build.digester, weighed(build.digester, build.pairs));
    const std::vector<int> one_part(ranges, 0);
    whole.take_place({0, 0}, one_part, one_part);
    double total = 0;
    for (const double cost : whole.coarse_costs()) total += cost;
    EXPECT_NEAR(total, build.coarse_cost, 1e-9 * total);
    whole.take_place({0, 1}, one_part, one_part);
    EXPECT_TRUE(whole.coarse_costs().empty());
}

TEST(scf_fock_tasks, cost_counts_the_quartets_that_survive) {
    cut_build build;
    build.cut(1e30);
    const std::size_t ranges = build.digester.ranges().size();
    const auto cost_at = [&](double density) {
        const largest_between_ranges same{ranges, std::vector<double>(ranges * ranges, density),
                                          std::vector<double>(ranges * ranges, density)};
        return build.cost(same);
    };
    EXPECT_EQ(cost_at(0), 0);
    EXPECT_LT(cost_at(1e-3), cost_at(1));
    EXPECT_GT(cost_at(1e-3), 0);
}

TEST(scf_fock_tasks, places_of_the_grid_follow_each_other_and_parity_fills_them_all) {
    cut_build build;
    build.cut(1e30);
    const std::size_t half = build.digester.ranges().size() / 2;
    std::vector<std::pair<int, int>> places;
    for (const fock_task& task : build.tasks()) {
        std::size_t row = build.pairs.blocks[task.bra].rows, column = build.pairs.blocks[task.first_ket].rows;
        if ((row + column) % 2 == 1) std::swap(row, column);
        places.emplace_back(row < half ? 0 : 1, column < half ? 0 : 1);
    }
    EXPECT_TRUE(std::ranges::is_sorted(places));
    EXPECT_EQ(std::set(places.begin(), places.end()).size(), 4U);
}

TEST(scf_fock_tasks, kets_of_a_row_meet_all_bras_of_some_rows_before_the_next_come) {
    cut_build build;
    build.cut(1e30);
    const std::size_t half = build.digester.ranges().size() / 2;
    std::vector<std::array<std::size_t, 4>> groups; // place, bra's rows, ket's row
    for (const fock_task& task : build.tasks()) {
        const std::size_t bra = build.pairs.blocks[task.bra].rows, ket = build.pairs.blocks[task.first_ket].rows;
        const bool turned = (bra + ket) % 2 == 1;
        const std::size_t row = turned ? ket : bra, column = turned ? bra : ket;
        const std::array<std::size_t, 4> group{row < half ? 0U : 1U, column < half ? 0U : 1U, bra / fock_tasks::bra_rows_together,
                                               ket};
        if (groups.empty() || groups.back() != group) groups.push_back(group);
    }
    EXPECT_TRUE(std::ranges::is_sorted(groups));
    EXPECT_EQ(std::ranges::adjacent_find(groups), groups.end());
}

} // namespace
} // namespace craton::scf::fock_tasks_tests
