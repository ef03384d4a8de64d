// Element types, merge operations, trapezoids and whole-matrix operations of convergent_matrix against serial references, in whole
// numbers.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/array/convergent_matrix.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace merges_tests {
namespace {

using namespace craton;
using array::convergent_matrix;
using array::merge;
using array::trapezoid;

class merges_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(merges_test);

constexpr std::int64_t extent = 90;
constexpr int updates_per_rank = 8;

std::size_t place(std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * extent + j); }

std::vector<std::int64_t> all_indices() {
    std::vector<std::int64_t> indices(extent);
    std::iota(indices.begin(), indices.end(), 0);
    return indices;
}

template <class T> T element(std::mt19937& random) {
    const auto number = [&] { return std::uniform_int_distribution(-20, 20)(random); };
    if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<T>(number());
    } else {
        const auto real = static_cast<typename T::value_type>(number());
        return {real, static_cast<typename T::value_type>(number())};
    }
}

template <class T> struct block_update {
    std::vector<std::int64_t> rows, cols;
    std::vector<T> block;
    [[nodiscard]] base::matrix_view<const T> view() const {
        return base::row_major(block.data(), static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(cols.size()));
    }
};

template <class T> block_update<T> make_update(int rank, int n) {
    std::mt19937 random(static_cast<unsigned>(77 * rank + n));
    block_update<T> u;
    const auto indices = [&] {
        std::vector<std::int64_t> list(std::uniform_int_distribution<std::size_t>(1, 60)(random));
        for (auto& i : list) i = std::uniform_int_distribution<std::int64_t>(0, extent - 1)(random);
        return list;
    };
    u.rows = indices();
    u.cols = indices();
    u.block.resize(u.rows.size() * u.cols.size());
    for (auto& v : u.block) v = element<T>(random);
    return u;
}

// Applies the updates of all ranks one after the other with `combine`, and this rank's through the matrix; then they must be equal.
template <class T, class Combine>
void compare(convergent_matrix<T>& matrix, T identity, Combine combine, const trapezoid& taken = trapezoid::all()) {
    std::vector<T> reference(extent * extent, identity);
    auto& world = matrix.ranks();
    for (int rank = 0; rank < world.size(); ++rank) {
        for (int n = 0; n < updates_per_rank; ++n) {
            const auto u = make_update<T>(rank, n);
            for (std::size_t a = 0; a < u.rows.size(); ++a) {
                for (std::size_t b = 0; b < u.cols.size(); ++b) {
                    const std::int64_t i = u.rows[a];
                    const std::int64_t j = u.cols[b];
                    if (taken.which == trapezoid::side::upper && i > j + taken.offset) continue;
                    if (taken.which == trapezoid::side::lower && i < j + taken.offset) continue;
                    auto& there = reference[place(i, j)];
                    there = combine(there, u.block[a * u.cols.size() + b]);
                }
            }
            if (rank == world.rank()) matrix.update_trapezoid(u.view(), u.rows, u.cols, taken);
        }
    }
    matrix.commit();
    ASSERT_EQ(matrix.read_slice(all_indices(), all_indices()), reference);
    world.quiesce();
}

template <class T> void every_type_adds(runtime::world& world) {
    for (const std::int64_t block : {1, 7, 32}) {
        convergent_matrix<T> matrix(world, extent, extent, block, block);
        compare(matrix, T{}, [](T a, T b) { return a + b; });
    }
}

TEST_P(merges_test, float_adds) { every_type_adds<float>(world()); }
TEST_P(merges_test, double_adds) { every_type_adds<double>(world()); }
TEST_P(merges_test, complex_float_adds) { every_type_adds<std::complex<float>>(world()); }
TEST_P(merges_test, complex_double_adds) { every_type_adds<std::complex<double>>(world()); }
TEST_P(merges_test, int64_adds) { every_type_adds<std::int64_t>(world()); }

TEST_P(merges_test, minimum_and_maximum) {
    convergent_matrix<float> least(world(), extent, extent, 7, 7, {}, merge<float>::minimum());
    compare(least, std::numeric_limits<float>::infinity(), [](float a, float b) { return std::min(a, b); });
    convergent_matrix<std::int64_t> most(world(), extent, extent, 7, 7, {}, merge<std::int64_t>::maximum());
    compare(most, std::numeric_limits<std::int64_t>::min(), [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
    most.reset();
    for (const auto v : most.local()) ASSERT_EQ(v, std::numeric_limits<std::int64_t>::min());
    world().barrier();
}

TEST_P(merges_test, a_users_own_merge) {
    // Bitwise exclusive or of whole numbers: associative, commutative, and neither a sum nor an order.
    const auto exclusive_or =
        merge<std::int64_t>::custom(0, [](std::span<std::int64_t> into, std::span<const std::int64_t> arriving) {
            for (std::size_t a = 0; a < into.size(); ++a) into[a] ^= arriving[a];
        });
    convergent_matrix<std::int64_t> matrix(world(), extent, extent, 16, 16, {}, exclusive_or);
    compare(matrix, std::int64_t{0}, [](std::int64_t a, std::int64_t b) { return a ^ b; });
}

TEST_P(merges_test, trapezoids_of_both_sides) {
    for (const std::int64_t offset : {-40, -1, 0, 3, 55}) {
        convergent_matrix<std::int64_t> upper(world(), extent, extent, 7, 7);
        compare(upper, std::int64_t{0}, std::plus<std::int64_t>{}, trapezoid::upper(offset));
        convergent_matrix<double> lower(world(), extent, extent, 16, 16);
        compare(lower, 0.0, std::plus<double>{}, trapezoid::lower(offset));
    }
}

TEST_P(merges_test, single_elements) {
    convergent_matrix<std::int64_t> matrix(world(), extent, extent, 7, 7);
    for (std::int64_t n = 0; n < 500; ++n) matrix.update(n, n * 31 % extent, n * 17 % extent);
    matrix.commit();
    std::vector<std::int64_t> reference(extent * extent, 0);
    for (std::int64_t n = 0; n < 500; ++n) reference[place(n * 31 % extent, n * 17 % extent)] += n * world().size();
    EXPECT_EQ(matrix.read_slice(all_indices(), all_indices()), reference);
    EXPECT_EQ(matrix.read_block(3, 5, 2, 1), (std::vector{reference[place(3, 5)], reference[place(4, 5)]}));
    tests::expect_user_error([&] { matrix.update(1, extent, 0); }, "update: rows[0] = 90 is out of range; allowed: 0 to 89");
    tests::expect_user_error([&] { static_cast<void>(matrix.read_block(85, 0, 6, 1)); }, "read: rows[5] = 90 is out of range");
    world().quiesce();
}

TEST_P(merges_test, tiles_are_asked_for_instead_of_a_block) {
    convergent_matrix<float> matrix(world(), extent, extent, 7, 7);
    const auto u = make_update<float>(3, 1);
    const convergent_matrix<float>::tile_source fill = [&](std::span<const std::int32_t> rows, std::span<const std::int32_t> cols,
                                                           float* to, std::int64_t stride, const array::tile_ahead& ahead) {
        ahead(0, static_cast<std::int64_t>(rows.size()), 0, static_cast<std::int64_t>(cols.size())); // may be called or not
        for (std::size_t b = 0; b < cols.size(); ++b) {
            for (std::size_t a = 0; a < rows.size(); ++a) {
                to[a + b * static_cast<std::size_t>(stride)] =
                    u.block[static_cast<std::size_t>(rows[a]) * u.cols.size() + static_cast<std::size_t>(cols[b])];
            }
        }
    };
    matrix.update_tiles(fill, u.rows, u.cols, trapezoid::all());
    matrix.update_tiles(fill, u.rows, u.cols, trapezoid::lower(2));
    matrix.commit();
    convergent_matrix<float> expected(world(), extent, extent, 7, 7);
    expected.update(u.view(), u.rows, u.cols);
    expected.update_trapezoid(u.view(), u.rows, u.cols, trapezoid::lower(2));
    expected.commit();
    EXPECT_EQ(matrix.read_slice(all_indices(), all_indices()), expected.read_slice(all_indices(), all_indices()));
    world().quiesce();
}

// A sum of whole numbers that leaves the range of 64 bits is told by the rank that has it, however its parts came: as a block, its
// triangle, a tile, one element. Not where it has come back, nor of what is meant modulo 2^64.
TEST_P(merges_test, sums_of_whole_numbers_beyond_their_range_are_told) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::int64_t> first{0, 1};
    const auto block_of = [](const std::vector<std::int64_t>& block) { return base::column_major(block.data(), 2, 2, 2); };
    const auto told_by_commit = [&](convergent_matrix<std::int64_t>& matrix) {
        testing::internal::CaptureStderr();
        matrix.commit();
        world().barrier(); // nobody updates before all have looked
        return testing::internal::GetCapturedStderr();
    };
    const bool owns = world().rank() == 0;
    const bool updates = world().rank() == world().size() - 1;
    for (int way = 0; way < 4; ++way) {
        convergent_matrix<std::int64_t> matrix(world(), 40, 40, 8, 8);
        convergent_matrix<std::int64_t> modulo(world(), 40, 40, 8, 8, {}, merge<std::int64_t>::add_modulo());
        const auto update = [&](std::int64_t value) {
            if (!updates) return;
            const std::vector<std::int64_t> block{value, 0, 1, 1};
            const auto tile = [&](std::span<const std::int32_t> rows, std::span<const std::int32_t> cols, std::int64_t* to,
                                  std::int64_t stride, const array::tile_ahead&) {
                for (std::size_t b = 0; b < cols.size(); ++b) {
                    for (std::size_t a = 0; a < rows.size(); ++a)
                        to[a + b * static_cast<std::size_t>(stride)] = rows[a] == 0 && cols[b] == 0 ? value : 1;
                }
            };
            for (auto* each : {&matrix, &modulo}) {
                if (way == 0) each->update(block_of(block), first, first);
                if (way == 1) each->update_symmetric(block_of(block), first);
                if (way == 2) each->update_tiles(tile, first, first, trapezoid::all());
                if (way == 3) each->update(value, 0, 0);
            }
        };
        update(most - 2);
        EXPECT_EQ(told_by_commit(matrix), "") << way;
        update(7);
        const auto told = told_by_commit(matrix);
        EXPECT_EQ(told.find("craton: warning: matrix of int64: sums on rank 0 have left the range of int64") != std::string::npos,
                  owns)
            << way << told;
        update(-8);
        EXPECT_EQ(told_by_commit(matrix), "") << way;
        EXPECT_TRUE(!owns || matrix.local()[0] == most - 3) << way;
        world().barrier();
        update(9);
        EXPECT_EQ(told_by_commit(matrix).empty(), !owns) << way;
        EXPECT_EQ(told_by_commit(modulo), "") << way;
        matrix.reset();
        EXPECT_EQ(told_by_commit(matrix), "") << way;
    }
}

TEST_P(merges_test, fill_lower_and_scale) {
    for (const std::int64_t block : {1, 7, 64}) {
        for (int rows = 1; rows <= world().size(); ++rows) {
            if (world().size() % rows != 0) continue;
            if (block == 64 && std::max(rows, world().size() / rows) > 2) continue; // two blocks only
            convergent_matrix<std::int64_t> matrix(world(), extent, extent, block, block, {rows, world().size() / rows});
            const auto u = make_update<std::int64_t>(world().rank(), 5);
            matrix.update(u.view(), u.rows, u.cols);
            matrix.commit();
            auto expected = matrix.read_slice(all_indices(), all_indices());
            world().barrier();
            matrix.fill_lower();
            matrix.scale(-3);
            for (std::int64_t i = 0; i < extent; ++i) {
                for (std::int64_t j = 0; j <= i; ++j) expected[place(i, j)] = expected[place(j, i)];
            }
            for (auto& v : expected) v *= -3;
            ASSERT_EQ(matrix.read_slice(all_indices(), all_indices()), expected);
            world().quiesce();
        }
    }
    convergent_matrix<float> oblong(world(), 50, 60, 8, 8);
    tests::expect_user_error([&] { oblong.fill_lower(); }, "fill_lower: the matrix is 50 x 60; allowed: square matrices only");
    world().barrier();
}

} // namespace

} // namespace merges_tests
