#include <craton/base/matrix_view.hpp>
#include <craton/base/narrow.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

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

#ifdef CRATON_ASSERTIONS
TEST(matrix_view_death, index_out_of_range_is_caught) {
    std::array<int, 4> memory{};
    const auto view = row_major(memory.data(), 2, 2);
    EXPECT_DEATH(static_cast<void>(view(2, 0)), "assertion .* failed");
}
#endif

} // namespace
