#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/array/block_grid.hpp>
#include <craton/array/box_layout.hpp>
#include <craton/array/halo_exchange.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>

namespace halo_exchange_tests {
namespace {

using namespace craton;
using array::block_grid;
using array::box_layout;
using array::box_order;
using array::domain;
using array::exchange_step;
using array::halo_exchange;
using array::halo_reach;
using array::index3;

class halo_exchange_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(halo_exchange_test);

constexpr double untouched = -1.0;

// Different for every cell and round of a grid, the same for a cell and its periodic images.
template <class T> T value_of(const domain& grid, index3 cell, int round) {
    for (std::size_t d = 0; d < 3; ++d) cell[d] = (cell[d] % grid.extent(d) + grid.extent(d)) % grid.extent(d);
    return static_cast<T>(1 + cell[0] + 50 * (cell[1] + 50 * cell[2]) + 125000 * round);
}

template <class T, class What> void for_each_cell(const block_grid<T>& grid, std::int64_t box, int vector, const What& what) {
    const auto view = grid.view(box, vector);
    const index3 low = grid.layout().cells(box).low;
    const std::int64_t g = grid.ghost();
    for (std::int64_t k = -g; k < view.extents.nx + g; ++k) {
        for (std::int64_t j = -g; j < view.extents.nx + g; ++j) {
            for (std::int64_t i = -g; i < view.extents.nx + g; ++i)
                what(index3{low[0] + i, low[1] + j, low[2] + k}, view.at(i, j, k));
        }
    }
}

template <class T>
void fills_halos(runtime::world& world, const box_layout::shape& shape, int ghost, halo_reach reach, std::int64_t depth,
                 exchange_step step) {
    const box_layout layout(shape, world.size());
    const block_grid<T> grid(world, layout, 3, ghost);
    halo_exchange<T> exchange(grid, reach, depth, {.step = step});
    const domain all = layout.grid();
    const std::int64_t most_off = reach == halo_reach::faces ? 1 : reach == halo_reach::edges ? 2 : 3;
    for (const auto box : layout.blocks_of(world.rank())) {
        for (int v = 0; v < 3; ++v) {
            for_each_cell(grid, box, v, [&](const index3&, T& value) { value = static_cast<T>(untouched); });
        }
    }
    world.barrier();                                           // the filling above is no part of the protocol
    constexpr std::array<int, 7> vectors{0, 1, 0, 0, 1, 1, 0}; // now in turn, now twice the same; vector 2 stays untouched
    for (int round = 0; round < std::ssize(vectors); ++round) {
        const int vector = vectors[static_cast<std::size_t>(round)];
        for (const auto box : layout.blocks_of(world.rank())) {
            const domain own = layout.cells(box);
            for_each_cell(grid, box, vector, [&](const index3& cell, T& value) {
                if (own.contains(cell)) value = value_of<T>(all, cell, round);
            });
        }
        exchange(vector);
        // A rank that looks late must still find this round's values: nobody may have gone on to write the next.
        if ((world.rank() + round) % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        for (const auto box : layout.blocks_of(world.rank())) {
            const domain own = layout.cells(box);
            for_each_cell(grid, box, vector, [&](const index3& cell, T& value) {
                std::int64_t off = 0;
                bool beyond = false; // outside the grid where it does not go round, or deeper than asked
                for (std::size_t d = 0; d < 3; ++d) {
                    const bool out = cell[d] < own.low[d] || cell[d] >= own.high[d];
                    off += out ? 1 : 0;
                    beyond = beyond || cell[d] < own.low[d] - depth || cell[d] >= own.high[d] + depth;
                    beyond = beyond || (!shape.periodic[d] && (cell[d] < all.low[d] || cell[d] >= all.high[d]));
                }
                const T expected = beyond || off > most_off ? static_cast<T>(untouched) : value_of<T>(all, cell, round);
                ASSERT_EQ(value, expected) << "cell " << cell[0] << " " << cell[1] << " " << cell[2] << " of box " << box
                                           << ", round " << round;
            });
            for_each_cell(grid, box, 2, [&](const index3&, T& value) { ASSERT_EQ(value, static_cast<T>(untouched)); });
        }
    }
    world.barrier();
}

constexpr exchange_step every_step[] = {exchange_step::small_copies, exchange_step::local_loops, exchange_step::strided,
                                        exchange_step::neighbours, exchange_step::one_wait};

TEST_P(halo_exchange_test, every_step_of_the_ladder_fills_the_same_halos) {
    for (const auto step : every_step) {
        SCOPED_TRACE("step " + std::to_string(static_cast<int>(step)));
        fills_halos<double>(world(), {{2, 2, 2}, 4, {}, box_order::morton}, 2, halo_reach::all, 2, step);
        fills_halos<double>(world(), {{2, 1, 3}, 3, {true, true, true}, box_order::lexicographic}, 1, halo_reach::faces, 1, step);
    }
}

TEST_P(halo_exchange_test, every_reach_depth_order_and_boundary) {
    for (const auto reach : {halo_reach::faces, halo_reach::edges, halo_reach::all}) {
        for (std::int64_t depth = 1; depth <= 4; ++depth) {
            SCOPED_TRACE("reach " + std::to_string(static_cast<int>(reach)) + ", depth " + std::to_string(depth));
            fills_halos<double>(world(), {{3, 2, 2}, 5, {false, true, false}, box_order::hilbert}, 4, reach, depth,
                                exchange_step::one_wait);
            fills_halos<float>(world(), {{1, 2, 2}, 4, {true, false, true}, box_order::morton}, 4, reach, depth,
                               exchange_step::one_wait);
        }
    }
}

TEST_P(halo_exchange_test, more_ranks_than_boxes) {
    fills_halos<double>(world(), {{1, 1, 1}, 2, {true, true, true}, box_order::morton}, 1, halo_reach::all, 1,
                        exchange_step::one_wait);
    fills_halos<double>(world(), {{2, 1, 1}, 1, {}, box_order::morton}, 1, halo_reach::all, 1, exchange_step::one_wait);
}

// What is read through several exchanges of other vectors, on two grids that share their turns.
TEST_P(halo_exchange_test, a_kept_halo_stays_until_all_have_read_it) {
    const auto turns = std::make_shared<array::halo_turns>();
    const box_layout layout({{4, 2, 1}, 3, {true, false, false}, box_order::morton}, world().size());
    const block_grid<double> grid(world(), layout, 2, 1), other(world(), layout, 1, 1);
    halo_exchange<double> exchange(grid, halo_reach::faces, 1, {.turns = turns});
    halo_exchange<double> exchange_other(other, halo_reach::all, 1, {.turns = turns});
    const auto set = [&](const block_grid<double>& of, int vector, double value) {
        for (const auto box : layout.blocks_of(world().rank())) {
            for_each_cell(of, box, vector, [&](const index3& cell, double& at) {
                if (layout.cells(box).contains(cell)) at = value;
            });
        }
    };
    const auto expect = [&](const block_grid<double>& of, int vector, double value) {
        for (const auto box : layout.blocks_of(world().rank())) ASSERT_EQ(of.view(box, vector).at(-1, 1, 1), value);
    };
    world().barrier();
    for (int round = 1; round <= 20; ++round) {
        set(grid, 0, round);
        exchange(0, array::halo_use::kept);
        for (int step = 0; step < 3; ++step) {
            set(grid, 1, 100 * round + step);
            exchange(1);
            expect(grid, 1, 100 * round + step);
            set(other, 0, 200 * round + step);
            exchange_other(0);
            if ((world().rank() + round) % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
            expect(other, 0, 200 * round + step);
            expect(grid, 0, round);
        }
        if (world().rank() == round % world().size()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        expect(grid, 0, round);
    }
    world().barrier();
}

TEST_P(halo_exchange_test, rows_begin_on_cache_lines) {
    const box_layout layout({{2, 2, 1}, 6, {}, box_order::morton}, world().size());
    const block_grid<double> grid(world(), layout, 4, 2);
    for (const auto box : layout.blocks_of(world().rank())) {
        for (int v = 0; v < 4; ++v) {
            for (std::int64_t k = 0; k < 6; ++k) {
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&grid.view(box, v).at(0, 1, k)) % 64, 0U); // the address
            }
        }
    }
    world().barrier();
}

TEST_P(halo_exchange_test, refuses_what_makes_no_sense) {
    using tests::expect_user_error;
    const box_layout layout({{2, 1, 1}, 3, {}, box_order::morton}, world().size());
    expect_user_error([&] { block_grid<double>(world(), layout, 1, 4); }, {"4 ghost cells", "blocks of 3 cells"});
    expect_user_error([&] { block_grid<double>(world(), layout, 0, 1); }, {"0 arrays"});
    const box_layout other({{2, 1, 1}, 3, {}, box_order::morton}, world().size() + 1);
    expect_user_error([&] { block_grid<double>(world(), other, 1, 1); }, {"the layout is for"});
    const block_grid<double> grid(world(), layout, 1, 1);
    expect_user_error([&] { halo_exchange<double>(grid, halo_reach::all, 2); }, {"depth 2", "1 to the ghost zone's 1"});
    expect_user_error([] { static_cast<void>(array::exchange_step_named("fast")); }, {"'fast'", "one-wait"});
    world().barrier();
}

} // namespace

} // namespace halo_exchange_tests
