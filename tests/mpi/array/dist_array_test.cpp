#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "random_layout.hpp"

#include <craton/array/dist_array.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace dist_array_tests {
namespace {

using namespace craton;
using array::dist_array;
using array::place;
using array::rectangle;
using array::tile_layout;
using array::tile_piece;
using tests::expect_user_error;
using tests::random_source;

class dist_array_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(dist_array_test);

// Small whole numbers, so that sums in double are exact in any order.
double number_at(const place<2>& p) { return static_cast<double>((p[0] * 31 + p[1] * 17) % 41 - 20); }

template <class T, std::size_t N> std::vector<T> whole_of(const dist_array<T, N>& array) {
    std::vector<T> all(static_cast<std::size_t>(array.layout().whole().cells()));
    array.get(array.layout().whole(), all);
    array.sync();
    return all;
}

// One tile per rank where there are four of them, else tiles of 5 x 3 dealt to a column of ranks.
tile_layout<2> layout_of(const place<2>& extents, int ranks) {
    return ranks == 4 ? tile_layout<2>::regular(extents, {2, 2}) : tile_layout<2>::block_cyclic(extents, {5, 3}, {ranks, 1});
}

TEST_P(dist_array_test, starts_as_zeros_and_its_owners_see_what_others_put) {
    dist_array<double, 2> a(world(), layout_of({23, 17}, world().size()));
    EXPECT_EQ(whole_of(a), std::vector<double>(23 * 17, 0.0));
    if (world().rank() == 0) {
        std::vector<double> all;
        for (std::int64_t i = 0; i < 23; ++i) {
            for (std::int64_t j = 0; j < 17; ++j) all.push_back(number_at({i, j}));
        }
        a.put(a.layout().whole(), all);
    }
    a.sync();
    std::int64_t seen = 0;
    for (const auto tile : a.own_tiles()) {
        const auto piece = a.own_tile(tile);
        EXPECT_EQ(piece.cells, a.layout().cells(tile));
        auto p = piece.cells.low;
        for (const double& element : a.own_elements(tile)) {
            EXPECT_EQ(element, number_at(p));
            EXPECT_EQ(&piece.at(p), &element);
            next_place(p, piece.cells);
            ++seen;
        }
    }
    EXPECT_EQ(seen, a.layout().elements_of(world().rank()));
    a.sync();
}

// Elements without arithmetic, of an odd size.
struct shell_pair {
    std::int32_t first = 0, second = 0;
    char label[3]{};
    friend bool operator==(const shell_pair&, const shell_pair&) = default;
};

TEST_P(dist_array_test, elements_may_be_of_any_trivially_copyable_type) {
    static_assert(!array::addable<shell_pair>);
    dist_array<shell_pair, 1> pairs(world(), tile_layout<1>::block_cyclic({50}, {3}, {world().size()}));
    const auto swap = pairs.register_function([](const tile_piece<shell_pair, 1>& piece, std::span<const std::byte>) {
        for (std::int64_t i = piece.cells.low[0]; i < piece.cells.high[0]; ++i)
            std::swap(piece.at({i}).first, piece.at({i}).second);
    });
    std::vector<shell_pair> all;
    for (std::int32_t i = 0; i < 50; ++i) all.push_back({i, -i, {'s', 'p', static_cast<char>('a' + i % 26)}});
    if (world().rank() == world().size() - 1) {
        pairs.put({{0}, {50}}, all);
        pairs.apply({{10}, {31}}, swap);
    }
    pairs.sync();
    for (std::size_t i = 10; i < 31; ++i) std::swap(all[i].first, all[i].second);
    EXPECT_EQ(whole_of(pairs), all);
}

TEST_P(dist_array_test, pieces_longer_than_a_message_arrive_whole) {
    const place<2> extents{700, 900}; // tiles of up to 5 MB, messages of 1 MiB
    dist_array<double, 2> a(world(), tile_layout<2>::block_cyclic(extents, {700, 450}, {1, world().size()}));
    std::vector<double> all(700 * 900);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>(i % 1009);
    a.accumulate({{0, 0}, extents}, all);
    a.post_accumulate({{0, 0}, extents}, all);
    auto one_more = a.start_accumulate({{0, 0}, extents}, {all.data(), {900, 1}});
    one_more.wait();
    EXPECT_TRUE(one_more.test());
    a.sync();
    auto expected = all;
    for (auto& each : expected) each *= 3 * world().size();
    EXPECT_EQ(whole_of(a), expected);
}

TEST_P(dist_array_test, blocking_operations_are_complete_when_they_return) {
    dist_array<std::int64_t, 1> a(world(), tile_layout<1>::block_cyclic({64 * world().size()}, {16}, {world().size()}));
    const auto twice = a.register_function([](const tile_piece<std::int64_t, 1>& piece, std::span<const std::byte>) {
        for (std::int64_t i = piece.cells.low[0]; i < piece.cells.high[0]; ++i) piece.at({i}) *= 2;
    });
    // A stretch per rank, across owners.
    const rectangle<1> mine{{64 * world().rank()}, {64 * world().rank() + 64}};
    std::vector<std::int64_t> values(64), seen(64);
    for (std::int64_t n = 0; n < 50; ++n) {
        for (std::size_t i = 0; i < 64; ++i) values[i] = n + static_cast<std::int64_t>(i);
        a.put(mine, values);
        a.accumulate(mine, values);
        a.apply(mine, twice);
        a.get(mine, seen);
        for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(seen[i], 4 * values[i]);
    }
    a.sync();
}

TEST_P(dist_array_test, threads_of_all_ranks_add_and_apply_at_once) {
    constexpr int threads = 3, rounds = 60;
    random_source random(5);
    const auto layout = tests::random_layout<2>(random, world().size());
    dist_array<std::int64_t, 2> a(world(), layout);
    const auto add = a.register_function([](const tile_piece<std::int64_t, 2>& piece, std::span<const std::byte> argument) {
        std::int64_t value = 0;
        std::memcpy(&value, argument.data(), sizeof(value));
        auto p = piece.cells.low;
        do {
            piece.at(p) += value;
        } while (next_place(p, piece.cells));
    });
    const rectangle<2> middle{{3, 5}, {layout.extents()[0] - 4, layout.extents()[1] - 2}};
    const std::vector<std::int64_t> ones(static_cast<std::size_t>(middle.cells()), 1);
    {
        std::vector<std::jthread> team;
        for (int t = 0; t < threads; ++t) {
            team.emplace_back([&, t] {
                for (int n = 0; n < rounds; ++n) {
                    if ((n + t) % 3 == 0) a.accumulate(middle, ones);
                    if ((n + t) % 3 == 1) a.post_accumulate(middle, ones);
                    if ((n + t) % 3 == 2) a.apply_with(middle, add, std::int64_t{1});
                }
            });
        }
    }
    a.sync();
    const auto all = whole_of(a);
    place<2> p{};
    for (const auto element : all) {
        ASSERT_EQ(element, middle.contains(p) ? threads * rounds * world().size() : 0);
        next_place(p, layout.whole());
    }
}

TEST_P(dist_array_test, elements_anywhere_are_read_written_and_added_to) {
    const place<2> extents{23, 17};
    dist_array<double, 2> a(world(), layout_of(extents, world().size()));
    a.for_each_local([](double& element, const place<2>& p) { element = number_at(p); });
    random_source random(static_cast<unsigned>(20 + world().rank()));
    std::vector<place<2>> where(300);
    for (auto& p : where) p = {tests::draw(random, extents[0]), tests::draw(random, extents[1])};
    std::vector<double> found(where.size());
    a.get_elements(where, found);
    for (std::size_t n = 0; n < where.size(); ++n) ASSERT_EQ(found[n], number_at(where[n]));
    a.sync();
    // Every rank adds to the same places, each of them more than once.
    random_source same(7);
    std::vector<place<2>> shared(200);
    for (auto& p : shared) p = {tests::draw(same, 5), tests::draw(same, 5)};
    const std::vector<double> ones(shared.size(), 1.0);
    a.add_elements(shared, ones);
    a.sync();
    auto expected = whole_of(a);
    for (std::int64_t i = 0; i < extents[0]; ++i) {
        for (std::int64_t j = 0; j < extents[1]; ++j) {
            const auto times = static_cast<double>(std::ranges::count(shared, place<2>{i, j}));
            ASSERT_EQ(expected[static_cast<std::size_t>(i * extents[1] + j)], number_at({i, j}) + times * world().size());
        }
    }
    a.sync();
    // Each rank sets what is its share of all places.
    std::vector<place<2>> own;
    std::vector<double> values;
    for (std::int64_t n = world().rank(); n < extents[0] * extents[1]; n += world().size()) {
        own.push_back({n / extents[1], n % extents[1]});
        values.push_back(static_cast<double>(n));
    }
    a.put_elements(own, values);
    a.sync();
    const auto all = whole_of(a);
    for (std::size_t n = 0; n < all.size(); ++n) ASSERT_EQ(all[n], static_cast<double>(n));
}

TEST_P(dist_array_test, many_elements_travel_in_parts) {
    const auto ranks = world().size();
    dist_array<std::int64_t, 1> a(world(), tile_layout<1>::regular({100000}, {ranks}));
    std::vector<place<1>> where;
    std::vector<std::int64_t> values;
    for (std::int64_t n = 0; n < 100000; ++n) {
        where.push_back({99999 - n});
        values.push_back(n);
    }
    if (world().rank() == ranks - 1) a.put_elements(where, values);
    a.sync();
    std::vector<std::int64_t> found(where.size());
    a.get_elements(where, found);
    EXPECT_EQ(found, values);
    a.sync();
}

TEST_P(dist_array_test, an_element_counts_without_a_number_twice) {
    const auto ranks = world().size();
    dist_array<std::int64_t, 2> a(world(), tile_layout<2>::block_cyclic({2 * ranks, 3}, {2, 3}, {ranks, 1}));
    constexpr std::int64_t each = 50;
    const place<2> counter{2 * ranks - 1, 1};
    std::vector<std::int64_t> mine;
    std::vector<std::thread> threads;
    std::mutex together;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            for (std::int64_t n = 0; n < each; ++n) {
                const auto got = a.fetch_add(counter, 3);
                const std::lock_guard guard(together);
                mine.push_back(got);
            }
        });
    }
    for (auto& one : threads) one.join();
    a.sync();
    const std::int64_t total = 2 * each * ranks;
    std::vector<std::int64_t> seen(static_cast<std::size_t>(total), 0);
    for (const auto got : mine) {
        ASSERT_EQ(got % 3, 0);
        ++seen[static_cast<std::size_t>(got / 3)];
    }
    world().communicator().sum_in_place(std::span(seen));
    EXPECT_EQ(seen, std::vector<std::int64_t>(seen.size(), 1));
    std::int64_t last = 0;
    a.get_elements(std::span(&counter, 1), std::span(&last, 1));
    EXPECT_EQ(last, 3 * total);
    a.sync();
}

TEST_P(dist_array_test, a_function_has_the_piece_of_a_tile_to_itself) {
    dist_array<std::int64_t, 1> a(world(), tile_layout<1>::regular({4000 * world().size()}, {world().size()}));
    std::atomic<std::int64_t> torn{0};
    const auto check_and_add = a.register_function([&torn](const tile_piece<std::int64_t, 1>& piece, std::span<const std::byte>) {
        const std::int64_t first = *piece.first;
        for (std::int64_t i = piece.cells.low[0]; i < piece.cells.high[0]; ++i) {
            if (piece.at({i}) != first) ++torn;
            ++piece.at({i});
        }
    });
    const std::vector<std::int64_t> ones(static_cast<std::size_t>(a.extents()[0]), 1);
    for (int n = 0; n < 100; ++n) {
        a.post_accumulate(a.layout().whole(), ones);
        a.apply(a.layout().whole(), check_and_add);
    }
    a.sync();
    EXPECT_EQ(torn, 0);
    for (const auto element : whole_of(a)) ASSERT_EQ(element, 200 * world().size());
}

TEST_P(dist_array_test, only_pieces_above_the_threshold_travel) {
    constexpr std::int64_t side = 64, tiles = 24;
    dist_array<float, 1> a(world(), tile_layout<1>::block_cyclic({side * side * tiles}, {side * side}, {world().size()}));
    // Tile t has the norm t, of either sign; tile 7 holds what is not a number besides.
    a.for_each_local([](float& element, const place<1>& p) {
        const auto tile = p[0] / (side * side);
        const bool largest = p[0] % (side * side) == 100;
        element = largest ? static_cast<float>(tile % 2 == 0 ? tile : -tile) : 0.0F;
        if (tile == 7 && p[0] % 64 == 5) element = std::nanf("");
    });
    const auto before = world().statistics().bytes_sent;
    std::vector<float> to(side * side * tiles, -5.0F);
    const auto pieces = a.get_above(a.layout().whole(), 20, to);
    a.sync();
    const auto sent = world().communicator().sum(world().statistics().bytes_sent - before);
    ASSERT_EQ(std::ssize(pieces), tiles);
    for (std::int64_t t = 0; t < tiles; ++t) {
        const auto& piece = pieces[static_cast<std::size_t>(t)];
        EXPECT_EQ(piece.tile, t);
        EXPECT_EQ(piece.came, t > 20 || t == 7);
        if (t == 7) {
            EXPECT_TRUE(std::isnan(piece.norm));
        } else {
            EXPECT_EQ(piece.norm, static_cast<double>(t));
        }
        const float first = to[static_cast<std::size_t>(t * side * side)];
        EXPECT_EQ(first, piece.came ? 0.0F : -5.0F);
    }
    // Four tiles of 16 KiB to each rank, of 24, and some hundreds of bytes about each tile.
    EXPECT_LT(sent, world().size() * (4 * side * side * 4 + tiles * 1024));
    const auto none = a.get_above({{0}, {side}}, std::numeric_limits<double>::infinity(), std::span(to).first(side));
    EXPECT_FALSE(none.at(0).came);
    a.sync();
}

TEST_P(dist_array_test, arithmetic_on_whole_arrays_equals_plain_loops) {
    const place<2> extents{29, 29};
    const auto layout = layout_of(extents, world().size());
    dist_array<double, 2> a(world(), layout), b(world(), layout), c(world(), layout);
    a.for_each_local([](double& element, const place<2>& p) { element = number_at(p); });
    b.fill(3);
    c.add(2, a, -5, b);
    double trace = 0, one = 0, square = 0, largest = 0;
    std::vector<double> expected;
    place<2> p{};
    do {
        expected.push_back(2 * number_at(p) - 15);
        if (p[0] == p[1]) trace += expected.back();
        one += std::abs(expected.back());
        square += expected.back() * expected.back();
        largest = std::max(largest, std::abs(expected.back()));
    } while (next_place(p, layout.whole()));
    EXPECT_EQ(whole_of(c), expected);
    EXPECT_EQ(c.trace(), trace);
    EXPECT_EQ(c.one_norm(), one);
    EXPECT_EQ(c.frobenius_norm(), std::sqrt(square));
    EXPECT_EQ(c.max_norm(), largest);
    c.add(1, c, 1, c);
    c.scale(0.25);
    for (auto& each : expected) each *= 0.5;
    EXPECT_EQ(whole_of(c), expected);
    a.copy(c);
    EXPECT_EQ(whole_of(a), expected);

    // Accumulates that are under way when a collective begins count before it.
    const std::vector<double> ones(29 * 29, 1.0);
    b.post_accumulate(layout.whole(), ones);
    b.scale(2);
    EXPECT_EQ(whole_of(b), std::vector<double>(29 * 29, 2 * (3.0 + world().size())));

    if (world().rank() == 0) b.put({{28, 0}, {29, 1}}, std::vector<double>{std::nan("")});
    EXPECT_TRUE(std::isnan(b.max_norm()));
    EXPECT_TRUE(std::isnan(b.one_norm()));
    EXPECT_TRUE(std::isnan(b.frobenius_norm()));
}

TEST_P(dist_array_test, whole_numbers_and_complex_ones_have_traces) {
    dist_array<std::int64_t, 2> whole(world(), layout_of({12, 12}, world().size()));
    whole.for_each_local([](std::int64_t& element, const place<2>& p) { element = (std::int64_t{1} << 53) + p[0] * 12 + p[1]; });
    EXPECT_EQ(whole.trace(), 12 * (std::int64_t{1} << 53) + 13 * 66);
    dist_array<std::complex<double>, 2> complex(world(), layout_of({12, 12}, world().size()));
    complex.for_each_local([](std::complex<double>& element, const place<2>& p) {
        element = {static_cast<double>(p[0]), -static_cast<double>(p[1])};
    });
    EXPECT_EQ(complex.trace(), (std::complex<double>{66, -66}));
}

TEST_P(dist_array_test, inner_products_and_norms_of_every_kind_of_number) {
    using complex = std::complex<double>;
    const auto layout = layout_of({19, 23}, world().size());
    dist_array<double, 2> real(world(), layout), other(world(), layout);
    dist_array<float, 2> single(world(), layout);
    dist_array<std::int64_t, 2> whole(world(), layout);
    dist_array<complex, 2> a(world(), layout), b(world(), layout);
    const auto turned = [](const place<2>& p) { return complex{number_at(p), number_at({p[1], p[0]})}; };
    real.for_each_local([](double& element, const place<2>& p) { element = number_at(p); });
    other.for_each_local([](double& element, const place<2>& p) { element = number_at({p[1], p[0]}); });
    single.for_each_local([](float& element, const place<2>& p) { element = 1e4F + static_cast<float>(number_at(p)); });
    whole.for_each_local([](std::int64_t& element, const place<2>& p) { element = (std::int64_t{1} << 40) + p[0] - p[1]; });
    a.for_each_local([&](complex& element, const place<2>& p) { element = turned(p); });
    b.for_each_local([&](complex& element, const place<2>& p) { element = turned({p[1] + 1, p[0]}); });
    double of_real = 0, of_single = 0, one = 0, square = 0, largest = 0;
    std::uint64_t of_whole = 0;
    complex of_complex = 0;
    place<2> p{};
    do {
        of_real += number_at(p) * number_at({p[1], p[0]});
        of_single += (1e4 + number_at(p)) * (1e4 + number_at(p));
        const auto bits = static_cast<std::uint64_t>((std::int64_t{1} << 40) + p[0] - p[1]);
        of_whole += bits * bits; // leaves 64 bits, and is the same modulo 2^64
        of_complex += std::conj(turned(p)) * turned({p[1] + 1, p[0]});
        one += std::abs(turned(p));
        square += std::norm(turned(p));
        largest = std::max(largest, std::abs(turned(p)));
    } while (next_place(p, layout.whole()));
    EXPECT_EQ(real.dot(other), of_real);
    EXPECT_EQ(single.dot(single), static_cast<float>(of_single)); // summed in double
    EXPECT_EQ(static_cast<std::uint64_t>(whole.dot(whole)), of_whole);
    EXPECT_EQ(a.dot(b), of_complex);
    EXPECT_NEAR(a.one_norm(), one, 1e-12 * one); // sums of roots, in the order of the tiles
    EXPECT_EQ(a.frobenius_norm(), std::sqrt(square));
    EXPECT_EQ(a.max_norm(), largest);
    // Pieces of complex numbers are judged by their magnitudes.
    std::vector<complex> to(19 * 23);
    for (const auto& piece : a.get_above(layout.whole(), largest, to)) EXPECT_FALSE(piece.came);
    std::int64_t came = 0;
    for (const auto& piece : a.get_above(layout.whole(), 0.999 * largest, to)) came += piece.came ? 1 : 0;
    EXPECT_GE(came, 1);
    a.sync();
}

template <std::size_t N> void redistribute(runtime::world& world, random_source& random) {
    dist_array<std::int64_t, N> a(world, tests::random_layout<N>(random, world.size()));
    dist_array<std::int64_t, N> b(world, tests::another_layout<N>(random, a.extents(), world.size()));
    const auto value = [](const place<N>& p) {
        std::int64_t mixed = 7;
        for (const auto i : p) mixed = mixed * 1000 + i;
        return mixed;
    };
    a.for_each_local([&](std::int64_t& element, const place<N>& p) { element = value(p); });
    a.redistribute_to(b);
    const auto expect_values = [&](dist_array<std::int64_t, N>& array) {
        for (const auto tile : array.own_tiles()) {
            auto p = array.layout().cells(tile).low;
            for (const auto element : array.own_elements(tile)) {
                ASSERT_EQ(element, value(p));
                next_place(p, array.layout().cells(tile));
            }
        }
    };
    expect_values(b);
    a.fill(0);
    b.redistribute_to(a);
    expect_values(a);
}

TEST_P(dist_array_test, redistributes_between_any_layouts) {
    random_source random(11);
    for (int n = 0; n < 4; ++n) {
        redistribute<1>(world(), random);
        redistribute<2>(world(), random);
        redistribute<3>(world(), random);
    }
}

TEST_P(dist_array_test, transposes_between_any_layouts) {
    random_source random(12);
    for (int n = 0; n < 4; ++n) {
        dist_array<double, 2> a(world(), tests::random_layout<2>(random, world().size()));
        dist_array<double, 2> b(world(),
                                tests::another_layout<2>(random, place<2>{a.extents()[1], a.extents()[0]}, world().size()));
        a.for_each_local([](double& element, const place<2>& p) { element = static_cast<double>(1000 * p[0] + p[1]); });
        a.transpose_to(b);
        b.for_each_local([](double& element, const place<2>& p) { ASSERT_EQ(element, static_cast<double>(1000 * p[1] + p[0])); });
    }
}

TEST_P(dist_array_test, refuses_bad_layouts_on_every_rank) {
    const int ranks = world().size();
    expect_user_error([&] { dist_array<double, 1>(world(), tile_layout<1>::regular({9}, {ranks + 1})); },
                      {"layout is for " + std::to_string(ranks + 1) + " ranks", "allowed: the world's " + std::to_string(ranks)});
    if (ranks > 1) {
        const std::int64_t cut = world().rank() == 1 ? 3 : 4;
        const tile_layout<1> mine({{std::vector<std::int64_t>{0, cut, 9}}}, {0, 1}, ranks);
        expect_user_error([&] { dist_array<double, 1>(world(), mine); }, {"not the same on all", "allowed: one layout"});
    }
    const std::int64_t too_large = std::int64_t{1} << 50; // bytes in all
    expect_user_error([&] { dist_array<double, 1>(world(), tile_layout<1>::regular({too_large / 8}, {ranks})); }, {"allowed: "});
}

TEST_P(dist_array_test, refuses_bad_rectangles_memory_and_functions_with_nothing_done) {
    dist_array<double, 2> a(world(), layout_of({10, 8}, world().size()));
    const auto id = a.register_function([](const tile_piece<double, 2>& piece, std::span<const std::byte>) { *piece.first = 1; });
    std::vector<double> four(4, 1.0);
    const rectangle<2> outside{{9, 0}, {11, 2}}, before{{-1, 0}, {1, 2}}, backwards{{2, 5}, {4, 4}}, three{{0, 0}, {1, 3}};
    expect_user_error([&] { a.get(outside, four); }, {"dist_array get: dimension 0", "9 to 11", "within 0 to 10"});
    expect_user_error([&] { a.put(before, four); }, {"dist_array put: dimension 0", "-1 to 1", "within 0 to 10"});
    expect_user_error([&] { a.accumulate(backwards, four); }, {"dist_array accumulate: dimension 1", "5 to 4", "within 0 to 8"});
    expect_user_error([&] { a.post_accumulate(outside, four); }, {"dist_array accumulate: dimension 0", "9 to 11"});
    expect_user_error([&] { a.apply(outside, id); }, {"dist_array apply: dimension 0", "9 to 11"});
    expect_user_error([&] { static_cast<void>(a.get_above(outside, 0, four)); }, {"dist_array get_above: dimension 0", "9 to 11"});
    expect_user_error([&] { a.get(three, four); }, {"dist_array get: 4 elements of memory for a rectangle of 3", "as many"});
    expect_user_error([&] { a.put(three, four); }, {"dist_array put: 4 elements", "as many"});
    expect_user_error([&] { a.accumulate(three, four); }, {"dist_array accumulate: 4 elements", "as many"});
    expect_user_error([&] { static_cast<void>(a.get_above({{0, 0}, {2, 2}}, std::nan(""), four)); },
                      {"threshold is nan", "a number"});
    expect_user_error([&] { a.apply(three, array::function_id{1}); }, {"function 1 of 1", "register_function()"});
    // Never read: it is refused for its length.
    const std::span<const std::byte> huge(reinterpret_cast<const std::byte*>(four.data()), std::size_t{1} << 30);
    expect_user_error([&] { a.apply(three, id, huge); }, {"an argument of 1073741824 bytes", "less than"});
    expect_user_error([&] { static_cast<void>(a.own_tile(-1)); }, {"tile -1", "none", "allowed: tiles of rank"});
    if (world().size() > 1) {
        std::int64_t another = 0;
        while (a.layout().owner(another) == world().rank()) ++another;
        expect_user_error([&] { static_cast<void>(a.own_tile(another)); }, {"tile " + std::to_string(another), "rank "});
    }
    const std::vector<place<2>> inside_and_not{{3, 3}, {2, 8}};
    std::vector<double> two(2, 1.0);
    expect_user_error([&] { a.get_elements(inside_and_not, two); }, {"get_elements: index 8 of dimension 1", "0 to 7"});
    expect_user_error([&] { a.put_elements(inside_and_not, two); }, {"put_elements: index 8 of dimension 1", "0 to 7"});
    expect_user_error([&] { a.add_elements(inside_and_not, two); }, {"add_elements: index 8 of dimension 1", "0 to 7"});
    expect_user_error([&] { static_cast<void>(a.fetch_add({-1, 0}, 1.0)); }, {"fetch_add: index -1 of dimension 0", "0 to 9"});
    expect_user_error([&] { a.add_elements(std::span(inside_and_not).first(1), two); },
                      {"add_elements: 2 elements of memory", "as many"});
    a.sync();
    EXPECT_EQ(whole_of(a), std::vector<double>(80, 0.0));
}

TEST_P(dist_array_test, refuses_arrays_that_do_not_fit) {
    dist_array<double, 2> a(world(), layout_of({10, 8}, world().size()));
    dist_array<double, 2> cut_otherwise(world(), tile_layout<2>::block_cyclic({10, 8}, {2, 2}, {1, world().size()}));
    dist_array<double, 2> larger(world(), layout_of({10, 9}, world().size()));
    runtime::world second(comm::communicator::world(), runtime::world_options{GetParam()});
    dist_array<double, 2> elsewhere(second, layout_of({10, 8}, second.size()));
    expect_user_error([&] { a.copy(cut_otherwise); }, {"dist_array copy", "layout is another", "the same"});
    expect_user_error([&] { static_cast<void>(a.dot(cut_otherwise)); }, {"dist_array dot", "layout is another"});
    expect_user_error([&] { static_cast<void>(a.dot(elsewhere)); }, {"dist_array dot", "another world"});
    expect_user_error([&] { a.add(1, a, 1, larger); }, {"dist_array add", "layout is another"});
    expect_user_error([&] { a.copy(elsewhere); }, {"dist_array copy", "another world"});
    expect_user_error([&] { a.redistribute_to(larger); }, {"redistribute_to", "extents are others"});
    expect_user_error([&] { a.redistribute_to(elsewhere); }, {"redistribute_to", "another world"});
    expect_user_error([&] { a.redistribute_to(a); }, {"redistribute_to: into the array itself", "another array"});
    expect_user_error([&] { a.transpose_to(cut_otherwise); }, {"transpose_to", "the transpose's"});
    expect_user_error([&] { a.transpose_to(elsewhere); }, {"transpose_to", "another world"});
    dist_array<double, 2> square(world(), layout_of({9, 9}, world().size()));
    expect_user_error([&] { square.transpose_to(square); }, {"transpose_to: into the array itself"});
    expect_user_error([&] { static_cast<void>(a.trace()); }, {"trace: 10 rows and 8 columns", "as many"});
    a.sync();
    second.quiesce();
}

} // namespace

} // namespace dist_array_tests
