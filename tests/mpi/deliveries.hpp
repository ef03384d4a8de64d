#pragma once

#include <craton/comm/communicator.hpp>
#include <craton/runtime/world.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace craton::tests {

/// Tests that must hold however updates travel: 0 = the machine's own node (direct delivery), 1 = every rank a node (messages),
/// 2 = nodes of two ranks (both at once).
class every_delivery : public testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        world_ =
            std::make_unique<runtime::world>(comm::communicator::world(), runtime::world_options{GetParam(), std::size_t{1} << 20});
    }
    [[nodiscard]] runtime::world& world() { return *world_; }

  private:
    std::unique_ptr<runtime::world> world_;
};

/// Those that differ with so many ranks. One rank is one node whatever it is told; so are two ranks of one machine in nodes of two.
/// Collective, the first time.
inline const std::vector<int>& deliveries() {
    static const std::vector<int> different = [] {
        const auto all = comm::communicator::world();
        if (all.size() == 1) return std::vector<int>{0};
        if (all.size() == 2 && all.split_shared_memory().size() == 2) return std::vector<int>{0, 1};
        return std::vector<int>{0, 1, 2};
    }();
    return different;
}

inline std::string delivery_name(const testing::TestParamInfo<int>& info) {
    switch (info.param) {
    case 0:
        return "direct";
    case 1:
        return "messages";
    default:
        return "nodes_of_two";
    }
}

} // namespace craton::tests

// gtest's own macro
#define CRATON_FOR_EVERY_DELIVERY(suite)                                                                                           \
    INSTANTIATE_TEST_SUITE_P(deliveries, suite, testing::ValuesIn(craton::tests::deliveries()), craton::tests::delivery_name)
