#include "../../../src/runtime/buffer_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace {

using craton::runtime::buffer_pool;
using craton::runtime::byte_buffer;

TEST(buffer_pool, capacities_fit_and_waste_at_most_a_quarter) {
    for (std::size_t bytes = 1; bytes < 100000; bytes += 7) {
        const std::size_t capacity = buffer_pool::capacity_for(bytes);
        EXPECT_GE(capacity, bytes);
        EXPECT_EQ(capacity, buffer_pool::capacity_for(capacity));
        EXPECT_EQ(capacity % 16, 0U);
        if (bytes > 128) {
            EXPECT_LE(capacity - bytes, bytes / 4);
        }
    }
}

TEST(byte_buffer, begins_where_any_element_may_and_a_large_one_at_a_cache_line) {
    for (std::size_t bytes = 0; bytes < 200000; bytes += 1 + bytes / 16) {
        const byte_buffer buffer(bytes);
        EXPECT_EQ(buffer.capacity(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % (bytes < 16384 ? 16 : 64), 0U) << bytes;
    }
    EXPECT_EQ(byte_buffer().data(), nullptr);
}

TEST(buffer_pool, uses_a_buffer_again) {
    buffer_pool pool(1 << 20);
    auto first = pool.take(5000);
    auto* const place = first.data();
    pool.give_back(std::move(first));
    EXPECT_EQ(pool.bytes_kept(), buffer_pool::capacity_for(5000));
    EXPECT_EQ(pool.take(4999).data(), place);
    EXPECT_EQ(pool.bytes_kept(), 0U);
}

TEST(buffer_pool, keeps_bytes_not_buffers_within_its_limit) {
    constexpr std::size_t limit = 100000;
    buffer_pool pool(limit);
    std::vector<byte_buffer> taken;
    for (int i = 0; i < 300; ++i) taken.push_back(pool.take(1024));
    for (auto& buffer : taken) pool.give_back(std::move(buffer));
    EXPECT_LE(pool.bytes_kept(), limit);
    EXPECT_GT(pool.bytes_kept(), limit / 2);
    // What is in use counts too.
    auto large = pool.take(80000);
    EXPECT_LE(pool.bytes_kept(), limit - large.capacity());
    pool.give_back(std::move(large));
    pool.set_limit(2048);
    EXPECT_LE(pool.bytes_kept(), 2048U);
}

TEST(buffer_pool, keeps_nothing_larger_than_its_limit) {
    buffer_pool pool(1000);
    pool.give_back(pool.take(5000));
    EXPECT_EQ(pool.bytes_kept(), 0U);
}

} // namespace
