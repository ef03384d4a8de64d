#include "../../expect_user_error.hpp"

#include <craton/array/brick_layout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using namespace craton;
using array::best_process_grid;
using array::brick_layout;
using array::domain;
using array::index3;

// Every cell belongs to one brick, sizes differ by one at most, and neighbours share whole faces.
void is_sound(const brick_layout& layout) {
    const domain grid = layout.grid();
    std::vector<int> owners(static_cast<std::size_t>(grid.cells()), -1);
    index3 least = grid.high;
    index3 most{};
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        EXPECT_EQ(layout.rank_of(layout.brick_of(rank)), rank);
        const domain own = layout.cells(rank);
        for (std::size_t d = 0; d < 3; ++d) {
            least[d] = std::min(least[d], own.extent(d));
            most[d] = std::max(most[d], own.extent(d));
        }
        for (std::int64_t k = own.low[2]; k < own.high[2]; ++k) {
            for (std::int64_t j = own.low[1]; j < own.high[1]; ++j) {
                for (std::int64_t i = own.low[0]; i < own.high[0]; ++i) {
                    int& owner = owners[static_cast<std::size_t>(i + grid.high[0] * (j + grid.high[1] * k))];
                    ASSERT_EQ(owner, -1);
                    owner = rank;
                    ASSERT_EQ(layout.block_of({i, j, k}), rank);
                }
            }
        }
    }
    EXPECT_EQ(std::ranges::count(owners, -1), 0);
    for (std::size_t d = 0; d < 3; ++d) EXPECT_LE(most[d] - least[d], 1);
}

// The neighbour is who owns the cell beside a brick's corner.
void has_sound_neighbours(const brick_layout& layout) {
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const domain own = layout.cells(rank);
        for (int axis = 0; axis < 3; ++axis) {
            const auto d = static_cast<std::size_t>(axis);
            EXPECT_EQ(layout.face_cells(rank, axis), own.extent((d + 1) % 3) * own.extent((d + 2) % 3));
            for (const int side : {-1, 1}) {
                index3 beyond = own.low;
                beyond[d] = side < 0 ? own.low[d] - 1 : own.high[d];
                const std::int64_t expected = layout.grid().contains(beyond) ? layout.block_of(beyond) : -1;
                const int found = layout.rank_beside(rank, axis, side);
                ASSERT_EQ(found, expected);
                if (found >= 0) {
                    EXPECT_EQ(layout.rank_beside(found, axis, -side), rank);
                    EXPECT_EQ(layout.face_cells(found, axis), layout.face_cells(rank, axis));
                }
            }
        }
    }
}

TEST(brick_layout_test, every_cell_once_and_neighbours_share_faces) {
    for (const index3& processes : {index3{1, 1, 1}, index3{2, 3, 1}, index3{3, 1, 2}, index3{2, 2, 2}, index3{4, 3, 2}}) {
        for (const index3& cells : {index3{16, 12, 8}, index3{17, 13, 11}, index3{19, 14, 9}}) {
            const brick_layout layout(cells, processes);
            is_sound(layout);
            has_sound_neighbours(layout);
            std::vector<int> permuted(static_cast<std::size_t>(layout.ranks()));
            for (int rank = 0; rank < layout.ranks(); ++rank) {
                permuted[static_cast<std::size_t>(rank)] = (layout.ranks() - 1 - rank + 2) % layout.ranks();
            }
            const brick_layout placed(cells, processes, permuted);
            is_sound(placed);
            has_sound_neighbours(placed);
            EXPECT_EQ(placed.cells(0), layout.cells(permuted[0]));
        }
    }
}

TEST(brick_layout_test, bricks_are_numbered_along_x_first) {
    const brick_layout layout({12, 12, 12}, {3, 2, 2});
    EXPECT_EQ(layout.place(7), (index3{1, 0, 1}));
    EXPECT_EQ(layout.cells(7), (domain{{4, 0, 6}, {8, 6, 12}}));
    EXPECT_EQ(layout.rank_beside(7, 0, 1), 8);
    EXPECT_EQ(layout.rank_beside(7, 1, 1), 10);
    EXPECT_EQ(layout.rank_beside(7, 2, -1), 1);
    EXPECT_EQ(layout.rank_beside(7, 2, 1), -1);
}

TEST(brick_layout_test, the_process_grid_has_the_smallest_faces) {
    EXPECT_EQ(best_process_grid({100, 100, 100}, 1), (index3{1, 1, 1}));
    EXPECT_EQ(best_process_grid({100, 100, 100}, 8), (index3{2, 2, 2}));
    EXPECT_EQ(best_process_grid({100, 100, 100}, 2), (index3{1, 1, 2})); // of equals: x and y uncut
    EXPECT_EQ(best_process_grid({400, 100, 100}, 4), (index3{4, 1, 1}));
    EXPECT_EQ(best_process_grid({100, 200, 40}, 6), (index3{2, 3, 1}));
    EXPECT_EQ(best_process_grid({100, 100, 100}, 8, {0, 0, 1}), (index3{2, 4, 1}));
    EXPECT_EQ(best_process_grid({100, 100, 100}, 8, {8, 0, 0}), (index3{8, 1, 1}));
    EXPECT_EQ(best_process_grid({5, 5, 400}, 50), (index3{1, 1, 50}));
    // 7 * 5 * 5 ranks: no way but one leaves bricks thick enough.
    EXPECT_EQ(best_process_grid({28, 20, 20}, 175), (index3{7, 5, 5}));
}

TEST(brick_layout_test, errors_name_the_values) {
    tests::expect_user_error([] { static_cast<void>(best_process_grid({100, 100, 100}, 6, {4, 0, 0})); }, {"4 x 0 x 0", "6 ranks"});
    tests::expect_user_error([] { static_cast<void>(best_process_grid({100, 100, 100}, 6, {1, 2, 2})); }, {"1 x 2 x 2", "6 ranks"});
    tests::expect_user_error([] { static_cast<void>(best_process_grid({100, 100, 100}, 6, {-1, 0, 0})); }, {"-1 x 0 x 0"});
    tests::expect_user_error([] { static_cast<void>(best_process_grid({100, 100, 100}, 0)); }, {"0 ranks"});
    tests::expect_user_error([] { static_cast<void>(best_process_grid({7, 7, 7}, 2)); },
                             {"7 x 7 x 7", "2 ranks", "thinner than 4"});
    tests::expect_user_error([] { brick_layout({16, 16, 16}, {1, 5, 1}); }, {"16 cells along y on 5 bricks", "at least 4"});
    tests::expect_user_error([] { brick_layout({16, 16, 16}, {1, 1, 0}); }, {"16 cells along z on 0 bricks"});
    tests::expect_user_error([] { brick_layout({3, 16, 16}, {1, 1, 1}); }, {"3 cells along x on 1 bricks"});
    tests::expect_user_error([] { brick_layout({16, 16, 16}, {2, 1, 1}, {0, 0}); }, {"rank 1 is given brick 0", "0 to 1 once"});
    tests::expect_user_error([] { brick_layout({16, 16, 16}, {2, 1, 1}, {0, 2}); }, {"rank 1 is given brick 2"});
    tests::expect_user_error([] { brick_layout({16, 16, 16}, {2, 1, 1}, {0}); }, {"bricks of 1 ranks", "all 2 ranks"});
    tests::expect_user_error([] { brick_layout({1 << 20, 1 << 20, 1 << 20}, {1 << 11, 1 << 10, 1 << 10}); },
                             {"2048 x 1024 x 1024", "2^31"});
}

} // namespace
