#include "../../separable_source.hpp"

#include <craton/apps/scf/fock_tasks.hpp>
#include <craton/base/thread_team.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
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
        tasks = std::make_unique<fock_tasks>(digester, significant_pairs(bounds, digester.ranges(), threshold));
        coarse = tasks->coarse_costs(0, 1);
    }
    void cut(double most) {
        std::vector<int> parts;
        for (std::size_t r = 0; r < digester.ranges().size(); ++r) parts.push_back(r < digester.ranges().size() / 2 ? 0 : 1);
        tasks->cut(coarse, most, parts, parts);
    }

    block_digester digester;
    std::unique_ptr<fock_tasks> tasks;
    std::vector<double> coarse;
};

TEST(scf_fock_tasks, hold_every_pair_of_blocks_once) {
    for (const double most : {1e30, 3000.0, 1.0}) {
        cut_build build;
        build.cut(most);
        std::set<std::pair<int, int>> found;
        for (const fock_task& task : build.tasks->tasks()) {
            EXPECT_LT(task.first_ket, task.last_ket);
            for (int ket = task.first_ket; ket < task.last_ket; ++ket) {
                EXPECT_LE(ket, task.bra);
                EXPECT_EQ(build.tasks->blocks()[ket].rows, build.tasks->blocks()[task.first_ket].rows);
                EXPECT_TRUE(found.insert({task.bra, ket}).second);
            }
        }
        const std::size_t blocks = build.tasks->blocks().size();
        EXPECT_EQ(found.size(), blocks * (blocks + 1) / 2);
    }
}

TEST(scf_fock_tasks, cost_is_shared_out_and_added_up) {
    cut_build build;
    build.cut(2000);
    const std::size_t ranges = build.digester.ranges().size();
    const largest_between_ranges ones{ranges, std::vector<double>(ranges * ranges, 1.0), std::vector<double>(ranges * ranges, 1.0)};
    const auto whole = build.tasks->costs(ones, 0, 1);
    const double total = std::accumulate(whole.begin(), whole.end(), 0.0);
    EXPECT_NEAR(total, std::accumulate(build.coarse.begin(), build.coarse.end(), 0.0), 1e-9 * total);
    std::vector<double> sum(whole.size(), 0.0);
    for (int rank = 0; rank < 3; ++rank) {
        const auto part = build.tasks->costs(ones, rank, 3);
        for (std::size_t t = 0; t < sum.size(); ++t) sum[t] += part[t];
    }
    EXPECT_EQ(sum, whole);
}

TEST(scf_fock_tasks, cost_counts_the_quartets_that_survive) {
    cut_build build;
    build.cut(1e30);
    const std::size_t ranges = build.digester.ranges().size();
    const auto cost_at = [&](double density) {
        const largest_between_ranges same{ranges, std::vector<double>(ranges * ranges, density),
                                          std::vector<double>(ranges * ranges, density)};
        double total = 0;
        for (const double each : build.tasks->costs(same, 0, 1)) total += each;
        return total;
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
    for (const fock_task& task : build.tasks->tasks()) {
        std::size_t row = build.tasks->blocks()[task.bra].rows, column = build.tasks->blocks()[task.first_ket].rows;
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
    for (const fock_task& task : build.tasks->tasks()) {
        const std::size_t bra = build.tasks->blocks()[task.bra].rows, ket = build.tasks->blocks()[task.first_ket].rows;
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
