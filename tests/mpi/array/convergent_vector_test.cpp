#include "../deliveries.hpp"

#include <craton/array/convergent_vector.hpp>
#include <craton/base/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace convergent_vector_tests {
namespace {

using namespace craton;
using array::convergent_vector;

class convergent_vector_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(convergent_vector_test);

TEST_P(convergent_vector_test, equals_the_serial_reference) {
    for (const std::int64_t block : {1, 7, 64}) {
        constexpr std::int64_t size = 333;
        convergent_vector<double> vector(world(), size, block);
        std::vector<double> reference(size, 0.0);
        for (int rank = 0; rank < world().size(); ++rank) {
            for (int n = 0; n < 20; ++n) {
                std::vector<std::int64_t> indices;
                std::vector<double> values;
                for (int a = 0; a < 30; ++a) {
                    indices.push_back((rank * 131 + n * 17 + a * a) % size);
                    values.push_back(static_cast<double>(a - n));
                    reference[static_cast<std::size_t>(indices.back())] += values.back();
                }
                if (rank == world().rank()) vector.update(values, indices);
            }
        }
        vector.commit();
        EXPECT_EQ(vector.gather(), reference);
        vector.reset();
        EXPECT_EQ(vector.gather(), std::vector<double>(size, 0.0));
    }
}

TEST_P(convergent_vector_test, threads_may_update_at_once) {
    convergent_vector<double> vector(world(), 100);
    const std::vector<std::int64_t> indices{0, 1, 63, 64, 65, 99};
    const std::vector<double> values(indices.size(), 1.0);
    {
        std::vector<std::jthread> team;
        for (int t = 0; t < 3; ++t) {
            team.emplace_back([&] {
                for (int n = 0; n < 200; ++n) vector.update(values, indices);
            });
        }
    }
    vector.commit();
    const auto whole = vector.gather();
    for (const auto i : indices) EXPECT_EQ(whole[static_cast<std::size_t>(i)], 600.0 * world().size());
    EXPECT_EQ(whole[2], 0.0);
}

TEST_P(convergent_vector_test, bad_updates_are_refused_whole) {
    convergent_vector<double> vector(world(), 10);
    const std::vector<double> values{1.0, 1.0};
    const std::vector<std::int64_t> outside{0, 10};
    const std::vector<std::int64_t> one{0};
    EXPECT_THROW(vector.update(values, outside), user_error);
    EXPECT_THROW(vector.update(values, one), user_error);
    EXPECT_THROW(convergent_vector<double>(world(), 0), user_error);
    EXPECT_THROW(convergent_vector<double>(world(), 10, 0), user_error);
    vector.commit();
    EXPECT_EQ(vector.gather(), std::vector<double>(10, 0.0));
}

// Said once for each change, and not of sums that have come back.
TEST_P(convergent_vector_test, sums_of_whole_numbers_beyond_their_range_are_told) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    convergent_vector<std::int64_t> vector(world(), 10, 2);
    const auto told_by_commit = [&](std::int64_t value) {
        if (world().rank() == world().size() - 1) vector.update(std::vector{value}, std::vector<std::int64_t>{0});
        testing::internal::CaptureStderr();
        vector.commit();
        world().barrier(); // nobody updates before all have looked
        return testing::internal::GetCapturedStderr();
    };
    const bool owns = world().rank() == 0;
    EXPECT_EQ(told_by_commit(most), "");
    const auto told = told_by_commit(3);
    EXPECT_EQ(told.find("craton: warning: vector of int64: sums on rank 0 have left the range of int64") != std::string::npos, owns)
        << told;
    EXPECT_EQ(told_by_commit(1), "");  // nothing new
    EXPECT_EQ(told_by_commit(-9), ""); // back again
    EXPECT_TRUE(!owns || vector.local()[0] == most - 5);
    world().barrier();
    EXPECT_EQ(told_by_commit(9).empty(), !owns);
    vector.reset();
    EXPECT_EQ(told_by_commit(5), "");
}

} // namespace

} // namespace convergent_vector_tests
