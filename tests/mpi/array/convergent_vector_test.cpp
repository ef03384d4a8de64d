#include "../deliveries.hpp"

#include <craton/array/convergent_vector.hpp>
#include <craton/base/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
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

} // namespace

} // namespace convergent_vector_tests
