// Tiles of a panel's product against the plain twin, and the promise that an element's bits do not depend on its tile.

#include "panel_product.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace {

using namespace craton::linalg;

template <class T> class panel_product_test : public testing::Test {};
using element_types = testing::Types<float, double>;
TYPED_TEST_SUITE(panel_product_test, element_types);

template <class T> std::vector<T> panel_values(std::int64_t n, std::int64_t k, bool whole) {
    std::mt19937 random(3);
    std::vector<T> values(static_cast<std::size_t>(n * k));
    for (auto& v : values) {
        v = whole ? static_cast<T>(static_cast<int>(random() % 9) - 4) : std::uniform_real_distribution<T>(-1, 1)(random);
    }
    return values;
}

TYPED_TEST(panel_product_test, equals_reference_for_every_edge) {
    using T = TypeParam;
    constexpr std::int64_t n = 150, k = 17;
    const auto values = panel_values<T>(n, k, true);
    packed_panel<T> panel(n, k);
    panel.pack(values.data(), n, 0, 70, 0); // in two pieces that meet inside a strip
    panel.pack(values.data(), n, 70, n - 70, 70);
    for (const std::int64_t first : {0, 1, 47, 48, 100}) {
        for (const std::int64_t count : {1, 5, 48, 50}) {
            for (const std::size_t wide : {1U, 7U, 8U, 9U, 24U}) {
                std::vector<std::int32_t> cols(wide);
                for (std::size_t c = 0; c < wide; ++c) cols[c] = static_cast<std::int32_t>((c * 37 + 5) % n);
                std::vector<T> tile(static_cast<std::size_t>(count + 2) * wide, T{99}), expected = tile;
                multiply_tile<T>(panel, first, count, panel, cols, tile.data(), count + 2);
                multiply_tile_reference<T>(panel, first, count, panel, cols, expected.data(), count + 2);
                ASSERT_EQ(tile, expected) << first << " " << count << " " << wide;
            }
        }
    }
}

TYPED_TEST(panel_product_test, gathered_columns_keep_their_samples) {
    using T = TypeParam;
    constexpr std::int64_t n = 100, k = 5;
    const auto values = panel_values<T>(n, k, true);
    packed_panel<T> panel(n, k), few(n, k);
    panel.pack(values.data(), n, 0, n, 0);
    few.gather(panel, std::vector<std::int32_t>{90, 3}, 0);
    few.gather(panel, std::vector<std::int32_t>{50}, 2);
    constexpr std::int64_t h = packed_panel<T>::strip_height();
    for (const auto& [to, from] : {std::pair{0, 90}, std::pair{1, 3}, std::pair{2, 50}}) {
        for (std::int64_t t = 0; t < k; ++t) EXPECT_EQ(few.column(to)[t * h], values[static_cast<std::size_t>(from + t * n)]);
    }
}

TYPED_TEST(panel_product_test, bits_do_not_depend_on_the_tile) {
    using T = TypeParam;
    constexpr std::int64_t n = 130, k = 61;
    const auto values = panel_values<T>(n, k, false);
    packed_panel<T> panel(n, k);
    panel.pack(values.data(), n, 0, n, 0);
    std::vector<std::int32_t> all(n);
    std::iota(all.begin(), all.end(), 0);
    std::vector<T> whole(n * n);
    multiply_tile<T>(panel, 0, n, panel, all, whole.data(), n);
    for (std::int32_t j = 0; j < n; j += 11) {
        for (std::int64_t i = 0; i < n; i += 7) {
            T alone = 0;
            multiply_tile<T>(panel, i, 1, panel, std::span(&j, 1), &alone, 1);
            ASSERT_EQ(alone, whole[static_cast<std::size_t>(i + j * n)]);
            ASSERT_EQ(alone, whole[static_cast<std::size_t>(j + i * n)]);
        }
    }
}

} // namespace
