// Every kernel against its plain twin, on whole numbers, for every kind of index list.

#include "scatter_kernels.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
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

TYPED_TEST(scatter_kernels_test, scattered_equals_reference) {
    std::mt19937 random(7);
    for (std::size_t count = 0; count < 70; ++count) {
        const auto places = distinct_places(random, count, 200);
        const auto src = whole_numbers<TypeParam>(random, count);
        auto expected = whole_numbers<TypeParam>(random, 200);
        auto dst = expected;
        scatter_add_reference(expected.data(), src.data(), places.data(), static_cast<std::int64_t>(count));
        scatter_add_scattered(dst.data(), src.data(), places.data(), static_cast<std::int64_t>(count), dst.data());
        ASSERT_EQ(dst, expected) << count << " places";
    }
}

TYPED_TEST(scatter_kernels_test, runs_equal_reference_for_every_part_of_the_list) {
    std::mt19937 random(8);
    std::vector<std::int32_t> places;
    for (const int start : {3, 60, 61, 150}) {
        for (int r = 0; r < (start == 60 ? 1 : 37); ++r) places.push_back(start + r);
    }
    std::vector<index_run> runs;
    find_runs(places, 1, runs);
    ASSERT_EQ(runs.size(), 3U); // 60 and 61 ... are one stretch
    const auto count = static_cast<std::int64_t>(places.size());
    for (std::int64_t first = 0; first <= count; first += 5) {
        for (std::int64_t last = first; last <= count; last += 3) {
            const auto src = whole_numbers<TypeParam>(random, static_cast<std::size_t>(last - first));
            auto expected = whole_numbers<TypeParam>(random, 200);
            auto dst = expected;
            scatter_add_reference(expected.data(), src.data(), places.data() + first, last - first);
            scatter_add_runs(dst.data(), src.data(), std::span<const index_run>(runs), first, last, dst.data());
            ASSERT_EQ(dst, expected) << first << " to " << last;
        }
    }
}

TYPED_TEST(scatter_kernels_test, custom_merges_see_repeated_places_one_after_the_other) {
    const auto product = merge<TypeParam>::custom(TypeParam{1}, [](std::span<TypeParam> into, std::span<const TypeParam> arriving) {
        for (std::size_t a = 0; a < into.size(); ++a) into[a] = into[a] * arriving[a];
    });
    std::vector<TypeParam> dst(5, TypeParam{1});
    const std::vector<std::int32_t> places{1, 1, 3};
    const std::vector<TypeParam> src{TypeParam{2}, TypeParam{3}, TypeParam{5}};
    merge_column(product, dst.data(), src.data(), {places, {}, false}, 0, 3, dst.data());
    EXPECT_EQ(dst, (std::vector<TypeParam>{1, 6, 1, 5, 1}));
}

} // namespace
