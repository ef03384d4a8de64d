// The matrix against a serial reference that keeps every element in a map. Values are small integers, so that sums are exact in any
// order and equality can be demanded.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/convergent_vector.hpp>
#include <craton/base/error.hpp>
#include <craton/runtime/counter.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace convergent_matrix_tests {
namespace {

using namespace craton;
using array::convergent_matrix;
using array::process_grid;
using tests::expect_user_error;

class convergent_matrix_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(convergent_matrix_test);

struct random_update {
    std::vector<std::int64_t> rows, cols;
    std::vector<float> block;
};

std::vector<std::int64_t> random_indices(std::mt19937& random, std::int64_t extent, bool sorted) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(std::uniform_int_distribution(1, 40)(random)));
    for (auto& i : indices) i = std::uniform_int_distribution<std::int64_t>(0, extent - 1)(random);
    if (sorted) std::ranges::sort(indices);
    return indices;
}

// Every rank can make every rank's update n: the reference needs no communication.
random_update make_update(int rank, int n, std::int64_t rows, std::int64_t cols) {
    std::mt19937 random(static_cast<unsigned>(1000 * rank + n));
    random_update u{random_indices(random, rows, n % 2 == 0), random_indices(random, cols, n % 3 == 0), {}};
    u.block.resize(u.rows.size() * u.cols.size());
    for (auto& v : u.block) v = static_cast<float>(std::uniform_int_distribution(-5, 5)(random));
    return u;
}

random_update make_symmetric_update(int rank, int n, std::int64_t extent) {
    auto u = make_update(rank, n, extent, extent);
    u.cols = u.rows;
    const std::size_t size = u.rows.size();
    u.block.assign(size * size, 0.0F);
    for (std::size_t a = 0; a < size; ++a) {
        for (std::size_t b = 0; b <= a; ++b) {
            u.block[a * size + b] = u.block[b * size + a] =
                static_cast<float>((static_cast<int>(a * 31 + b * 17) + rank + n) % 7 - 3);
        }
    }
    return u;
}

std::vector<std::int64_t> all_indices(std::int64_t extent) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(extent));
    std::iota(indices.begin(), indices.end(), 0);
    return indices;
}

template <class T> void expect_equal(const convergent_matrix<T>& matrix, const std::vector<T>& reference) {
    const auto values = matrix.read_slice(all_indices(matrix.layout().rows.extent), all_indices(matrix.layout().cols.extent));
    ASSERT_EQ(values.size(), reference.size());
    for (std::size_t e = 0; e < values.size(); ++e) {
        ASSERT_EQ(values[e], reference[e]) << "row " << e / static_cast<std::size_t>(matrix.layout().cols.extent) << " column "
                                           << e % static_cast<std::size_t>(matrix.layout().cols.extent);
    }
}

struct shape {
    std::int64_t rows, cols, block_rows, block_cols;
};

std::vector<process_grid> all_grids(int ranks) {
    std::vector<process_grid> grids;
    for (int r = 1; r <= ranks; ++r) {
        if (ranks % r == 0) grids.push_back({r, ranks / r});
    }
    return grids;
}

constexpr int updates_per_rank = 12;

// Small updates: one message per node, for all of its ranks together; large ones: at least one for each rank.
TEST_P(convergent_matrix_test, what_several_ranks_of_a_node_get_travels_together_while_it_is_small) {
    constexpr std::int64_t side = 1024;
    array::convergent_matrix<float> matrix(world(), side, side, 8, 8);
    const auto& first_of = world().node().first_of;
    const auto far_ranks =
        std::ranges::count_if(first_of, [&](int node) { return node != first_of[static_cast<std::size_t>(world().rank())]; });
    const auto messages_for = [&](std::int64_t n) {
        std::vector<std::int64_t> indices(static_cast<std::size_t>(n));
        std::iota(indices.begin(), indices.end(), std::int64_t{0});
        const std::vector<float> block(static_cast<std::size_t>(n * n), 1.0F);
        const auto before = world().statistics().messages_sent;
        matrix.update(base::column_major(block.data(), n, n, n), indices, indices);
        const auto sent = world().statistics().messages_sent - before;
        matrix.commit();
        return sent;
    };
    EXPECT_EQ(messages_for(64), world().node().count - 1);
    EXPECT_GE(messages_for(side), far_ranks);
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{63}})
        EXPECT_EQ(matrix.read(i, 63 - i), 2.0F * static_cast<float>(world().size()));
    EXPECT_EQ(matrix.read(64, 64), static_cast<float>(world().size()));
    world().barrier();
}

TEST_P(convergent_matrix_test, equals_the_serial_reference_on_every_grid) {
    for (const auto& s : {shape{40, 56, 1, 1}, shape{61, 40, 7, 5}, shape{300, 280, 64, 64}}) {
        for (const auto grid : all_grids(world().size())) {
            convergent_matrix<float> matrix(world(), s.rows, s.cols, s.block_rows, s.block_cols, grid);
            std::vector<float> reference(static_cast<std::size_t>(s.rows * s.cols), 0.0F);
            for (int rank = 0; rank < world().size(); ++rank) {
                for (int n = 0; n < updates_per_rank; ++n) {
                    const auto u = make_update(rank, n, s.rows, s.cols);
                    for (std::size_t a = 0; a < u.rows.size(); ++a) {
                        for (std::size_t b = 0; b < u.cols.size(); ++b) {
                            reference[static_cast<std::size_t>(u.rows[a] * s.cols + u.cols[b])] += u.block[a * u.cols.size() + b];
                        }
                    }
                    if (rank == world().rank()) {
                        matrix.update(base::row_major<const float>(u.block.data(), static_cast<std::int64_t>(u.rows.size()),
                                                                   static_cast<std::int64_t>(u.cols.size())),
                                      u.rows, u.cols);
                    }
                }
            }
            matrix.commit();
            expect_equal(matrix, reference);
            world().quiesce(); // a rank may still be reading from this one
        }
    }
}

TEST_P(convergent_matrix_test, symmetric_updates_fill_the_upper_triangle_once) {
    constexpr std::int64_t extent = 200;
    for (const auto grid : all_grids(world().size())) {
        convergent_matrix<float> matrix(world(), extent, extent, 16, 16, grid);
        std::vector<float> reference(extent * extent, 0.0F);
        for (int rank = 0; rank < world().size(); ++rank) {
            for (int n = 0; n < updates_per_rank; ++n) {
                const auto u = make_symmetric_update(rank, n, extent);
                const std::size_t size = u.rows.size();
                for (std::size_t a = 0; a < size; ++a) {
                    for (std::size_t b = 0; b < size; ++b) {
                        if (u.rows[a] <= u.rows[b]) {
                            reference[static_cast<std::size_t>(u.rows[a] * extent + u.rows[b])] += u.block[a * size + b];
                        }
                    }
                }
                if (rank == world().rank()) {
                    const auto order = static_cast<std::int64_t>(size);
                    // Row major and column major must mean the same for a symmetric block.
                    if (n % 2 == 0) {
                        matrix.update_symmetric(base::row_major<const float>(u.block.data(), order, order), u.rows);
                    } else {
                        matrix.update_symmetric(base::column_major<const float>(u.block.data(), order, order, order), u.rows);
                    }
                }
            }
        }
        matrix.commit();
        expect_equal(matrix, reference);
        world().quiesce();
    }
}

TEST_P(convergent_matrix_test, ascending_symmetric_updates_read_one_triangle_only) {
    convergent_matrix<double> matrix(world(), 128, 128, 8, 8);
    constexpr std::int64_t n = 50;
    std::vector<std::int64_t> indices(n);
    for (std::int64_t a = 0; a < n; ++a) indices[static_cast<std::size_t>(a)] = 2 * a + 3;
    // Column major, rubbish below the diagonal.
    std::vector<double> block(n * n, 1e300);
    for (std::int64_t b = 0; b < n; ++b) {
        for (std::int64_t a = 0; a <= b; ++a) block[static_cast<std::size_t>(a + b * n)] = static_cast<double>(a * b);
    }
    matrix.update_symmetric(base::column_major<const double>(block.data(), n, n, n), indices);
    matrix.commit();
    EXPECT_EQ(matrix.read(3 + 2 * 4, 3 + 2 * 9), 36.0 * world().size());
    EXPECT_EQ(matrix.read(3 + 2 * 9, 3 + 2 * 4), 0.0);
    world().quiesce();
}

TEST_P(convergent_matrix_test, threads_may_update_at_once) {
    constexpr std::int64_t extent = 150;
    constexpr int threads = 3;
    constexpr int each = 30;
    convergent_matrix<double> matrix(world(), extent, extent, 16, 16);
    const auto indices = all_indices(extent);
    const std::vector<double> ones(extent * extent, 1.0);
    {
        std::vector<std::jthread> team;
        for (int t = 0; t < threads; ++t) {
            team.emplace_back([&] {
                for (int n = 0; n < each; ++n) {
                    matrix.update(base::row_major<const double>(ones.data(), extent, extent), indices, indices);
                }
            });
        }
        // This thread's polling lets messages through while the team sends.
        for (int i = 0; i < 1000; ++i) world().poll();
    }
    matrix.commit();
    const double expected = static_cast<double>(threads) * each * world().size();
    for (const double v : matrix.local()) ASSERT_EQ(v, expected);
    world().quiesce();
}

TEST_P(convergent_matrix_test, bytes_in_flight_stay_bounded_when_all_target_one_rank) {
    // Every rank floods rank 0's blocks with much more than the bound; nothing is lost and nothing deadlocks.
    convergent_matrix<float> matrix(world(), 512, 512, 128, 128, {world().size(), 1});
    std::vector<std::int64_t> rows(128);
    std::iota(rows.begin(), rows.end(), 0);
    const auto cols = all_indices(512);
    const std::vector<float> ones(128 * 512, 1.0F);
    constexpr int each = 40;
    for (int n = 0; n < each; ++n) matrix.update(base::row_major<const float>(ones.data(), 128, 512), rows, cols);
    matrix.commit();
    // deliveries.hpp sets a bound of 1 MiB; a message may exceed it only alone.
    const auto peak = world().statistics().peak_bytes_in_flight;
    EXPECT_LE(peak, std::int64_t{3} << 19);
    if (!world().shares_memory_with(0)) {
        EXPECT_GT(peak, 0);
        EXPECT_GT(world().statistics().bytes_sent, std::int64_t{8} << 20);
    }
    EXPECT_EQ(matrix.read(5, 500), static_cast<float>(each * world().size()));
    EXPECT_EQ(matrix.read(200, 500), 0.0F);
    world().quiesce();
}

// Ranks that are already in a collective must go on executing messages for those that are still sending more than fits in flight.
TEST_P(convergent_matrix_test, collectives_make_progress_for_ranks_that_still_send) {
    convergent_matrix<float> flooded(world(), 128 * world().size(), 512, 128, 128, {world().size(), 1});
    convergent_matrix<double> other(world(), 64, 64, 8, 8);
    array::convergent_vector<double> vector(world(), 300);
    std::vector<std::int64_t> rows(128);
    std::iota(rows.begin(), rows.end(), 0);
    const auto cols = all_indices(512);
    const std::vector<float> ones(128 * 512, 1.0F);
    const auto flood = [&] {
        if (world().rank() == 0) return; // is already waiting in the collective
        for (int n = 0; n < 20; ++n) flooded.update(base::row_major<const float>(ones.data(), 128, 512), rows, cols);
    };
    flood();
    static_cast<void>(other.diagonal());
    flood();
    static_cast<void>(vector.gather());
    flood();
    const convergent_matrix<float> another(world(), 64, 64, 8, 8);
    flood();
    const runtime::counter counter(world());
    flooded.commit();
    EXPECT_EQ(flooded.read(5, 500), static_cast<float>(80 * (world().size() - 1)));
    world().quiesce();
}

TEST_P(convergent_matrix_test, what_does_not_fit_is_refused_on_every_rank) {
    const std::int64_t blocks = world().size();
    const std::int64_t huge = std::int64_t{1} << 32;
    EXPECT_THROW(convergent_matrix<float>(world(), huge * blocks, 64, huge, 64, {world().size(), 1}), user_error);
    EXPECT_THROW(array::convergent_vector<double>(world(), huge * blocks, huge), user_error);
    world().barrier();
}

TEST_P(convergent_matrix_test, ranks_that_disagree_or_ask_for_too_much_are_told_so) {
    if (world().size() > 1) {
        expect_user_error([&] { convergent_matrix<float>(world(), 100 + world().rank(), 100, 8, 8); },
                          "the ranks ask for 100 to " + std::to_string(99 + world().size()) +
                              " rows; allowed: the same on every rank");
    }
    if (world().size() > 1) {
        const std::int64_t rows = world().rank() == 1 ? 0 : 100; // one rank alone asks for nonsense
        expect_user_error([&] { convergent_matrix<float>(world(), rows, 100, 8, 8); }, "number of rows is 0; allowed: 1 or more");
        const auto merge = world().rank() == 1 ? array::merge<float>::minimum() : array::merge<float>::add();
        expect_user_error([&] { convergent_matrix<float>(world(), 100, 100, 8, 8, {}, merge); },
                          "the ranks ask for 0 to 1 as merge operation");
    }
    // 4 TiB: more than the machines that run this test have.
    expect_user_error([&] { convergent_matrix<float>(world(), 1 << 20, 1 << 20); }, "GiB available; allowed: a smaller array");
    world().barrier();
}

TEST_P(convergent_matrix_test, local_storage_is_scalapacks) {
    convergent_matrix<float> matrix(world(), 90, 70, 8, 8);
    std::vector<std::int64_t> rows = all_indices(90);
    std::vector<std::int64_t> cols = all_indices(70);
    std::vector<float> block(90 * 70);
    std::iota(block.begin(), block.end(), 0.0F);
    if (world().rank() == 0) matrix.update(base::row_major<const float>(block.data(), 90, 70), rows, cols);
    matrix.commit();
    const auto& l = matrix.layout();
    const int me = world().rank();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(matrix.local().data()) % 64, 0U);
    for (std::int64_t j = 0; j < l.local_cols(me); ++j) {
        for (std::int64_t i = 0; i < l.local_rows(me); ++i) {
            const auto global = l.rows.global(l.process_row(me), i) * 70 + l.cols.global(l.process_col(me), j);
            ASSERT_EQ(matrix.local()[static_cast<std::size_t>(i + j * l.leading_dimension(me))], static_cast<float>(global));
        }
    }
    world().quiesce();
}

TEST_P(convergent_matrix_test, reset_and_diagonal) {
    convergent_matrix<double> matrix(world(), 30, 30, 4, 4);
    const auto all = all_indices(30);
    std::vector<double> block(900);
    std::iota(block.begin(), block.end(), 0.0);
    matrix.update(base::row_major<const double>(block.data(), 30, 30), all, all);
    matrix.commit();
    const auto diagonal = matrix.diagonal();
    for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(diagonal[i], 31.0 * static_cast<double>(i) * world().size());
    matrix.reset();
    for (const double v : matrix.local()) ASSERT_EQ(v, 0.0);
    world().quiesce();
}

TEST_P(convergent_matrix_test, several_matrices_do_not_meet) {
    convergent_matrix<float> a(world(), 64, 64, 8, 8);
    convergent_matrix<double> b(world(), 64, 64, 8, 8);
    const auto all = all_indices(64);
    const std::vector<float> ones(64 * 64, 1.0F);
    const std::vector<double> twos(64 * 64, 2.0);
    for (int n = 0; n < 5; ++n) {
        a.update(base::row_major<const float>(ones.data(), 64, 64), all, all);
        b.update(base::row_major<const double>(twos.data(), 64, 64), all, all);
    }
    a.commit();
    for (const auto v : a.local()) ASSERT_EQ(v, static_cast<float>(5 * world().size()));
    for (const auto v : b.local()) ASSERT_EQ(v, 10.0 * world().size());
    world().quiesce();
}

TEST_P(convergent_matrix_test, bad_updates_are_refused_whole) {
    convergent_matrix<float> matrix(world(), 50, 50, 8, 8);
    const std::vector<float> ones(4, 1.0F);
    const auto block = base::row_major<const float>(ones.data(), 2, 2);
    const std::vector<std::int64_t> good{3, 4};
    const std::vector<std::int64_t> too_large{3, 50};
    const std::vector<std::int64_t> negative{-1, 3};
    const std::vector<std::int64_t> three{1, 2, 3};
    expect_user_error([&] { matrix.update(block, too_large, good); }, "update: rows[1] = 50 is out of range; allowed: 0 to 49");
    expect_user_error([&] { matrix.update(block, good, negative); }, "update: cols[0] = -1 is out of range; allowed: 0 to 49");
    expect_user_error([&] { matrix.update_symmetric(block, too_large); }, "update_symmetric: indices[1] = 50 is out of range");
    expect_user_error([&] { matrix.update(block, good, three); }, "the block is 2 x 2 but 2 row and 3 column indices");
    expect_user_error([&] { static_cast<void>(matrix.read(0, 50)); }, "read: cols[0] = 50 is out of range");
    matrix.commit();
    for (const float v : matrix.local()) ASSERT_EQ(v, 0.0F);
    convergent_matrix<float> oblong(world(), 50, 60, 8, 8);
    expect_user_error([&] { oblong.update_symmetric(block, good); }, "allowed: square matrices only");
    expect_user_error([&] { static_cast<void>(oblong.diagonal()); }, "allowed: square matrices only");
    expect_user_error([&] { convergent_matrix<float>(world(), 8, 8, 8, 8, {world().size() + 1, 1}); }, "process grid");
    if (world().size() > 1) expect_user_error([&] { convergent_matrix<float>(world(), 8, 8, 8, 8); }, "more ranks than blocks");
    world().quiesce();
}

} // namespace

} // namespace convergent_matrix_tests
