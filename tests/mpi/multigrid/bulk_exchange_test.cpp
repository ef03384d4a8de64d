#include "../deliveries.hpp"

#include "bulk_exchange.hpp"

#include <craton/array/block_grid.hpp>
#include <craton/array/box_layout.hpp>
#include <craton/array/halo_exchange.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using namespace craton;

class bulk_exchange_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(bulk_exchange_test);

constexpr std::int64_t ghost = 2;

// Every element of every box, ghosts too.
template <class What> void for_each_element(const array::block_view<double>& view, const What& what) {
    for (std::int64_t k = -ghost; k < view.extents.nx + ghost; ++k) {
        for (std::int64_t j = -ghost; j < view.extents.nx + ghost; ++j) {
            for (std::int64_t i = -ghost; i < view.extents.nx + ghost; ++i) what(i, j, k);
        }
    }
}

TEST_P(bulk_exchange_test, fills_what_copies_from_box_to_box_fill) {
    for (const bool periodic : {false, true}) {
        for (const auto reach : {array::halo_reach::faces, array::halo_reach::edges, array::halo_reach::all}) {
            const array::box_layout layout({{3, 2, 2}, 4, {periodic, false, periodic}, array::box_order::morton}, world().size());
            const array::block_grid<double> grid(world(), layout, 2, ghost);
            array::halo_exchange<double> natural(grid, reach, 2);
            multigrid::bulk_exchange bulk(grid, reach, 2);
            for (int round = 0; round < 3; ++round) { // two buffers take turns
                for (const auto box : layout.blocks_of(world().rank())) {
                    for (int vector = 0; vector < 2; ++vector) {
                        const auto view = grid.view(box, vector);
                        for_each_element(view, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
                            view.at(i, j, k) = static_cast<double>(round + 10 * (i + 20 * (j + 20 * (k + 20 * box))));
                        });
                    }
                }
                world().barrier();
                natural(0);
                bulk(1);
                for (const auto box : layout.blocks_of(world().rank())) {
                    const auto expected = grid.view(box, 0);
                    const auto found = grid.view(box, 1);
                    for_each_element(found, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
                        ASSERT_EQ(found.at(i, j, k), expected.at(i, j, k)) << i << " " << j << " " << k << " of box " << box;
                    });
                }
                world().barrier();
            }
        }
    }
}

} // namespace
