#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/runtime/counter.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace craton;

class counter_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(counter_test);

TEST_P(counter_test, gives_every_number_to_exactly_one_caller) {
    const int owner = world().size() - 1;
    runtime::counter counter(world(), owner);
    constexpr std::int64_t total = 3000;
    std::vector<std::int64_t> mine;
    std::mutex mutex;
    {
        std::vector<std::jthread> team;
        for (int t = 0; t < 2; ++t) {
            team.emplace_back([&] {
                for (std::int64_t n = counter.fetch_add(); n < total; n = counter.fetch_add()) {
                    const std::lock_guard guard(mutex);
                    mine.push_back(n);
                }
            });
        }
    }
    world().quiesce(); // the owner goes on answering here until all are done
    std::int64_t sum = 0;
    for (const auto n : mine) sum += n;
    EXPECT_EQ(world().communicator().sum(static_cast<std::int64_t>(mine.size())), total);
    EXPECT_EQ(world().communicator().sum(sum), total * (total - 1) / 2);
    world().barrier();
}

TEST_P(counter_test, reads_and_resets) {
    runtime::counter counter(world());
    counter.fetch_add(5);
    world().barrier();
    EXPECT_EQ(counter.read(), 5 * world().size());
    world().barrier();
    counter.reset();
    EXPECT_EQ(counter.read(), 0);
    world().barrier();
}

TEST_P(counter_test, refuses_an_owner_that_does_not_exist) {
    tests::expect_user_error([&] { runtime::counter(world(), world().size()); },
                             {"counter", "owner rank " + std::to_string(world().size()) + " does not exist", "allowed: 0 to"});
    tests::expect_user_error([&] { runtime::counter(world(), -1); }, {"owner rank -1 does not exist"});
}

} // namespace
