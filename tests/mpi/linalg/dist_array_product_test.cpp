// Products of arrays in any layouts against plain loops. Whole numbers, so that they are exact in either precision and any order.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "dist_array_reference.hpp"

#include <craton/linalg/dist_array_product.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace craton;
using array::dist_array;
using array::tile_layout;
using linalg::form;
using tests::dense;
using tests::expect_user_error;
using tests::gathered;
using tests::random_source;

class dist_array_product_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(dist_array_product_test);

template <class T> void expect_products(runtime::world& world, std::int64_t m, std::int64_t n, std::int64_t k, unsigned seed) {
    random_source random(seed);
    const auto a = dense::whole_numbers(m, k, seed);
    const auto b = dense::whole_numbers(k, n, seed + 1);
    const auto c = dense::whole_numbers(m, n, seed + 2);
    const auto product = a.times(b);
    for (const form fa : {form::plain, form::transposed}) {
        for (const form fb : {form::plain, form::transposed}) {
            const auto stored_a = fa == form::plain ? a : a.transposed();
            const auto stored_b = fb == form::plain ? b : b.transposed();
            dist_array<T, 2> da(world, tests::any_layout(random, stored_a.rows, stored_a.cols, world.size()));
            dist_array<T, 2> db(world, tests::any_layout(random, stored_b.rows, stored_b.cols, world.size()));
            dist_array<T, 2> dc(world, tests::any_layout(random, m, n, world.size()));
            set_to(da, stored_a);
            set_to(db, stored_b);
            dc.fill(std::numeric_limits<T>::quiet_NaN()); // must not be read
            linalg::product(T{1}, da, fa, db, fb, T{0}, dc);
            ASSERT_EQ(gathered(dc).values, product.values);
            set_to(dc, c);
            linalg::product(T{2}, da, fa, db, fb, T{-3}, dc);
            ASSERT_EQ(gathered(dc).values, product.combined(2, c, -3).values);
            linalg::product(T{-2}, da, fa, db, fb, T{1}, dc);
            ASSERT_EQ(gathered(dc).values, c.combined(-3, c, 0).values);
            ASSERT_EQ(gathered(da).values, stored_a.values);
            ASSERT_EQ(gathered(db).values, stored_b.values);
        }
    }
}

TEST_P(dist_array_product_test, equal_plain_loops_in_any_layouts) {
    expect_products<double>(world(), 45, 52, 37, 1);
    expect_products<double>(world(), 1, 1, 1, 2); // fewer elements than ranks
    expect_products<double>(world(), 2, 130, 3, 3);
    expect_products<float>(world(), 61, 9, 40, 4);
}

TEST_P(dist_array_product_test, equal_plain_loops_over_several_panels) {
    expect_products<double>(world(), 40, 35, 600, 5); // of 256
    expect_products<float>(world(), 300, 7, 300, 6);
}

TEST_P(dist_array_product_test, of_one_array_with_itself) {
    random_source random(9);
    const auto a = dense::whole_numbers(33, 47, 7);
    dist_array<double, 2> da(world(), tests::any_layout(random, 33, 47, world().size()));
    dist_array<double, 2> outer(world(), tile_layout<2>::block_cyclic({33, 33}, {8, 8}, {1, world().size()}));
    dist_array<double, 2> inner(world(), tests::any_layout(random, 47, 47, world().size()));
    set_to(da, a);
    linalg::product(1.0, da, form::plain, da, form::transposed, 0.0, outer);
    linalg::product(1.0, da, form::transposed, da, form::plain, 0.0, inner);
    EXPECT_EQ(gathered(outer).values, a.times(a.transposed()).values);
    EXPECT_EQ(gathered(inner).values, a.transposed().times(a).values);
}

TEST_P(dist_array_product_test, what_was_started_before_counts) {
    const auto layout = tile_layout<2>::block_cyclic({20, 20}, {7, 7}, {world().size(), 1});
    dist_array<double, 2> a(world(), layout), b(world(), layout), c(world(), layout);
    b.for_each_local([](double& element, const array::place<2>& p) { element = p[0] == p[1] ? 1 : 0; });
    const std::vector<double> ones(400, 1.0);
    a.post_accumulate(layout.whole(), std::span<const double>(ones));
    linalg::product(1.0, a, form::plain, b, form::plain, 0.0, c);
    EXPECT_EQ(gathered(c).values, std::vector<double>(400, world().size()));
}

TEST_P(dist_array_product_test, refuse_shapes_worlds_and_results_that_are_factors) {
    const auto layout = [&](std::int64_t rows, std::int64_t cols) {
        return tile_layout<2>::block_cyclic({rows, cols}, {5, 5}, {1, world().size()});
    };
    dist_array<double, 2> a(world(), layout(12, 9)), b(world(), layout(9, 7)), c(world(), layout(12, 7)), d(world(), layout(7, 7));
    const auto multiply = [](auto& x, form fx, auto& y, form fy, auto& z) { linalg::product(1.0, x, fx, y, fy, 0.0, z); };
    expect_user_error([&] { multiply(b, form::plain, a, form::plain, c); },
                      {"product: (9 x 7) times (12 x 9) into (12 x 7)", "allowed: (m x k)"});
    expect_user_error([&] { multiply(a, form::plain, b, form::plain, d); }, "(12 x 9) times (9 x 7) into (7 x 7)");
    expect_user_error([&] { multiply(a, form::transposed, b, form::plain, c); }, "(9 x 12) times (9 x 7)");
    expect_user_error([&] { multiply(d, form::plain, d, form::plain, d); }, "result is one of the factors");
    runtime::world second(comm::communicator::world(), runtime::world_options{GetParam()});
    dist_array<double, 2> elsewhere(second, layout(12, 7));
    expect_user_error([&] { multiply(a, form::plain, b, form::plain, elsewhere); }, "different worlds");
    world().quiesce();
    second.quiesce();
}

} // namespace
