#include <craton/base/exact_sums.hpp>
#include <craton/base/last_level_cache.hpp>
#include <craton/base/matrix_view.hpp>
#include <craton/base/narrow.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace {

using craton::base::column_major;
using craton::base::narrow;
using craton::base::row_major;

TEST(narrow, keeps_values_that_fit) {
    EXPECT_EQ(narrow<int>(std::int64_t{2147483647}, "x"), 2147483647);
    EXPECT_EQ(narrow<std::uint8_t>(255, "x"), 255);
}

TEST(narrow, names_the_value_that_does_not_fit) {
    try {
        static_cast<void>(narrow<int>(std::int64_t{2147483648}, "rows"));
        FAIL() << "nothing was thrown";
    } catch (const craton::user_error& error) {
        EXPECT_STREQ(error.what(), "rows: 2147483648 does not fit a 32-bit integer");
    }
    EXPECT_THROW(static_cast<void>(narrow<std::uint64_t>(-1, "x")), craton::user_error);
}

TEST(last_level_cache, is_shared_by_processes) {
    using craton::base::last_level_cache_share;
    EXPECT_GE(last_level_cache_share(1, 1000), std::int64_t{1} << 18);
    EXPECT_LE(last_level_cache_share(1, 1), last_level_cache_share(1, 2));
    EXPECT_LE(last_level_cache_share(2, 1000), last_level_cache_share(1, 1000));
    EXPECT_GT(last_level_cache_share(1000, 1), 0);
}

TEST(matrix_view, row_and_column_major_see_the_same_memory_transposed) {
    std::array<int, 6> memory{0, 1, 2, 3, 4, 5};
    const auto by_rows = row_major(memory.data(), 2, 3);
    const auto by_cols = column_major(memory.data(), 3, 2, 3);
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) {
            EXPECT_EQ(by_rows(i, j), 3 * i + j);
            EXPECT_EQ(by_cols(j, i), by_rows(i, j));
        }
    }
}

TEST(round_to_multiples, of_a_power_of_two_to_the_nearest_even_one) {
    std::array<double, 7> values{0.3, -0.3, 0.125, 0.375, 1e6 + 0.2, -1e-300, 0.0};
    craton::base::round_to_multiples(std::span<double>(values), 0.25);
    EXPECT_EQ(values, (std::array<double, 7>{0.25, -0.25, 0.0, 0.5, 1e6 + 0.25, 0.0, 0.0}));
}

TEST(round_to_multiples, makes_sums_exact) {
    std::array<double, 300> values{};
    double state = 0.7;
    for (double& value : values) value = (state = 3.9 * state * (1 - state)) * 1e3 - 500;
    auto rounded = values;
    craton::base::round_to_multiples(std::span<double>(rounded), 0x1p-30);
    double up = 0, down = 0, plain_up = 0, plain_down = 0;
    for (std::size_t n = 0; n < values.size(); ++n) {
        up += rounded[n], plain_up += values[n];
        down += rounded[values.size() - 1 - n], plain_down += values[values.size() - 1 - n];
        EXPECT_NEAR(rounded[n], values[n], 0x1p-31);
    }
    EXPECT_EQ(up, down);
    EXPECT_NE(plain_up, plain_down);
}

#ifdef CRATON_ASSERTIONS
TEST(matrix_view_death, index_out_of_range_is_caught) {
    std::array<int, 4> memory{};
    const auto view = row_major(memory.data(), 2, 2);
    EXPECT_DEATH(static_cast<void>(view(2, 0)), "assertion .* failed");
}
#endif

} // namespace
