// A million random updates in every shape: single elements, slices, symmetric slices, overlapping matrices, odd grids, block sizes
// 1, 7 and 64. Whole numbers in int64 must be exact; sums of real numbers in reproducible mode must have the bits of a serial
// reference that knows neither ranks nor threads, and so the same bits at every number of ranks, of threads and in every delivery.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/reproducible_matrix.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace many_updates_tests {
namespace {

using namespace craton;
using array::convergent_matrix;
using array::process_grid;
using array::reproducible_matrix;

class many_updates_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(many_updates_test);

constexpr std::int64_t extent = 260;

std::vector<process_grid> all_grids(int ranks) {
    std::vector<process_grid> grids;
    for (int r = 1; r <= ranks; ++r) {
        if (ranks % r == 0) grids.push_back({r, ranks / r});
    }
    return grids;
}

std::vector<std::int64_t> all_indices() {
    std::vector<std::int64_t> indices(extent);
    std::iota(indices.begin(), indices.end(), 0);
    return indices;
}

std::size_t place(std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * extent + j); }

// Batches are numbered for the whole job, whoever applies them, so that the work is the same at every number of ranks.
constexpr int batches = 24;
constexpr int elements_per_batch = 42'000; // 24 batches: a little over a million

std::mt19937_64 batch_random(int batch) { return std::mt19937_64(static_cast<unsigned>(4321 + batch)); }

std::int64_t random_index(std::mt19937_64& random) { return static_cast<std::int64_t>(random() % extent); }

TEST_P(many_updates_test, a_million_elements_are_exact) {
    for (const auto grid : all_grids(world().size())) {
        for (const std::int64_t block : {1, 7, 64}) {
            convergent_matrix<std::int64_t> matrix(world(), extent, extent, block, block, grid);
            // Each block size takes its third of the batches.
            const int first = block == 1 ? 0 : block == 7 ? batches / 3 : 2 * batches / 3;
            std::vector<std::int64_t> reference(extent * extent, 0);
            for (int batch = first; batch < first + batches / 3; ++batch) {
                auto random = batch_random(batch);
                const bool mine = batch % world().size() == world().rank();
                for (int e = 0; e < elements_per_batch; ++e) {
                    const std::int64_t i = random_index(random);
                    const std::int64_t j = random_index(random);
                    const auto value = static_cast<std::int64_t>(random() >> 12);
                    reference[place(i, j)] += value;
                    if (mine) matrix.update(value, i, j);
                }
            }
            matrix.commit();
            ASSERT_EQ(matrix.read_slice(all_indices(), all_indices()), reference) << "block " << block << ", grid " << grid.rows;
            world().quiesce();
        }
    }
}

// A slice of real numbers of very different sizes, general or symmetric, with an index set that may be unsorted and may repeat.
struct real_slice {
    bool symmetric;
    std::vector<std::int64_t> rows, cols;
    std::vector<double> block;
};

real_slice make_slice(int number) {
    std::mt19937_64 random(static_cast<unsigned>(99 + number));
    real_slice s{number % 2 == 0, {}, {}, {}};
    const auto list = [&] {
        std::vector<std::int64_t> indices(1 + random() % 90);
        for (auto& i : indices) i = random_index(random);
        if (random() % 3 != 0) {
            const std::set<std::int64_t> sorted(indices.begin(), indices.end());
            indices.assign(sorted.begin(), sorted.end());
        }
        return indices;
    };
    s.rows = list();
    s.cols = s.symmetric ? s.rows : list();
    const std::size_t n = s.cols.size();
    s.block.resize(s.rows.size() * n);
    std::uniform_real_distribution<double> mantissa(-1.0, 1.0);
    for (auto& v : s.block) v = std::ldexp(mantissa(random), static_cast<int>(random() % 30) - 20);
    for (std::size_t a = 0; s.symmetric && a < n; ++a) {
        for (std::size_t b = 0; b < a; ++b) s.block[a * n + b] = s.block[b * n + a];
    }
    return s;
}

constexpr double largest = 1e6;

// Its own arithmetic: multiples of 2^-42 (1e6 < 2^20, 62 bits), rounded to even by hand in long double.
std::int64_t multiple(double value) {
    return static_cast<std::int64_t>(std::nearbyintl(static_cast<long double>(value) * 0x1p42L));
}

constexpr int slices = 60;

const std::vector<double>& serial_reference() {
    static const std::vector<double> values = [] {
        std::vector<std::int64_t> sums(extent * extent, 0);
        for (int number = 0; number < slices; ++number) {
            const auto s = make_slice(number);
            for (std::size_t a = 0; a < s.rows.size(); ++a) {
                for (std::size_t b = 0; b < s.cols.size(); ++b) {
                    if (s.symmetric && s.rows[a] > s.cols[b]) continue;
                    sums[place(s.rows[a], s.cols[b])] += multiple(s.block[a * s.cols.size() + b]);
                }
            }
        }
        std::vector<double> result(sums.size());
        for (std::size_t e = 0; e < sums.size(); ++e) result[e] = static_cast<double>(sums[e]) * 0x1p-42;
        return result;
    }();
    return values;
}

void expect_same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)), 0);
}

void apply_shared(reproducible_matrix<double>& matrix, int threads) {
    // Threads of all ranks take slices in whatever order they come to them.
    std::atomic<int> next{matrix.ranks().rank()};
    std::vector<std::jthread> team;
    for (int t = 0; t < threads; ++t) {
        team.emplace_back([&] {
            for (int number = next.fetch_add(matrix.ranks().size()); number < slices;
                 number = next.fetch_add(matrix.ranks().size())) {
                const auto s = make_slice(number);
                const auto rows = static_cast<std::int64_t>(s.rows.size());
                const auto cols = static_cast<std::int64_t>(s.cols.size());
                const auto view = base::row_major<const double>(s.block.data(), rows, cols);
                if (s.symmetric) {
                    matrix.update_symmetric(view, s.rows);
                } else {
                    matrix.update(view, s.rows, s.cols);
                }
            }
        });
    }
}

TEST_P(many_updates_test, reproducible_sums_have_the_same_bits_everywhere) {
    for (const auto grid : all_grids(world().size())) {
        for (const std::int64_t block : {1, 7, 64}) {
            for (const int threads : {1, 3}) {
                reproducible_matrix<double> matrix(world(), extent, extent, largest, block, block, grid);
                apply_shared(matrix, threads);
                matrix.commit();
                expect_same_bits(matrix.read_slice(all_indices(), all_indices()), serial_reference());
                world().quiesce();
            }
        }
    }
}

TEST_P(many_updates_test, reproducible_sums_copied_for_linear_algebra) {
    reproducible_matrix<double> matrix(world(), extent, extent, largest, 16, 16);
    apply_shared(matrix, 2);
    matrix.commit();
    convergent_matrix<double> copy(world(), extent, extent, 16, 16);
    matrix.copy_to(copy);
    expect_same_bits(copy.read_slice(all_indices(), all_indices()), serial_reference());
    EXPECT_EQ(matrix.read(3, 7), serial_reference()[place(3, 7)]);
    world().quiesce();
    matrix.reset();
    EXPECT_EQ(matrix.read(3, 7), 0.0);
    convergent_matrix<double> other(world(), extent, extent, 8, 8);
    tests::expect_user_error([&] { matrix.copy_to(other); }, "the two matrices have different layouts");
    world().quiesce();
}

TEST_P(many_updates_test, matrices_that_overlap_in_time_stay_apart) {
    convergent_matrix<std::int64_t> a(world(), extent, extent, 7, 7);
    convergent_matrix<std::int64_t> b(world(), extent, extent, 64, 64);
    std::vector<std::int64_t> of_a(extent * extent, 0), of_b(extent * extent, 0);
    for (int batch = 0; batch < 6; ++batch) {
        auto random = batch_random(batch);
        const bool mine = batch % world().size() == world().rank();
        for (int e = 0; e < 5000; ++e) {
            const std::int64_t i = random_index(random);
            const std::int64_t j = random_index(random);
            of_a[place(i, j)] += e;
            of_b[place(j, i)] -= e;
            if (!mine) continue;
            a.update(e, i, j);
            b.update(-e, j, i);
        }
    }
    a.commit(); // b's updates are applied too, or later: only its own commit promises it
    b.commit();
    EXPECT_EQ(a.read_slice(all_indices(), all_indices()), of_a);
    EXPECT_EQ(b.read_slice(all_indices(), all_indices()), of_b);
    world().quiesce();
}

TEST_P(many_updates_test, what_fixed_point_cannot_hold_is_refused) {
    using tests::expect_user_error;
    reproducible_matrix<float> matrix(world(), 40, 40, 100.0, 4, 4);
    const std::vector<std::int64_t> two{1, 2};
    const auto refused = [&](float value, const char* words) {
        const std::vector<float> block{1.0F, value, 0.0F, 1.0F};
        expect_user_error([&] { matrix.update(base::row_major<const float>(block.data(), 2, 2), two, two); }, words);
    };
    refused(101.0F, "block[0, 1] = 101; allowed: magnitudes up to `largest` = 100");
    refused(std::numeric_limits<float>::quiet_NaN(), "block[0, 1] = nan; allowed");
    refused(-std::numeric_limits<float>::infinity(), "block[0, 1] = -inf; allowed");
    matrix.commit();
    EXPECT_EQ(matrix.read(1, 1), 0.0F);
    world().quiesce();
    // A refused update does not count; a symmetric one needs no more than its triangle.
    const float rubbish = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> upper{60.0F, rubbish, 1.0F, 2.0F}; // column major
    if (world().rank() == 0) matrix.update_symmetric(base::column_major<const float>(upper.data(), 2, 2, 2), two);
    expect_user_error([&] { matrix.update(base::row_major<const float>(upper.data(), 1, 1), two, two); }, "the block is 1 x 1");
    matrix.commit();
    EXPECT_EQ(matrix.read(1, 1), 60.0F);
    world().quiesce();
    matrix.reset();
    // One element named twice by rows and by columns counts four times.
    const std::vector<std::int64_t> repeated{3, 3};
    const std::vector<float> large(4, 60.0F);
    if (world().rank() == 0) matrix.update(base::row_major<const float>(large.data(), 2, 2), repeated, repeated);
    expect_user_error([&] { matrix.commit(); }, "the updates reach 240 together");
    matrix.reset();
    const std::vector<float> block{90.0F, 0.0F, 0.0F, 90.0F};
    for (int n = 0; n < 3; ++n) {
        if (world().rank() == 0) matrix.update(base::row_major<const float>(block.data(), 2, 2), two, two);
    }
    expect_user_error([&] { matrix.commit(); }, "the updates reach 270 together, but `largest` is 100");
    expect_user_error([&] { reproducible_matrix<float>(world(), 40, 40, 0.0); }, "largest is 0; allowed: a finite positive bound");
    expect_user_error([&] { reproducible_matrix<float>(world(), 40, 40, HUGE_VAL); }, "largest is inf; allowed");
    world().barrier();
}

} // namespace

} // namespace many_updates_tests
