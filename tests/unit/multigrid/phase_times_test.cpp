#include <craton/apps/multigrid/phase_times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>

namespace {

using namespace craton::multigrid;

void pass(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// Sleeping takes at least what it is told to, so that what counts nowhere else can only be too long.
TEST(phase_times, what_begins_within_another_phase_counts_for_itself_alone) {
    phase_times times(2);
    const craton::base::timer whole;
    {
        const in_phase smoothing(&times, 0, phase::smoothing);
        pass(4);
        {
            const in_phase exchange(&times, 0, phase::exchange);
            pass(20);
        }
        pass(4);
    }
    pass(20); // nobody's
    EXPECT_GE(times.seconds(0, phase::smoothing), 0.008);
    EXPECT_GE(times.seconds(0, phase::exchange), 0.020);
    EXPECT_LE(times.seconds(0, phase::smoothing) + times.seconds(0, phase::exchange), whole.seconds() - 0.020);
    for (const auto each : phases) EXPECT_EQ(times.seconds(1, each), 0);
}

TEST(phase_times, all_of_a_bottom_solve_counts_for_it) {
    phase_times times(3);
    {
        const in_phase bottom(&times, 2, phase::bottom_solve);
        const in_phase residual(&times, 2, phase::residual);
        const in_phase exchange(&times, 2, phase::exchange);
        pass(5);
    }
    EXPECT_GE(times.seconds(2, phase::bottom_solve), 0.005);
    EXPECT_EQ(times.seconds(2, phase::residual), 0);
    EXPECT_EQ(times.seconds(2, phase::exchange), 0);
    {
        const in_phase residual(&times, 2, phase::residual);
    }
    EXPECT_GT(times.seconds(2, phase::residual), 0);
}

TEST(phase_times, without_a_recorder_nothing_happens_and_names_differ) {
    {
        const in_phase nothing(nullptr, 7, phase::vectors);
    }
    std::set<std::string> names;
    for (const auto each : phases) names.emplace(name_of(each));
    EXPECT_EQ(names.size(), phases.size());
}

} // namespace
