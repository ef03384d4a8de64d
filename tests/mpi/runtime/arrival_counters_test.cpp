#include "../deliveries.hpp"

#include <craton/runtime/arrival_counters.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using namespace craton;

class arrival_counters_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(arrival_counters_test);

TEST_P(arrival_counters_test, neighbours_count_for_each_source_and_turn) {
    runtime::arrival_counters counters(world());
    for (int target = 0; target < world().size(); ++target) {
        if (!world().shares_memory_with(target)) continue;
        counters.at_neighbour(target, 4).fetch_add(100 + world().rank());
        counters.at_neighbour(target, 5).fetch_add(1000 + world().rank());
    }
    world().barrier();
    for (int source = 0; source < world().size(); ++source) {
        const bool counted = world().shares_memory_with(source);
        EXPECT_EQ(counters.of(source, 0).load(), counted ? 100 + source : 0) << source;
        EXPECT_EQ(counters.of(source, 7).load(), counted ? 1000 + source : 0) << source;
    }
    world().barrier();
}

TEST_P(arrival_counters_test, a_counter_of_a_rank_off_the_node_stays_where_it_is) {
    runtime::arrival_counters counters(world());
    auto& first = counters.off_node(world().size() + 1);
    std::thread other([&] { // as a handler counts while another thread waits
        for (int n = 0; n < 1000; ++n) counters.off_node(world().size() + 1 + n % 100).fetch_add(1);
    });
    while (first.load() < 10) std::this_thread::yield();
    other.join();
    EXPECT_EQ(first.load(), 10);
    EXPECT_EQ(&counters.off_node(world().size() + 1), &first);
    world().barrier();
}

} // namespace
