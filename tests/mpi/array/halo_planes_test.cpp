#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/array/block_grid.hpp>
#include <craton/array/brick_layout.hpp>
#include <craton/array/halo_exchange.hpp>
#include <craton/base/thread_team.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace halo_planes_tests {
namespace {

using namespace craton;
using array::block_grid;
using array::brick_layout;
using array::domain;
using array::ghost_planes;
using array::halo_exchange;
using array::index3;

class halo_planes_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(halo_planes_test);

constexpr double untouched = -1.0;

// Different for every cell, and for arrays and rounds near each other; exact in float.
template <class T> T value_of(const index3& cell, int array, int round) {
    return static_cast<T>(cell[0] + 48 * (cell[1] + 48 * cell[2]) + 110592 * (array + 7 * (round % 20)));
}

template <class T, class What> void for_each_cell(const block_grid<T>& grid, int array, const What& what) {
    const auto e = grid.extents();
    const index3 low = grid.cells().low;
    const std::int64_t g = grid.ghost();
    T* const first = grid.origin(array);
    for (std::int64_t k = -g; k < e.nz + g; ++k) {
        for (std::int64_t j = -g; j < e.ny + g; ++j) {
            for (std::int64_t i = -g; i < e.nx + g; ++i) what(index3{low[0] + i, low[1] + j, low[2] + k}, first[e.at(i, j, k)]);
        }
    }
}

// What an array's cells hold, ghosts too, after a round: nothing beyond faces, the depths wanted and the grid.
template <class T>
T expected(const block_grid<T>& grid, const std::vector<ghost_planes>& wanted, int array, const index3& cell, int round) {
    const domain own = grid.cells();
    int off = 0;
    bool filled = grid.layout().grid().contains(cell);
    for (std::size_t d = 0; d < 3; ++d) {
        if (own.low[d] <= cell[d] && cell[d] < own.high[d]) continue;
        ++off;
        bool reached = false;
        for (const auto& each : wanted) {
            if (each.array == array && each.axis == static_cast<int>(d))
                reached = cell[d] >= own.low[d] - each.low && cell[d] < own.high[d] + each.high;
        }
        filled = filled && reached;
    }
    return off == 0 || (off == 1 && filled) ? value_of<T>(cell, array, round) : static_cast<T>(untouched);
}

// Everything that the set's exchange may touch, as it was before the round: own cells new, ghosts gone.
template <class T> void prepare(const block_grid<T>& grid, const std::vector<int>& arrays, int round) {
    const domain own = grid.cells();
    for (const int a : arrays) {
        for_each_cell(grid, a, [&](const index3& cell, T& value) {
            value = own.contains(cell) ? value_of<T>(cell, a, round) : static_cast<T>(untouched);
        });
    }
}

template <class T> void write_own(const block_grid<T>& grid, const std::vector<int>& arrays, int round) {
    const domain own = grid.cells();
    for (const int a : arrays) {
        for_each_cell(grid, a, [&](const index3& cell, T& value) {
            if (own.contains(cell)) value = value_of<T>(cell, a, round);
        });
    }
}

template <class T> void forget_ghosts(const block_grid<T>& grid, const std::vector<int>& arrays) {
    const domain own = grid.cells();
    for (const int a : arrays) {
        for_each_cell(grid, a, [&](const index3& cell, T& value) {
            if (!own.contains(cell)) value = static_cast<T>(untouched);
        });
    }
}

template <class T>
void check(const block_grid<T>& grid, const std::vector<ghost_planes>& wanted, const std::vector<int>& arrays, int round) {
    for (const int a : arrays) {
        for_each_cell(grid, a, [&](const index3& cell, T& value) {
            ASSERT_EQ(value, expected(grid, wanted, a, cell, round))
                << "array " << a << " cell " << cell[0] << " " << cell[1] << " " << cell[2] << " round " << round;
        });
    }
}

const std::vector<int> first_arrays{0, 1, 2};
const std::vector<int> second_arrays{3, 4};

const std::vector<ghost_planes> first_set{{0, 0, 1, 2}, {0, 1, 2, 1}, {0, 2, 2, 1}, {1, 0, 2, 1},
                                          {1, 1, 1, 2}, {2, 2, 2, 2}, {2, 0, 0, 1}};
// One way along x, nothing along z.
const std::vector<ghost_planes> second_set{{3, 0, 2, 0}, {3, 1, 1, 1}, {4, 1, 0, 2}, {4, 2, 0, 0}};

// As a leapfrog does: what reads the ghosts of one set makes the next data of the other.
template <class T>
void takes_turns(runtime::world& world, const brick_layout& layout, int rounds, base::thread_team* team = nullptr) {
    const block_grid<T> grid(world, layout, 6, 2, team);
    halo_exchange<T> first(grid, first_set, {.team = team});
    halo_exchange<T> second(grid, second_set, {.team = team, .turns = first.turns()});
    prepare(grid, first_arrays, 0);
    prepare(grid, second_arrays, 0);
    prepare(grid, {5}, 0); // in no set
    world.barrier();       // ghosts have been written
    for (int round = 0; round < rounds; ++round) {
        auto& now = round % 2 == 0 ? first : second;
        const auto& arrays = round % 2 == 0 ? first_arrays : second_arrays;
        const auto& others = round % 2 == 0 ? second_arrays : first_arrays;
        // A rank that looks late still finds the other set's last round: nobody has gone on to write the next.
        if ((world.rank() + round) % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(150));
        if (round > 0) check(grid, (round % 2 == 0 ? second : first).wanted(), others, round - 1);
        if (round > 0) forget_ghosts(grid, others);
        write_own(grid, arrays, round);
        now.begin();
        now.finish();
    }
    check(grid, {}, {5}, 0);
    world.barrier();
}

std::vector<index3> process_grids(int ranks) {
    std::vector<index3> all;
    for (std::int64_t px = 1; px <= ranks; ++px) {
        for (std::int64_t py = 1; py <= ranks / px; ++py) {
            const std::int64_t pz = ranks / px / py;
            if (px * py * pz == ranks) all.push_back({px, py, pz});
        }
    }
    return all;
}

TEST_P(halo_planes_test, ghosts_are_what_the_neighbours_have_on_every_process_grid) {
    for (const index3& processes : process_grids(world().size())) {
        SCOPED_TRACE(testing::Message() << processes[0] << " x " << processes[1] << " x " << processes[2]);
        const index3 cells{4 * processes[0] + 3, 5 * processes[1] + 1, 4 * processes[2]};
        takes_turns<float>(world(), brick_layout(cells, processes), 8);
        takes_turns<double>(world(), brick_layout(cells, processes), 4);
    }
}

TEST_P(halo_planes_test, many_rounds) {
    const index3 cells{19, 14, 17};
    takes_turns<float>(world(), brick_layout(cells, array::best_process_grid(cells, world().size())), 300);
}

TEST_P(halo_planes_test, ranks_placed_elsewhere) {
    const index3 cells{19, 14, 17};
    const int ranks = world().size();
    std::vector<int> bricks;
    for (int rank = 0; rank < ranks; ++rank) bricks.push_back((2 * ranks - 2 - rank) % ranks);
    takes_turns<float>(world(), brick_layout(cells, array::best_process_grid(cells, ranks), bricks), 12);
}

TEST_P(halo_planes_test, a_team_shares_the_copies) {
    base::thread_team team(3);
    for (const index3& processes : process_grids(world().size())) {
        takes_turns<float>(world(), brick_layout({4 * processes[0] + 1, 4 * processes[1] + 2, 4 * processes[2] + 1}, processes), 12,
                           &team);
    }
}

TEST_P(halo_planes_test, any_depth_in_any_ghost_zone) {
    const index3 cells{13, 17, 16};
    const brick_layout layout(cells, array::best_process_grid(cells, world().size()));
    for (int ghost = 0; ghost <= 4; ++ghost) {
        const block_grid<double> grid(world(), layout, 2, ghost);
        auto turns = std::make_shared<array::halo_turns>();
        for (int low = 0; low <= ghost; ++low) {
            const int high = (low + 2) % (ghost + 1);
            halo_exchange<double> exchange(grid, {{1, 0, low, high}, {1, 1, high, low}, {1, 2, low, low}}, {.turns = turns});
            prepare(grid, {0, 1}, low);
            exchange.fill();
            check(grid, exchange.wanted(), {1}, low);
            check(grid, {}, {0}, low);
        }
    }
}

// fill() may come at any time, twice running too, whoever is late with reading.
TEST_P(halo_planes_test, fill_needs_no_turns) {
    const index3 cells{12, 9, 10};
    const block_grid<float> grid(world(), brick_layout(cells, array::best_process_grid(cells, world().size())), 5, 2);
    halo_exchange<float> first(grid, first_set);
    halo_exchange<float> second(grid, second_set, {.turns = first.turns()});
    for (int round = 0; round < 40; ++round) {
        prepare(grid, first_arrays, round);
        first.fill();
        if ((world().rank() + round) % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(150));
        check(grid, first_set, first_arrays, round);
        if (round % 4 != 0) continue;
        write_own(grid, second_arrays, round);
        forget_ghosts(grid, second_arrays);
        second.fill();
        check(grid, second_set, second_arrays, round);
        write_own(grid, first_arrays, round);
        first.begin(); // as at the start of a run that goes on
        first.finish();
        check(grid, first_set, first_arrays, round);
    }
    world().barrier();
}

TEST_P(halo_planes_test, memory_is_zero_aligned_and_staggered) {
    const index3 cells{61, 40, 36};
    const block_grid<float> grid(world(), brick_layout(cells, array::best_process_grid(cells, world().size())), 40, 2);
    const auto e = grid.extents();
    const auto own = grid.cells();
    EXPECT_EQ((index3{e.nx, e.ny, e.nz}), (index3{own.extent(0), own.extent(1), own.extent(2)}));
    EXPECT_EQ(e.pitch % 16, 0);
    EXPECT_EQ(e.plane % 16, 0);
    EXPECT_GE(e.pitch, e.nx + 4);
    EXPECT_GE(e.plane, e.pitch * (e.ny + 4));
    std::set<std::uintptr_t> places;
    for (int a = 0; a < grid.arrays(); ++a) {
        const auto address = reinterpret_cast<std::uintptr_t>(grid.origin(a));
        EXPECT_EQ(address % 64, 0U);
        places.insert(address % 4096);
        for_each_cell(grid, a, [](const index3&, float& value) { ASSERT_EQ(value, 0.0F); });
        // A line before the first row and behind the last, apart from the next array's.
        EXPECT_EQ(grid.origin(a)[e.at(-2, -2, -2) - 14], 0.0F);
        EXPECT_EQ(grid.origin(a)[e.at(e.nx + 1, e.ny + 1, e.nz + 1) + 16], 0.0F);
        if (a == 0) continue;
        EXPECT_GE(grid.origin(a) + e.at(-16, -2, -2), grid.origin(a - 1) + e.at(e.nx + 1, e.ny + 1, e.nz + 1) + 16);
    }
    EXPECT_EQ(places.size(), 40U);
    EXPECT_GE(grid.bytes_per_rank(world().rank()), 40U * sizeof(float) * static_cast<std::size_t>(e.plane * (e.nz + 4)));
}

TEST_P(halo_planes_test, errors) {
    const index3 cells{12, 12, 12};
    const brick_layout layout(cells, array::best_process_grid(cells, world().size()));
    const brick_layout for_more(cells, array::best_process_grid(cells, 27));
    tests::expect_user_error([&] { block_grid<float>(world(), for_more, 1, 2); }, "the layout is for 27 ranks");
    tests::expect_user_error([&] { block_grid<float>(world(), layout, 0, 2); }, "0 arrays; allowed: at least 1");
    tests::expect_user_error([&] { block_grid<float>(world(), layout, 1, 5); }, "5 ghost cells on each side of blocks of");
    tests::expect_user_error([&] { block_grid<float>(world(), layout, 1, -1); }, "-1 ghost cells");
    const block_grid<float> grid(world(), layout, 2, 2);
    const auto asking = [&](std::vector<ghost_planes> wanted) { return [&grid, wanted] { halo_exchange<float>(grid, wanted); }; };
    tests::expect_user_error(asking({{2, 0, 1, 1}}), {"array 2", "array 0 to 1"});
    tests::expect_user_error(asking({{0, 3, 1, 1}}), {"axis 3", "axis 0 to 2"});
    tests::expect_user_error(asking({{0, 0, 3, 1}}), {"3 planes below", "0 to 2 planes"});
    tests::expect_user_error(asking({{0, 0, 1, -1}}), {"-1 above"});
    tests::expect_user_error(asking({{0, 1, 1, 1}, {1, 1, 1, 1}, {0, 1, 2, 2}}), {"axis 1 of array 0 is given twice"});
    if (world().size() > 1) {
        tests::expect_user_error(asking({{0, 0, 1, world().rank() == 1 ? 2 : 1}}), {"rank 1 wants", "but rank 0"});
    }
    halo_exchange<float> fine(grid, {{0, 0, 1, 1}}); // still possible
    fine.fill();
}

} // namespace

} // namespace halo_planes_tests
