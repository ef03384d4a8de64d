#include "../../expect_user_error.hpp"
#include "../../waves_brick.hpp"

#include <craton/apps/waves/in_situ.hpp>
#include <craton/apps/waves/output.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace in_situ_tests {
namespace {

using namespace craton;
using namespace craton::waves;
using std::chrono::milliseconds;
using tests::plain_brick;

// Copies one number, and can be slow or fail.
class counting_observer : public observer {
  public:
    struct log {
        std::mutex mutex;
        std::vector<std::pair<std::int64_t, float>> received;
        std::thread::id thread;
        std::atomic<std::int64_t> copied{0}, done{0}, most_waiting{0};
        std::int64_t done_at_meeting = -1, meetings = 0;
    };
    counting_observer(log& into, schedule when, milliseconds pause, std::int64_t fails_at = -1)
        : log_(&into), when_(when), pause_(pause), fails_at_(fails_at) {}

    [[nodiscard]] bool wants(std::int64_t step) const override { return when_.has(step); }
    [[nodiscard]] std::size_t values() const override { return 1; }
    void copy(const brick_view& view, std::span<float> into) override {
        into[0] = view.velocity.x[0];
        log_->most_waiting = std::max<std::int64_t>(log_->most_waiting, ++log_->copied - log_->done);
    }
    void receive(std::int64_t step, double time_s, std::span<const float> values) override {
        if (step == fails_at_) throw std::runtime_error("the module has failed");
        std::this_thread::sleep_for(pause_);
        EXPECT_EQ(time_s, 0.5 * static_cast<double>(step));
        const std::lock_guard guard(log_->mutex);
        log_->received.emplace_back(step, values[0]);
        log_->thread = std::this_thread::get_id();
        ++log_->done;
    }
    [[nodiscard]] bool meets(std::int64_t step) const override { return step == 9; }
    void meet() override {
        log_->done_at_meeting = log_->done;
        ++log_->meetings;
    }

  private:
    log* log_;
    schedule when_;
    milliseconds pause_;
    std::int64_t fails_at_;
};

class in_situ_test : public testing::Test {
  protected:
    in_situ_test() : brick_({{0, 0, 0}, {4, 4, 4}}) {}
    void run(in_situ& modules, std::int64_t first, std::int64_t last) {
        for (std::int64_t step = first; step < last; ++step) {
            brick_.array(0)[0] = static_cast<float>(100 + step);
            modules.after_step(step, 0.5 * static_cast<double>(step), brick_.view());
            brick_.array(0)[0] = -1; // the fields go on: what was copied must not
        }
    }
    plain_brick brick_;
};

TEST_F(in_situ_test, modules_see_the_steps_that_they_want_in_order_on_their_own_threads) {
    counting_observer::log every;
    counting_observer::log some;
    in_situ modules;
    modules.add(std::make_unique<counting_observer>(every, schedule{0, 1, 20}, milliseconds(0)));
    modules.add(std::make_unique<counting_observer>(some, schedule{2, 5, 20}, milliseconds(1)), 3);
    run(modules, 0, 20);
    modules.finish();
    ASSERT_EQ(every.received.size(), 20U);
    for (std::int64_t n = 0; n < 20; ++n)
        EXPECT_EQ(every.received[static_cast<std::size_t>(n)], std::pair(n, static_cast<float>(100 + n)));
    ASSERT_EQ(some.received.size(), 4U);
    for (std::int64_t n = 0; n < 4; ++n) EXPECT_EQ(some.received[static_cast<std::size_t>(n)].first, 2 + 5 * n);
    EXPECT_NE(every.thread, std::this_thread::get_id());
    EXPECT_NE(every.thread, some.thread);
    EXPECT_EQ(every.meetings, 2); // after step 9, and at the end
    EXPECT_TRUE(modules.empty());
}

TEST_F(in_situ_test, a_meeting_comes_when_all_up_to_it_is_received) {
    counting_observer::log log;
    in_situ modules;
    modules.add(std::make_unique<counting_observer>(log, schedule{0, 1, 12}, milliseconds(3)));
    run(modules, 0, 10);
    EXPECT_EQ(log.done_at_meeting, 10);
    run(modules, 10, 12);
    modules.save();
    EXPECT_EQ(log.done_at_meeting, 12);
    EXPECT_EQ(log.meetings, 2);
}

TEST_F(in_situ_test, a_slow_module_holds_the_solver_and_memory_stays_bounded) {
    for (const int depth : {2, 4}) {
        counting_observer::log log;
        in_situ modules;
        modules.add(std::make_unique<counting_observer>(log, schedule{0, 1, 9}, milliseconds(15)), depth);
        run(modules, 0, 9);
        EXPECT_GT(log.most_waiting, 1) << "the solver went on while the module was at work";
        EXPECT_LE(log.most_waiting, depth);
        EXPECT_GT(modules.spent().waiting_s, 0.015);
        modules.finish();
        EXPECT_EQ(log.done, 9);
    }
}

TEST_F(in_situ_test, what_a_module_throws_reaches_the_solver_and_the_others_go_on) {
    counting_observer::log failing;
    counting_observer::log fine;
    in_situ modules;
    modules.add(std::make_unique<counting_observer>(failing, schedule{0, 1, 9}, milliseconds(0), 3));
    modules.add(std::make_unique<counting_observer>(fine, schedule{0, 1, 9}, milliseconds(0)));
    bool thrown = false;
    try {
        for (std::int64_t step = 0; step < 9; ++step) run(modules, step, step + 1);
        modules.save();
    } catch (const std::runtime_error& error) {
        thrown = true;
        EXPECT_STREQ(error.what(), "the module has failed");
    }
    EXPECT_TRUE(thrown);
    EXPECT_EQ(failing.done, 3);
}

TEST_F(in_situ_test, ends_with_work_still_queued) {
    counting_observer::log log;
    {
        in_situ modules;
        modules.add(std::make_unique<counting_observer>(log, schedule{0, 1, 9}, milliseconds(100)), 5);
        run(modules, 0, 4);
    }
    EXPECT_LT(log.done, 4);
}

TEST_F(in_situ_test, boxes_reach_a_function) {
    plain_brick brick({{4, 0, 2}, {9, 5, 8}});
    for (std::size_t n = 0; n < 9; ++n)
        brick.fill(n, {true, true, true},
                   [n](double x, double y, double z) { return static_cast<double>(n) * 1e5 + x + 100 * y + 10000 * z; });
    const std::vector<wanted_box> boxes{{field::vz, {{3, 1, 0}, {12, 5, 7}}, {2, 1, 3}},
                                        {field::yz, {{0, 0, 0}, {4, 5, 8}}, {1, 1, 1}},
                                        {field::xx, {{8, 4, 7}, {9, 5, 8}}, {1, 1, 1}}};
    std::vector<float> seen;
    std::vector<array::domain> parts;
    {
        in_situ modules;
        modules.add(make_box_observer({0, 1, 1}, boxes, {{12, 5, 8}, 1.0}, brick.place(), [&](const box_frame& frame) {
            parts = frame.parts;
            for (const auto& values : frame.values) seen.insert(seen.end(), values.begin(), values.end());
        }));
        modules.after_step(0, 0.0, brick.view());
        modules.finish();
    }
    // x of 3, 5, 7, 9, 11 in the brick: 5, 7; y 1 ... 4; z of 0, 3, 6: 3, 6. Nothing of the second box. The last cell of the brick.
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[0], (array::domain{{1, 0, 1}, {3, 4, 3}}));
    EXPECT_TRUE(parts[1].empty());
    std::vector<float> expected;
    for (const int z : {3, 6})
        for (const int y : {1, 2, 3, 4})
            for (const int x : {5, 7}) expected.push_back(static_cast<float>(2e5 + x + 100 * y + 10000 * z));
    expected.push_back(static_cast<float>(3e5 + 8 + 400 + 70000));
    EXPECT_EQ(seen, expected);
}

TEST_F(in_situ_test, refuses_boxes_that_cannot_be) {
    const plain_brick brick({{4, 0, 2}, {9, 5, 8}});
    const auto make = [&](std::vector<wanted_box> boxes) {
        static_cast<void>(
            make_box_observer({0, 1, 1}, std::move(boxes), {{12, 5, 8}, 1.0}, brick.place(), [](const box_frame&) {}));
    };
    tests::expect_user_error([&] { make({}); }, "no fields");
    tests::expect_user_error([&] { make({{field::vz, {{0, 0, 0}, {12, 5, 8}}, {1, 0, 1}}}); }, "stride 0 along y");
    tests::expect_user_error([&] { make({{field::vz, {{0, 0, 0}, {12, 5, 9}}, {1, 1, 1}}}); }, "cells 0 to 9 along z");
    tests::expect_user_error([&] { make({{field::vz, {{-1, 0, 0}, {12, 5, 8}}, {1, 1, 1}}}); }, "cells -1 to 12 along x");
}

TEST(schedule, counts_what_it_has) {
    for (const schedule when : {schedule{0, 1, 7}, schedule{2, 3, 12}, schedule{5, 10, 5}, schedule{9, 10, 100}}) {
        std::int64_t count = 0;
        for (std::int64_t step = 0; step < 120; ++step) {
            EXPECT_EQ(when.before(step), count);
            count += when.has(step) ? 1 : 0;
        }
        EXPECT_EQ(when.samples(), count);
    }
}

} // namespace

} // namespace in_situ_tests
