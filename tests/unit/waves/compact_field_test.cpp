// Media in 16 bits: the numbers beside plain arithmetic, rounding, units, and what neighbourhoods are in the mean.

#include <craton/apps/waves/compact_array.hpp>
#include <craton/apps/waves/kernels/compact_field.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace compact_field_tests {
namespace {

using namespace craton::waves;

// The definition of binary16.
double plain_number(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const double magnitude = std::ldexp(1 + (bits & 1023) / 1024.0, exponent - 15);
    return (bits & 0x7FFF) == 0 ? 0 : (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(compact_field, numbers_are_those_of_binary16) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const int exponent = half >> 10 & 31;
        if (exponent == 31 || (exponent == 0 && (half & 0x7FFF) != 0)) continue; // not finite, subnormal
        ASSERT_EQ(from_half(half), plain_number(half)) << bits;
        if (half == 0x8000) continue;
        for (const float threshold : {0.0F, 0.5F, 0.9999F}) ASSERT_EQ(half_of(from_half(half), threshold), half) << bits;
    }
}

TEST(compact_field, rounds_to_a_neighbour_by_the_threshold) {
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> exponents(-13, 15), thresholds(0, 1);
    for (int n = 0; n < 100'000; ++n) {
        const float value = (n % 2 == 0 ? 1.0F : -1.0F) * std::exp2(exponents(generator)), threshold = thresholds(generator);
        const double step = std::ldexp(1.0, std::ilogb(value) - 10), below = std::floor(std::abs(value) / step) * step;
        const double part = (std::abs(value) - below) / step;
        const double found = std::abs(double{from_half(half_of(value, threshold))});
        if (std::abs(part + threshold - 1) < 2e-4) continue; // thresholds have 13 bits there
        ASSERT_EQ(found, part + threshold >= 1 ? below + step : below) << value << " by " << threshold;
    }
    EXPECT_EQ(half_of(0.2F * least_half, 0.9F), 0);
    EXPECT_EQ(from_half(half_of(0.7F * least_half, 0.0F)), least_half);
    EXPECT_EQ(half_of(70'000.0F, 0), 0x7C00);
    EXPECT_EQ(half_of(-70'000.0F, 0), 0xFC00);
}

TEST(compact_field, neighbourhoods_keep_their_mean) {
    std::mt19937 generator(2);
    std::uniform_real_distribution<float> values(1, 2);
    for (int n = 0; n < 20; ++n) {
        const float value = values(generator);
        const std::int64_t i0 = 1000 * n, j0 = 77 * n, k0 = 13 * n;
        double mean = 0;
        for (std::int64_t cell = 0; cell < 512; ++cell)
            mean += from_half(half_of(value, rounding_threshold(i0 + cell % 8, j0 + cell / 8 % 8, k0 + cell / 64))) / 512.0;
        EXPECT_NEAR(mean / value, 1, 1e-5); // to nearest: up to 2.4e-4
    }
}

class compact_brick {
  public:
    explicit compact_brick(const std::array<std::int64_t, 3>& corner)
        : bits_(static_cast<std::size_t>(shape.plane * (shape.nz + 4) + 32)),
          array(bits_, bits_.data() + 2 * (shape.plane + shape.pitch) + 16, shape, corner) {}

    static constexpr brick_shape shape{20, 6, 5, 32, 32 * 10};

  private:
    std::vector<std::uint16_t> bits_;

  public:
    compact_array array;
};

// One value for each cell of a part of the grid, at element n of `made`.
std::vector<float> values_of(const cell_range& cells, const std::array<std::int64_t, 3>& corner, double scale) {
    const auto& shape = compact_brick::shape;
    std::vector<float> made(static_cast<std::size_t>(shape.plane * shape.nz), 0.0F);
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
            for (std::int64_t i = cells.i0; i < cells.i1; ++i) {
                const auto at = static_cast<double>(i + corner[0] + 3 * (j + corner[1]) + 7 * (k + corner[2]));
                made[static_cast<std::size_t>(shape.at(i, j, k))] = static_cast<float>(scale * (2 + std::sin(at)));
            }
        }
    }
    return made;
}

TEST(compact_array, has_eleven_bits_in_any_unit) {
    const cell_range all{0, 20, 0, 6, 0, 5};
    for (const double scale : {1e-30, 4e-4, 1.0, 3e10, 1e30}) {
        compact_brick brick({0, 0, 0});
        const auto values = values_of(all, {0, 0, 0}, scale);
        brick.array.put(all, values.data());
        const compact_field field = brick.array.field();
        for (std::int64_t n = 0; n < 20; ++n) EXPECT_NEAR(field[n] / values[static_cast<std::size_t>(n)], 1, 0x1p-10) << scale;
    }
}

TEST(compact_array, a_larger_unit_keeps_the_digits_of_what_was_there) {
    const cell_range first{0, 20, 0, 6, 0, 2}, second{0, 20, 0, 6, 2, 5};
    compact_brick alone({5, 6, 7}), both({5, 6, 7});
    const auto small = values_of(first, {5, 6, 7}, 1.0), large = values_of(second, {5, 6, 7}, 1e6);
    alone.array.put(first, small.data());
    both.array.put(first, small.data());
    both.array.put(second, large.data());
    EXPECT_GT(both.array.field().unit, alone.array.field().unit);
    for (std::int64_t k = 0; k < 5; ++k) {
        for (std::int64_t i = 0; i < 20; ++i) {
            const std::int64_t n = compact_brick::shape.at(i, 3, k);
            if (k < 2) {
                EXPECT_EQ(both.array.field()[n], alone.array.field()[n]);
            } else {
                EXPECT_NEAR(both.array.field()[n] / large[static_cast<std::size_t>(n)], 1, 0x1p-10);
            }
        }
    }
}

TEST(compact_array, does_not_depend_on_how_the_grid_is_cut) {
    compact_brick one({0, 0, 0}), other({7, 2, 1});
    const cell_range all{0, 20, 0, 6, 0, 5};
    const auto of_one = values_of(all, {0, 0, 0}, 1e10), of_other = values_of(all, {7, 2, 1}, 1e10);
    one.array.put(all, of_one.data());
    const auto& shape = compact_brick::shape;
    for (std::int64_t k = 0; k < 5; ++k)
        other.array.put({0, 20, 0, 6, k, k + 1}, of_other.data() + k * shape.plane, k * shape.plane);
    for (std::int64_t i = 7; i < 20; ++i)
        EXPECT_EQ(one.array.field()[shape.at(i, 4, 3)], other.array.field()[shape.at(i - 7, 2, 2)]);
}

} // namespace

} // namespace compact_field_tests
