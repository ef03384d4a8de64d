// Every kernel against its plain twin, on whole numbers, for every kind of index list.

#include "scatter_kernels.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace {

using namespace craton::array;

template <class T> class scatter_kernels_test : public testing::Test {};
using element_types = testing::Types<float, double, std::complex<float>, std::complex<double>, std::int64_t>;
TYPED_TEST_SUITE(scatter_kernels_test, element_types);

std::vector<std::int32_t> distinct_places(std::mt19937& random, std::size_t count, int extent) {
    std::set<std::int32_t> chosen;
    while (chosen.size() < count) chosen.insert(std::uniform_int_distribution(0, extent - 1)(random));
    return {chosen.begin(), chosen.end()};
}

template <class T> std::vector<T> whole_numbers(std::mt19937& random, std::size_t count) {
    std::vector<T> values(count);
    for (auto& v : values) v = T(static_cast<std::int8_t>(std::uniform_int_distribution(-9, 9)(random)));
    return values;
}

template <class T>
void expect_lines_equal_reference(const std::vector<std::int32_t>& places, std::int64_t first, std::int64_t last) {
    std::mt19937 random(8);
    std::vector<place_line> lines;
    find_lines(places, {}, line_elements<T>, lines);
    const auto src = whole_numbers<T>(random, places.size());
    auto expected = whole_numbers<T>(random, 200);
    auto dst = expected;
    auto by_position = expected;
    scatter_add_reference(expected.data(), src.data() + first, places.data() + first, last - first);
    scatter_add_lines<source_order::by_number>(dst.data(), src.data(), std::span<const place_line>(lines), first, last,
                                               next_column<T>{dst.data(), src.data()});
    ASSERT_EQ(dst, expected) << places.size() << " places, " << first << " to " << last;

    // The same from a block in which the list's elements stand apart, line by line.
    std::vector<std::int32_t> position;
    std::vector<T> block(400, T{77});
    for (std::size_t a = 0; a < places.size(); ++a) {
        position.push_back(static_cast<std::int32_t>(a) + places[a] / line_elements<T> * 3);
        block[static_cast<std::size_t>(position[a])] = src[a];
    }
    ASSERT_TRUE(find_lines(places, position, line_elements<T>, lines));
    scatter_add_lines<source_order::by_position>(by_position.data(), block.data(), std::span<const place_line>(lines), first, last,
                                                 next_column<T>{dst.data(), block.data()});
    ASSERT_EQ(by_position, expected) << places.size() << " places, " << first << " to " << last;
}

TYPED_TEST(scatter_kernels_test, scattered_places_equal_reference) {
    std::mt19937 random(7);
    for (std::size_t count = 0; count < 90; ++count) {
        const auto places = distinct_places(random, count, 200);
        expect_lines_equal_reference<TypeParam>(places, 0, static_cast<std::int64_t>(count));
    }
}

TYPED_TEST(scatter_kernels_test, every_part_of_a_list_equals_reference) {
    std::vector<std::int32_t> places;
    for (const int start : {3, 60, 62, 150}) {
        for (int r = 0; r < (start == 60 ? 1 : 37); ++r) places.push_back(start + r);
    }
    const auto count = static_cast<std::int64_t>(places.size());
    for (std::int64_t first = 0; first <= count; ++first) {
        for (std::int64_t last = first; last <= count; last += 3) expect_lines_equal_reference<TypeParam>(places, first, last);
    }
}

// Both ways count the sums that leave the range of 64 bits, upwards and downwards.
TEST(scatter_kernels, sums_of_whole_numbers_beyond_their_range_are_counted) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    const std::vector<std::int32_t> places{0, 1, 2, 3, 4, 5, 9, 17, 18, 30};
    std::vector<std::int64_t> before(40, 5);
    std::vector<std::int64_t> src(places.size(), 7);
    std::vector<place_line> lines;
    find_lines(places, {}, line_elements<std::int64_t>, lines);
    const auto expect = [&](std::int64_t wraps) {
        auto one_by_one = before, by_lines = before;
        EXPECT_EQ(scatter_add_reference(one_by_one.data(), src.data(), places.data(), std::ssize(places)), wraps);
        EXPECT_EQ(scatter_add_lines<source_order::by_number>(by_lines.data(), src.data(), std::span<const place_line>(lines), 0,
                                                             std::ssize(places),
                                                             next_column<std::int64_t>{by_lines.data(), src.data()}),
                  wraps);
        EXPECT_EQ(by_lines, one_by_one);
    };
    expect(0);
    before[9] = most; // + 7
    expect(1);
    before[2] = before[3] = most - 6;
    expect(3);
    before[30] = least;
    src.back() = -1;
    expect(2);
    before[0] = least;
    src[0] = least;
    expect(1);
    before[0] = before[9] = before[2] = before[3] = before[30] = 0; // the ends themselves are within
    src[0] = least;
    src[1] = most - 5;
    expect(0);
}

TYPED_TEST(scatter_kernels_test, custom_merges_see_repeated_places_one_after_the_other) {
    const auto product = merge<TypeParam>::custom(TypeParam{1}, [](std::span<TypeParam> into, std::span<const TypeParam> arriving) {
        for (std::size_t a = 0; a < into.size(); ++a) into[a] = into[a] * arriving[a];
    });
    std::vector<TypeParam> dst(5, TypeParam{1});
    const std::vector<std::int32_t> places{1, 1, 3};
    const std::vector<TypeParam> src{TypeParam{2}, TypeParam{3}, TypeParam{5}};
    merge_column(product, dst.data(), src.data(), {places, {}, false}, 0, 3, next_column<TypeParam>{dst.data(), src.data()});
    EXPECT_EQ(dst, (std::vector<TypeParam>{1, 6, 1, 5, 1}));
}

} // namespace
