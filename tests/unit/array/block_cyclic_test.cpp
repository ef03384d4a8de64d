// The layout against ScaLAPACK's own tool routines, and against dealing blocks out by hand.

#include "../../expect_user_error.hpp"

#include <craton/array/block_cyclic.hpp>
#include <craton/base/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

extern "C" {
int numroc_(const int* n, const int* nb, const int* iproc, const int* isrcproc, const int* nprocs);
int indxg2l_(const int* indxglob, const int* nb, const int* iproc, const int* isrcproc, const int* nprocs);
int indxg2p_(const int* indxglob, const int* nb, const int* iproc, const int* isrcproc, const int* nprocs);
int indxl2g_(const int* indxloc, const int* nb, const int* iproc, const int* isrcproc, const int* nprocs);
}

namespace {

using craton::array::cyclic_dimension;
using craton::array::make_block_cyclic;
using craton::array::most_square_grid;

void expect_like_scalapack(int n, int nb, int processes) {
    const int zero = 0;
    const cyclic_dimension d{n, nb, processes};
    for (int p = 0; p < processes; ++p) {
        ASSERT_EQ(d.local_extent(p), numroc_(&n, &nb, &p, &zero, &processes))
            << n << " " << nb << " " << processes << " process " << p;
        for (int i_local = 0; i_local < d.local_extent(p); ++i_local) {
            const int one_based = i_local + 1;
            ASSERT_EQ(d.global(p, i_local) + 1, indxl2g_(&one_based, &nb, &p, &zero, &processes));
        }
    }
    for (int i = 0; i < n; ++i) {
        const int one_based = i + 1;
        ASSERT_EQ(d.owner(i), indxg2p_(&one_based, &nb, &zero, &zero, &processes));
        ASSERT_EQ(d.local(i) + 1, indxg2l_(&one_based, &nb, &zero, &zero, &processes));
        ASSERT_EQ(d.global(d.owner(i), d.local(i)), i);
    }
}

TEST(cyclic_dimension, equals_scalapack_on_random_sizes) {
    std::mt19937 random(7);
    for (int trial = 0; trial < 400; ++trial) {
        const int n = std::uniform_int_distribution(1, 500)(random);
        const int nb = std::uniform_int_distribution(1, 80)(random);
        const int processes = std::uniform_int_distribution(1, 12)(random);
        expect_like_scalapack(n, nb, processes);
    }
}

TEST(cyclic_dimension, equals_scalapack_at_the_edges) {
    expect_like_scalapack(1, 1, 1);
    expect_like_scalapack(1, 64, 5);
    expect_like_scalapack(64, 64, 2);
    expect_like_scalapack(65, 64, 2);
    expect_like_scalapack(127, 64, 1);
    expect_like_scalapack(7, 1, 3);
}

TEST(cyclic_dimension, counts_beyond_32_bits) {
    // 2^40 + 5 indices in blocks of 64 over 3 processes: every index has one owner, extents add up.
    const cyclic_dimension d{(std::int64_t{1} << 40) + 5, 64, 3};
    std::int64_t sum = 0;
    for (int p = 0; p < 3; ++p) sum += d.local_extent(p);
    EXPECT_EQ(sum, d.extent);
    for (const std::int64_t i : {d.extent - 1, d.extent / 2, std::int64_t{1} << 33}) {
        EXPECT_EQ(d.global(d.owner(i), d.local(i)), i);
        EXPECT_LT(d.local(i), d.local_extent(d.owner(i)));
    }
}

TEST(block_cyclic, deals_blocks_like_cards) {
    const auto layout = make_block_cyclic(10, 7, 3, 2, {2, 3}, 6);
    std::vector<std::int64_t> next_row(2, 0);
    for (std::int64_t i = 0; i < 10; ++i) {
        const std::int64_t dealt_to = (i / 3) % 2;
        EXPECT_EQ(layout.rows.owner(i), dealt_to);
        EXPECT_EQ(layout.rows.local(i), next_row[static_cast<std::size_t>(dealt_to)]++);
    }
    EXPECT_EQ(layout.owner(4, 5), layout.rank_of(1, 2));
    EXPECT_EQ(layout.local_rows(0), 6);
    EXPECT_EQ(layout.local_cols(0), 3); // columns 0 1 and 6
    EXPECT_EQ(layout.leading_dimension(5), 4);
}

TEST(block_cyclic, chooses_the_most_square_grid) {
    EXPECT_EQ(most_square_grid(1).rows, 1);
    EXPECT_EQ(most_square_grid(4).rows, 2);
    EXPECT_EQ(most_square_grid(6).rows, 2);
    EXPECT_EQ(most_square_grid(6).cols, 3);
    EXPECT_EQ(most_square_grid(7).rows, 1);
    EXPECT_EQ(most_square_grid(12).rows, 3);
}

void expect_refused(std::int64_t rows, std::int64_t cols, std::int64_t block, craton::array::process_grid grid, int ranks,
                    const char* words) {
    craton::tests::expect_user_error([&] { static_cast<void>(make_block_cyclic(rows, cols, block, block, grid, ranks)); }, words);
}

TEST(block_cyclic, refuses_what_cannot_be) {
    expect_refused(0, 4, 2, {1, 1}, 1, "number of rows is 0");
    expect_refused(4, -1, 2, {1, 1}, 1, "number of columns is -1");
    expect_refused(4, 4, 0, {1, 1}, 1, "block rows is 0");
    expect_refused(4, 4, 2, {2, 2}, 3, "process grid 2 x 2 on 3 ranks");
    expect_refused(64, 64, 64, {}, 2, "more ranks than blocks");
}

} // namespace
