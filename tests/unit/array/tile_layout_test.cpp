#include "../../expect_user_error.hpp"

#include <craton/array/tile_kernels.hpp>
#include <craton/array/tile_layout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace {

using namespace craton;
using array::place;
using array::rectangle;
using array::tile_layout;

template <std::size_t N> tile_layout<N> random_layout(std::mt19937_64& random, std::int64_t most_tiles, int ranks) {
    typename tile_layout<N>::boundaries cuts;
    std::size_t tiles = 1;
    for (auto& each : cuts) {
        each.push_back(0);
        const auto count = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most_tiles));
        for (std::int64_t t = 0; t < count; ++t) each.push_back(each.back() + 1 + static_cast<std::int64_t>(random() % 7));
        tiles *= static_cast<std::size_t>(count);
    }
    std::vector<int> owners(tiles);
    for (auto& owner : owners) owner = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
    return {cuts, owners, ranks};
}

// Every place of the index space lies in one tile, and every element of every rank's memory belongs to one place.
template <std::size_t N> void expect_each_element_once(const tile_layout<N>& layout) {
    std::map<int, std::vector<int>> met;
    for (int r = 0; r < layout.ranks(); ++r) met[r].assign(static_cast<std::size_t>(layout.elements_of(r)), 0);
    std::int64_t places = 0;
    place<N> p{};
    do {
        const auto tile = layout.tile_at(p);
        const auto cells = layout.cells(tile);
        ASSERT_TRUE(cells.contains(p));
        std::int64_t within = 0;
        for (std::size_t d = 0; d < N; ++d) within = within * (cells.high[d] - cells.low[d]) + p[d] - cells.low[d];
        ++met.at(layout.owner(tile)).at(static_cast<std::size_t>(layout.first_element(tile) + within));
        ++places;
    } while (next_place(p, layout.whole()));
    std::int64_t elements = 0;
    for (const auto& [rank, counts] : met) {
        for (const int count : counts) ASSERT_EQ(count, 1);
        elements += std::ssize(counts);
    }
    EXPECT_EQ(elements, places);
}

TEST(tile_layout, every_element_has_one_place_and_every_place_one_element) {
    std::mt19937_64 random(1);
    for (int n = 0; n < 20; ++n) {
        expect_each_element_once(random_layout<1>(random, 30, 1 + n % 5));
        expect_each_element_once(random_layout<2>(random, 8, 1 + n % 5));
        expect_each_element_once(random_layout<3>(random, 4, 1 + n % 5));
        expect_each_element_once(random_layout<4>(random, 2, 1 + n % 5));
    }
}

TEST(tile_layout, a_rank_has_its_tiles_in_order_one_after_the_other) {
    std::mt19937_64 random(2);
    const auto layout = random_layout<2>(random, 9, 3);
    std::int64_t tiles = 0;
    for (int r = 0; r < 3; ++r) {
        std::int64_t next = 0, slot = 0;
        for (const auto tile : layout.tiles_of(r)) {
            EXPECT_EQ(layout.owner(tile), r);
            EXPECT_EQ(layout.first_element(tile), next);
            EXPECT_EQ(layout.slot(tile), slot++);
            next += layout.cells(tile).cells();
            ++tiles;
        }
        EXPECT_EQ(layout.elements_of(r), next);
    }
    EXPECT_EQ(layout.tiles(), tiles);
}

// The owners of tiles that are dealt in turn to a grid.
template <std::size_t N> std::vector<int> owners_in_turn(const tile_layout<N>& layout, const std::array<int, N>& grid) {
    std::vector<int> owners;
    rectangle<N> tiles;
    for (std::size_t d = 0; d < N; ++d) tiles.high[d] = std::ssize(layout.cuts()[d]) - 1;
    place<N> at{};
    do {
        int owner = 0;
        for (std::size_t d = 0; d < N; ++d) owner = owner * grid[d] + static_cast<int>(at[d] % grid[d]);
        owners.push_back(owner);
    } while (next_place(at, tiles));
    return owners;
}

// Counted here, tile by tile: layouts may know such owners by arithmetic, however they are made.
template <std::size_t N> void expect_what_counting_finds(const tile_layout<N>& layout, const std::vector<int>& owners, int ranks) {
    ASSERT_EQ(layout.ranks(), ranks);
    ASSERT_EQ(layout.tiles(), std::ssize(owners));
    std::vector<std::vector<std::int64_t>> tiles_of(static_cast<std::size_t>(ranks));
    std::vector<std::int64_t> elements_of(static_cast<std::size_t>(ranks));
    for (std::int64_t t = 0; t < layout.tiles(); ++t) {
        const auto owner = static_cast<std::size_t>(owners[static_cast<std::size_t>(t)]);
        ASSERT_EQ(layout.owner(t), static_cast<int>(owner));
        ASSERT_EQ(layout.slot(t), std::ssize(tiles_of[owner]));
        ASSERT_EQ(layout.first_element(t), elements_of[owner]);
        tiles_of[owner].push_back(t);
        elements_of[owner] += layout.cells(t).cells();
    }
    for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(layout.tiles_of(r), tiles_of[static_cast<std::size_t>(r)]);
        EXPECT_EQ(layout.tile_count(r), std::ssize(tiles_of[static_cast<std::size_t>(r)]));
        EXPECT_EQ(layout.elements_of(r), elements_of[static_cast<std::size_t>(r)]);
    }
}

template <std::size_t N> void expect_what_a_table_says(const tile_layout<N>& dealt, const std::array<int, N>& grid) {
    const auto owners = owners_in_turn(dealt, grid);
    expect_what_counting_finds(dealt, owners, dealt.ranks());
    const tile_layout<N> given(dealt.cuts(), owners, dealt.ranks());
    expect_what_counting_finds(given, owners, dealt.ranks());
    EXPECT_TRUE(dealt == given && given == dealt);
    expect_what_counting_finds(tile_layout<N>(dealt.cuts(), owners, dealt.ranks() + 2), owners, dealt.ranks() + 2);
    auto changed = owners; // the last tile is another rank's
    changed.back() = (changed.back() + 1) % dealt.ranks();
    const tile_layout<N> other(dealt.cuts(), changed, dealt.ranks());
    expect_what_counting_finds(other, changed, dealt.ranks());
    EXPECT_EQ(dealt == other, changed == owners);
}

TEST(tile_layout, arithmetic_says_of_dealt_tiles_what_a_table_does) {
    std::mt19937_64 random(4);
    const auto up_to = [&](int most) { return 1 + static_cast<int>(random() % static_cast<std::uint64_t>(most)); };
    for (int n = 0; n < 100; ++n) {
        const std::array<int, 2> flat{up_to(4), up_to(4)};
        expect_what_a_table_says(tile_layout<2>::block_cyclic({up_to(40), up_to(40)}, {up_to(9), up_to(9)}, flat), flat);
        const std::array<int, 3> deep{up_to(3), up_to(3), up_to(3)};
        const auto cyclic = tile_layout<3>::block_cyclic({up_to(12), up_to(12), up_to(12)}, {up_to(5), up_to(5), up_to(5)}, deep);
        expect_what_a_table_says(cyclic, deep);
        expect_each_element_once(cyclic);
        expect_what_a_table_says(tile_layout<3>::regular({3 + up_to(9), 3 + up_to(9), 3 + up_to(9)}, deep), deep);
    }
    expect_what_a_table_says(tile_layout<2>::one_per_rank({{{0, 1, 9}, {0, 4, 5, 6}}}), {2, 3});
}

TEST(tile_layout, a_layout_that_is_dealt_takes_no_room_for_each_tile) {
    const auto large = tile_layout<2>::block_cyclic({1 << 26, 1 << 26}, {64, 64}, {256, 390}); // 1.1e12 tiles, of 4.5e15 elements
    EXPECT_EQ(large.tiles(), std::int64_t{1} << 40);
    const auto last = large.where(large.tiles() - 1);
    EXPECT_EQ(last.owner, 255 * 390 + ((1 << 20) - 1) % 390);
    EXPECT_EQ(last.first_element + 64 * 64, large.elements_of(last.owner));
    EXPECT_EQ(last.slot + 1, large.tile_count(last.owner));
}

TEST(tile_layout, random_owners_are_what_counting_finds) {
    std::mt19937_64 random(5);
    for (int n = 0; n < 200; ++n) {
        const int ranks = 1 + n % 3;
        const auto cuts = random_layout<2>(random, 4, 1).cuts(); // few tiles: some are dealt in turn by chance
        std::vector<int> owners((cuts[0].size() - 1) * (cuts[1].size() - 1));
        for (auto& owner : owners) owner = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
        expect_what_counting_finds(tile_layout<2>(cuts, owners, ranks), owners, ranks);
    }
}

TEST(tile_layout, pieces_of_a_rectangle_are_its_parts_in_the_tiles) {
    std::mt19937_64 random(3);
    for (int n = 0; n < 50; ++n) {
        const auto layout = random_layout<3>(random, 5, 2);
        rectangle<3> what;
        for (std::size_t d = 0; d < 3; ++d) {
            const auto a = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(layout.extents()[d] + 1));
            const auto b = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(layout.extents()[d] + 1));
            what.low[d] = std::min(a, b);
            what.high[d] = std::max(a, b);
        }
        std::int64_t cells = 0, before = -1;
        layout.for_each_piece(what, [&](std::int64_t tile, const rectangle<3>& piece) {
            EXPECT_GT(tile, before);
            before = tile;
            EXPECT_FALSE(piece.empty());
            EXPECT_EQ(piece, intersect(what, layout.cells(tile)));
            cells += piece.cells();
        });
        EXPECT_EQ(cells, what.cells());
    }
}

TEST(tile_layout, helpers_cut_and_deal_as_they_say) {
    const auto cyclic = tile_layout<2>::block_cyclic({10, 7}, {3, 2}, {2, 2});
    EXPECT_EQ(cyclic.cuts()[0], (std::vector<std::int64_t>{0, 3, 6, 9, 10}));
    EXPECT_EQ(cyclic.cuts()[1], (std::vector<std::int64_t>{0, 2, 4, 6, 7}));
    EXPECT_EQ(cyclic.owner(cyclic.tile_at({4, 5})), 2); // tile row 1, tile column 2
    EXPECT_EQ(cyclic.owner(cyclic.tile_at({9, 6})), 3);

    const auto regular = tile_layout<2>::regular({8, 5}, {3, 2});
    EXPECT_EQ(regular.ranks(), 6);
    EXPECT_EQ(regular.cuts()[0], (std::vector<std::int64_t>{0, 3, 6, 8}));
    EXPECT_EQ(regular.cuts()[1], (std::vector<std::int64_t>{0, 3, 5}));
    EXPECT_EQ(regular.owner(regular.tile_at({7, 0})), 4);

    const auto irregular = tile_layout<2>::one_per_rank({{{0, 1, 9}, {0, 4, 5, 6}}});
    EXPECT_EQ(irregular.ranks(), 6);
    for (int r = 0; r < 6; ++r) EXPECT_EQ(irregular.owner(r), r);
    EXPECT_EQ(irregular.cells(5), (rectangle<2>{{1, 5}, {9, 6}}));

    EXPECT_EQ(regular, tile_layout<2>::regular({8, 5}, {3, 2}));
    EXPECT_EQ(regular.fingerprint(), (tile_layout<2>::regular({8, 5}, {3, 2})).fingerprint());
    EXPECT_FALSE(regular == (tile_layout<2>::regular({8, 5}, {2, 3})));
    EXPECT_NE(regular.fingerprint(), (tile_layout<2>::regular({8, 5}, {2, 3})).fingerprint());
    const std::vector<std::int64_t> halves{0, 2, 4};
    EXPECT_NE((tile_layout<1>{{halves}, {0, 1}, 2}).fingerprint(), (tile_layout<1>{{halves}, {1, 0}, 2}).fingerprint());
    EXPECT_FALSE((tile_layout<1>{{halves}, {0, 1}, 2}) == (tile_layout<1>{{halves}, {0, 1}, 3}));
}

TEST(tile_layout, says_what_is_wrong_with_boundaries_and_owners) {
    using tests::expect_user_error;
    using layout = tile_layout<2>;
    const std::vector<std::int64_t> good{0, 2, 5};
    const auto make = [](std::vector<std::int64_t> rows, std::vector<std::int64_t> columns, std::vector<int> owners, int ranks) {
        return [=] { static_cast<void>(layout({rows, columns}, owners, ranks)); };
    };
    expect_user_error(make(good, {0}, {0, 0}, 1), {"1 boundaries along dimension 1", "allowed: 2 or more"});
    expect_user_error(make({1, 2}, good, {0, 0}, 1), {"boundaries of dimension 0 begin at 1", "allowed: 0"});
    expect_user_error(make(good, {0, 3, 3}, {0, 0, 0, 0}, 1), {"boundary 2 of dimension 1 is 3 after 3", "allowed: more"});
    expect_user_error(make(good, good, {0, 0, 0}, 1), {"3 owners for 4 tiles", "allowed: one per tile"});
    expect_user_error(make(good, good, {0, 0, 2, 0}, 2), {"owner of tile 2 is rank 2", "allowed: 0 to 1"});
    expect_user_error(make(good, good, {0, 0, -1, 0}, 2), {"owner of tile 2 is rank -1", "allowed: 0 to 1"});
    expect_user_error(make(good, good, {0, 0, 0, 0}, 0), {"0 ranks", "allowed: 1 or more"});
    expect_user_error(make({0, std::int64_t{1} << 31}, {0, std::int64_t{1} << 31}, {0}, 1),
                      {"4.61e+18 elements", "allowed: less than 2^60"});
    expect_user_error([] { static_cast<void>(layout::block_cyclic({4, 0}, {1, 1}, {1, 1})); },
                      {"extent along dimension 1 is 0", "1 or more"});
    expect_user_error([] { static_cast<void>(layout::block_cyclic({4, 4}, {0, 1}, {1, 1})); },
                      {"block along dimension 0 is 0", "1 or more"});
    expect_user_error([] { static_cast<void>(layout::block_cyclic({4, 4}, {1, 1}, {1, -1})); },
                      {"grid along dimension 1 is -1", "1 or more"});
    expect_user_error([] { static_cast<void>(layout::block_cyclic({4, 4}, {1, 1}, {1 << 20, 1 << 20})); }, {"2^30 at most"});
    expect_user_error([] { static_cast<void>(layout::regular({4, 4}, {5, 1})); },
                      {"extent 4 along dimension 0 on a grid of 5", "one index"});
    expect_user_error([] { static_cast<void>(layout::one_per_rank({{{0, 1}, {}}})); }, {"0 boundaries along dimension 1"});
}

TEST(tile_kernels, add_and_pack_follow_strides_of_any_sign) {
    const place<3> extents{3, 4, 5};
    std::vector<std::int64_t> from(200), to(200, 7), packed(60);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::int64_t>(i * i);
    for (const auto& [to_strides, from_strides, first] :
         std::vector<std::tuple<place<3>, place<3>, std::int64_t>>{{{20, 5, 1}, {20, 5, 1}, 0},
                                                                   {{1, 3, 12}, {20, 5, 1}, 0},
                                                                   {{50, 7, 1}, {-60, 5, -1}, 150},
                                                                   {{20, 5, 1}, {2, 6, 30}, 0},
                                                                   {{20, 5, 1}, {0, 0, 0}, 3}}) {
        std::ranges::fill(to, 7);
        array::add_rectangle(extents, to.data(), to_strides, from.data() + first, from_strides);
        array::pack_rectangle(extents, from.data() + first, from_strides, packed.data());
        std::vector<std::int64_t> expected(200, 7);
        std::size_t n = 0;
        for (std::int64_t i = 0; i < 3; ++i) {
            for (std::int64_t j = 0; j < 4; ++j) {
                for (std::int64_t k = 0; k < 5; ++k) {
                    const auto value =
                        from[static_cast<std::size_t>(first + i * from_strides[0] + j * from_strides[1] + k * from_strides[2])];
                    expected[static_cast<std::size_t>(i * to_strides[0] + j * to_strides[1] + k * to_strides[2])] += value;
                    ASSERT_EQ(packed[n++], value);
                }
            }
        }
        EXPECT_EQ(to, expected);
    }
}

TEST(tile_kernels, the_largest_magnitude_is_not_a_number_where_an_element_is_none) {
    std::vector<double> values{1, -9, 3, 4, 5, 100};
    EXPECT_EQ(array::largest_magnitude(place<2>{2, 2}, values.data(), place<2>{3, 1}), 9);
    EXPECT_EQ(array::largest_magnitude(place<2>{0, 2}, values.data(), place<2>{3, 1}), 0);
    values[1] = std::nan("");
    EXPECT_TRUE(std::isnan(array::largest_magnitude(place<2>{2, 2}, values.data(), place<2>{3, 1})));
    const std::int64_t least = std::numeric_limits<std::int64_t>::min();
    EXPECT_EQ(array::largest_magnitude(place<1>{1}, &least, place<1>{1}), std::ldexp(1.0, 63));
}

TEST(tile_kernels, parts_of_a_rectangle_cover_it_and_are_small) {
    for (const std::int64_t most : {1, 2, 5, 12, 100}) {
        const rectangle<3> what{{1, 2, 3}, {4, 7, 10}};
        std::map<place<3>, int> met;
        array::cut_rectangle(what, most, [&](const rectangle<3>& part) {
            EXPECT_LE(part.cells(), most);
            place<3> p = part.low;
            do {
                ++met[p];
            } while (next_place(p, part));
        });
        EXPECT_EQ(std::ssize(met), what.cells());
        for (const auto& [p, count] : met) {
            EXPECT_EQ(count, 1);
            EXPECT_TRUE(what.contains(p));
        }
    }
    array::cut_rectangle(rectangle<2>{{1, 1}, {1, 5}}, 3, [](const rectangle<2>&) { FAIL(); });
}

} // namespace
