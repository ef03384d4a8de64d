#include <craton/array/update_times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace craton::array {
namespace {

constexpr std::chrono::milliseconds a_while{5};

void spend(update_phase phase) {
    const timed_phase timed(phase);
    std::this_thread::sleep_for(a_while);
}

TEST(update_times, add_up_by_phase_over_threads) {
    take_update_times(true);
    spend(update_phase::binning);
    {
        const std::jthread one([] { spend(update_phase::copying); });
        const std::jthread two([] { spend(update_phase::copying); });
    }
    const auto taken = taken_update_times();
    take_update_times(false);
    EXPECT_GE(taken.binning_s, 0.005);
    EXPECT_EQ(taken.waiting_s, 0.0);
    EXPECT_GE(taken.copying_s, 0.010);
}

TEST(update_times, begin_from_zero_and_stop) {
    take_update_times(true);
    spend(update_phase::waiting);
    take_update_times(true);
    EXPECT_EQ(taken_update_times().waiting_s, 0.0);
    take_update_times(false);
    spend(update_phase::waiting);
    EXPECT_EQ(taken_update_times().waiting_s, 0.0);
}

} // namespace
} // namespace craton::array
