#include "../../expect_user_error.hpp"

#include <craton/array/box_layout.hpp>
#include <craton/array/domain.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <vector>

namespace {

using namespace craton;
using array::box_layout;
using array::box_order;
using array::domain;
using array::index3;

constexpr box_order every_order[] = {box_order::lexicographic, box_order::morton, box_order::hilbert};

TEST(domain_test, calculus) {
    const domain a{{0, 0, 0}, {4, 5, 6}};
    const domain b{{2, -1, 3}, {9, 3, 4}};
    EXPECT_EQ(intersect(a, b), (domain{{2, 0, 3}, {4, 3, 4}}));
    EXPECT_EQ(intersect(a, b).cells(), 6);
    EXPECT_TRUE(intersect(a, translate(a, {4, 0, 0})).empty());
    EXPECT_EQ(shrink(grow(a, 3), 3), a);
    EXPECT_EQ(shrink(a, 3).cells(), 0);
    EXPECT_EQ(coarsen(domain{{-3, 0, 1}, {3, 4, 2}}), (domain{{-2, 0, 0}, {2, 2, 1}}));
    EXPECT_EQ(refine(coarsen(refine(a))), refine(a));
    EXPECT_EQ(halo_side(a, {-1, 0, 1}, 2), (domain{{-2, 0, 6}, {0, 5, 8}}));
    EXPECT_TRUE(a.contains({3, 4, 5}) && !a.contains({4, 0, 0}) && !a.contains({0, -1, 0}));
}

// Each cell round a domain lies on exactly one of its 26 sides.
TEST(domain_test, sides_make_the_halo) {
    const domain a{{5, 6, 7}, {8, 9, 9}};
    std::int64_t cells = 0;
    for (std::int64_t side = 0; side < 27; ++side) {
        const index3 s{side % 3 - 1, side / 3 % 3 - 1, side / 9 - 1};
        if (side != 13) cells += halo_side(a, s, 2).cells();
    }
    EXPECT_EQ(cells, grow(a, 2).cells() - a.cells());
}

TEST(box_layout_test, every_box_has_one_owner_and_ranks_are_even) {
    for (const auto order : every_order) {
        for (const int ranks : {1, 2, 3, 5, 8, 100}) {
            const box_layout layout({{3, 4, 2}, 8, {}, order}, ranks);
            std::set<std::int64_t> seen;
            for (int rank = 0; rank < ranks; ++rank) {
                const auto own = layout.blocks_of(rank);
                EXPECT_LE(std::abs(static_cast<double>(own.size()) - 24.0 / ranks), 1.0);
                for (std::int64_t s = 0; s < std::ssize(own); ++s) {
                    EXPECT_EQ(layout.owner(own[s]), rank);
                    EXPECT_EQ(layout.slot(own[s]), s);
                    EXPECT_EQ(layout.block_at(layout.place(own[s])), own[s]);
                    EXPECT_TRUE(seen.insert(own[s]).second);
                }
            }
            EXPECT_EQ(std::ssize(seen), layout.blocks());
        }
    }
}

TEST(box_layout_test, curves) {
    // All boxes of one rank: the order of the curve.
    const auto along = [](box_order order, std::int64_t side) {
        const box_layout layout({{side, side, side}, 1, {}, order}, 1);
        std::vector<index3> places;
        for (const auto box : layout.blocks_of(0)) places.push_back(layout.place(box));
        return places;
    };
    const auto morton = along(box_order::morton, 2);
    EXPECT_EQ(morton,
              (std::vector<index3>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}}));
    // Eight boxes in a row of Morton's curve are one of the next coarser grid.
    const auto finer = along(box_order::morton, 4);
    for (std::size_t p = 0; p < finer.size(); ++p) {
        EXPECT_EQ((index3{finer[p][0] / 2, finer[p][1] / 2, finer[p][2] / 2}), morton[p / 8]);
    }
    // Hilbert's curve goes from a box to one beside it.
    for (const std::int64_t side : {2, 4, 8}) {
        const auto hilbert = along(box_order::hilbert, side);
        for (std::size_t p = 1; p < hilbert.size(); ++p) {
            std::int64_t steps = 0;
            for (std::size_t d = 0; d < 3; ++d) steps += std::abs(hilbert[p][d] - hilbert[p - 1][d]);
            EXPECT_EQ(steps, 1) << "side " << side << ", step " << p;
        }
    }
}

TEST(box_layout_test, what_is_beside_a_box) {
    const box_layout layout({{2, 3, 1}, 4, {true, false, true}, box_order::morton}, 2);
    const std::int64_t corner = layout.block_at({0, 0, 0});
    EXPECT_EQ(layout.beside(corner, {0, 1, 0}).block, layout.block_at({0, 1, 0}));
    EXPECT_EQ(layout.beside(corner, {0, -1, 0}).block, -1);
    const auto round = layout.beside(corner, {-1, 0, 0});
    EXPECT_EQ(round.block, layout.block_at({1, 0, 0}));
    EXPECT_EQ(round.shift, (index3{-8, 0, 0}));
    const auto itself = layout.beside(corner, {0, 0, 1});
    EXPECT_EQ(itself.block, corner);
    EXPECT_EQ(itself.shift, (index3{0, 0, 4}));
    // Moved by the shift, the neighbour's cells begin where the box ends.
    EXPECT_EQ(intersect(halo_side(layout.cells(corner), {-1, 0, 0}, 1), translate(layout.cells(round.block), round.shift)),
              halo_side(layout.cells(corner), {-1, 0, 0}, 1));
}

TEST(box_layout_test, grids_of_any_size_in_boxes_that_begin_at_even_cells) {
    using cuts = std::vector<std::int64_t>;
    const auto along = [](std::int64_t cells, std::int64_t side) {
        return box_layout::cuts_of(box_layout::of_grid({cells, 4, 4}, side))[0];
    };
    EXPECT_EQ(along(32, 16), (cuts{0, 16, 32}));
    EXPECT_EQ(along(50, 16), (cuts{0, 16, 32, 50})); // 2 left: the last box is longer
    EXPECT_EQ(along(56, 16), (cuts{0, 16, 32, 48, 56}));
    EXPECT_EQ(along(33, 7), (cuts{0, 8, 14, 22, 28, 33}));
    EXPECT_EQ(along(10, 16), (cuts{0, 10}));
    const auto cubes = box_layout::of_grid({32, 16, 48}, 16);
    EXPECT_EQ(cubes, (box_layout::shape{{2, 1, 3}, 16, {}, box_order::morton}));
    const box_layout layout(box_layout::of_grid({50, 10, 17}, 16), 2);
    EXPECT_EQ(layout.side(), 18);
    std::int64_t cells = 0;
    for (std::int64_t box = 0; box < layout.blocks(); ++box) cells += layout.cells(box).cells();
    EXPECT_EQ(cells, 50 * 10 * 17);
}

TEST(box_layout_test, refuses_what_makes_no_sense) {
    using tests::expect_user_error;
    expect_user_error([] { (void)box_layout::of_grid({4, 0, 4}, 2); }, {"4 x 0 x 4 cells in boxes of 2", "at least 1"});
    expect_user_error([] { box_layout({{2, 1, 1}, 4, {}, box_order::morton, {{{0, 4, 4}, {0, 4}, {0, 4}}}}, 1); },
                      {"cuts [0, 4, 4] along x for 2 boxes", "from 0 up"});
    expect_user_error([] { box_layout({{0, 1, 1}, 4, {}, box_order::morton}, 1); }, {"0 x 1 x 1 boxes", "at least 1"});
    expect_user_error([] { box_layout({{2048, 2048, 2048}, 4, {}, box_order::morton}, 1); }, {"fewer than 2^31"});
    expect_user_error([] { box_layout({{1, 1, 1}, 0, {}, box_order::morton}, 1); }, {"boxes of 0 cells"});
    expect_user_error([] { static_cast<void>(array::box_order_named("peano")); }, {"'peano'", "hilbert"});
}

} // namespace
