// G^T W G added without being formed, against plain loops in double: every way of computing it, grid, delivery and index order.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/linalg/gram_updater.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace {

using namespace craton;
using array::convergent_matrix;
using array::symmetric_matrix;
using linalg::gram_method;
using linalg::gram_updater;

class gram_updater_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(gram_updater_test);

constexpr std::int64_t extent = 150;

std::vector<std::int64_t> all_indices() {
    std::vector<std::int64_t> indices(extent);
    std::iota(indices.begin(), indices.end(), 0);
    return indices;
}

template <class T> struct datum {
    std::int64_t k = 0;
    std::vector<std::int64_t> indices;
    std::vector<T> panel, weights; // row major
    [[nodiscard]] base::matrix_view<const T> view() const {
        return base::row_major(panel.data(), k, static_cast<std::int64_t>(indices.size()));
    }
};

// Whole numbers, whose products are exact; weights are squares, whose roots are too.
template <class T> datum<T> make_datum(int number) {
    std::mt19937 random(static_cast<unsigned>(31 * number + 5));
    datum<T> d;
    d.k = std::uniform_int_distribution(1, 25)(random);
    d.indices.resize(std::uniform_int_distribution<std::size_t>(1, 120)(random));
    for (auto& i : d.indices) i = std::uniform_int_distribution<std::int64_t>(0, extent - 1)(random);
    if (number % 3 != 0) {
        const std::set<std::int64_t> sorted(d.indices.begin(), d.indices.end());
        d.indices.assign(sorted.begin(), sorted.end());
    }
    d.panel.resize(static_cast<std::size_t>(d.k) * d.indices.size());
    for (auto& v : d.panel) v = static_cast<T>(std::uniform_int_distribution(-3, 3)(random));
    if (number % 2 == 0) {
        for (std::int64_t t = 0; t < d.k; ++t) d.weights.push_back(static_cast<T>(t % 3 * (t % 3)));
    }
    return d;
}

template <class T> void add_reference(std::vector<T>& sum, const datum<T>& d) {
    const std::size_t n = d.indices.size();
    for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) {
            if (d.indices[a] > d.indices[b]) continue;
            double product = 0;
            for (std::int64_t t = 0; t < d.k; ++t) {
                const auto row = static_cast<std::size_t>(t) * n;
                const double weight = d.weights.empty() ? 1.0 : static_cast<double>(d.weights[static_cast<std::size_t>(t)]);
                product += weight * static_cast<double>(d.panel[row + a]) * static_cast<double>(d.panel[row + b]);
            }
            sum[static_cast<std::size_t>(d.indices[a] * extent + d.indices[b])] += static_cast<T>(product);
        }
    }
}

constexpr int data_per_rank = 6;

template <class T> void equals_plain_loops(runtime::world& world, gram_method method) {
    for (int rows = 1; rows <= world.size(); ++rows) {
        if (world.size() % rows != 0) continue;
        for (const std::int64_t block : {7, 32}) {
            convergent_matrix<T> matrix(world, extent, extent, block, block, {rows, world.size() / rows});
            gram_updater<T> gram(matrix);
            std::vector<T> expected(extent * extent, T{});
            for (int number = 0; number < data_per_rank * world.size(); ++number) {
                const auto d = make_datum<T>(number);
                add_reference(expected, d);
                if (number % world.size() != world.rank()) continue;
                const auto report = gram.update(d.view(), d.indices, d.weights, {0, method});
                EXPECT_EQ(report.rank, d.k);
                if (method == gram_method::at_owner && report.targets_at_origin > 0 && report.targets_at_owner == 0) {
                    // Only where every target that gets anything shares this rank's memory.
                    for (const auto i : d.indices) {
                        for (const auto j : d.indices) {
                            ASSERT_TRUE(world.shares_memory_with(matrix.layout().owner(i, j)));
                        }
                    }
                }
            }
            matrix.commit();
            ASSERT_EQ(matrix.read_slice(all_indices(), all_indices()), expected) << rows << " process rows, block " << block;
            world.quiesce();
        }
    }
}

TEST_P(gram_updater_test, float_automatic) { equals_plain_loops<float>(world(), gram_method::automatic); }
TEST_P(gram_updater_test, float_at_origin) { equals_plain_loops<float>(world(), gram_method::at_origin); }
TEST_P(gram_updater_test, float_at_owner) { equals_plain_loops<float>(world(), gram_method::at_owner); }
TEST_P(gram_updater_test, double_automatic) { equals_plain_loops<double>(world(), gram_method::automatic); }
TEST_P(gram_updater_test, double_at_owner) { equals_plain_loops<double>(world(), gram_method::at_owner); }

// The packed storage has the upper triangle of the full one, whatever order the indices have and however often one comes.
template <class T> void symmetric_equals_plain_loops(runtime::world& world, gram_method method) {
    for (int rows = 1; rows <= world.size(); ++rows) {
        if (world.size() % rows != 0) continue;
        for (const std::int64_t block : {7, 16, 150}) {
            if (block == 150 && world.size() > 1) continue; // one block, kept as it is
            symmetric_matrix<T> matrix(world, extent, block, {rows, world.size() / rows});
            gram_updater<T> gram(matrix);
            std::vector<T> expected(extent * extent, T{});
            for (int number = 0; number < data_per_rank * world.size(); ++number) {
                const auto d = make_datum<T>(number);
                add_reference(expected, d);
                if (number % world.size() == world.rank()) gram.update(d.view(), d.indices, d.weights, {0, method});
            }
            matrix.commit();
            const auto found = matrix.read_slice(all_indices(), all_indices());
            for (std::size_t i = 0; i < extent; ++i) {
                for (std::size_t j = i; j < extent; ++j)
                    ASSERT_EQ(found[i * extent + j], expected[i * extent + j]) << i << " " << j;
            }
            world.quiesce();
        }
    }
}

TEST_P(gram_updater_test, symmetric_float_automatic) { symmetric_equals_plain_loops<float>(world(), gram_method::automatic); }
TEST_P(gram_updater_test, symmetric_double_at_origin) { symmetric_equals_plain_loops<double>(world(), gram_method::at_origin); }
TEST_P(gram_updater_test, symmetric_float_at_owner) { symmetric_equals_plain_loops<float>(world(), gram_method::at_owner); }

TEST_P(gram_updater_test, parts_of_a_symmetric_update_hold_each_element_once) {
    const array::symmetric_packing packing{extent, 16};
    const std::vector<std::int64_t> indices{140, 3, 79, 80, 64, 3, 149, 81};
    std::vector<int> times(static_cast<std::size_t>(packing.packed_rows() * packing.packed_cols()), 0);
    for (const auto& part : array::parts_of_update(packing, indices)) {
        for (std::size_t a = 0; a < part.rows.size(); ++a) {
            for (std::size_t b = 0; b < part.cols.size(); ++b) {
                const bool lower = part.taken.which == array::trapezoid::side::lower;
                const auto edge = part.cols[b] + part.taken.offset;
                if (lower ? part.rows[a] < edge : part.rows[a] > edge) continue;
                const auto i = indices[static_cast<std::size_t>(part.row_positions[a])];
                const auto j = indices[static_cast<std::size_t>(part.col_positions[b])];
                const auto place = packing.of(std::min(i, j), std::max(i, j));
                ASSERT_EQ(place.row, part.rows[a]);
                ASSERT_EQ(place.col, part.cols[b]);
                ++times[static_cast<std::size_t>(place.row * packing.packed_cols() + place.col)];
            }
        }
    }
    for (const auto i : indices) {
        for (const auto j : indices) {
            const auto place = packing.of(std::min(i, j), std::max(i, j));
            int wanted = 0; // as a full matrix takes elements on or above the diagonal
            for (const auto a : indices) {
                for (const auto b : indices) wanted += a == std::min(i, j) && b == std::max(i, j) ? 1 : 0;
            }
            EXPECT_EQ(times[static_cast<std::size_t>(place.row * packing.packed_cols() + place.col)], wanted) << i << " " << j;
        }
    }
}

TEST_P(gram_updater_test, stacked_panels_count_as_one) {
    convergent_matrix<double> matrix(world(), extent, extent, 16, 16);
    gram_updater<double> gram(matrix);
    auto a = make_datum<double>(1);
    auto b = a;
    for (auto& v : b.panel) v = 2 - v;
    b.weights.assign(static_cast<std::size_t>(b.k), 4.0);
    const std::vector<linalg::weighted_panel<double>> panels{{a.view(), a.weights}, {b.view(), b.weights}};
    const auto report = gram.update(panels, a.indices);
    EXPECT_EQ(report.samples, a.k + b.k);
    matrix.commit();
    std::vector<double> expected(extent * extent, 0.0);
    for (int rank = 0; rank < world().size(); ++rank) {
        add_reference(expected, a);
        add_reference(expected, b);
    }
    EXPECT_EQ(matrix.read_slice(all_indices(), all_indices()), expected);
    world().quiesce();
}

// A panel of rank 6 in 40 samples, with a little noise below the tolerance.
TEST_P(gram_updater_test, compression_loses_no_more_than_it_may) {
    constexpr std::int64_t k = 40, n = 120, rank = 6;
    std::mt19937 random(12);
    std::normal_distribution<double> normal;
    std::vector<double> left(k * rank), right(rank * n), panel(k * n);
    for (auto& v : left) v = normal(random);
    for (auto& v : right) v = normal(random);
    for (std::size_t t = 0; t < k; ++t) {
        for (std::size_t b = 0; b < n; ++b) {
            for (std::size_t r = 0; r < rank; ++r) panel[t * n + b] += left[t * rank + r] * right[r * n + b];
            panel[t * n + b] += 1e-6 * normal(random);
        }
    }
    std::vector<std::int64_t> indices(n);
    std::iota(indices.begin(), indices.end(), 11);
    convergent_matrix<double> exact(world(), extent, extent, 16, 16);
    convergent_matrix<double> compressed(world(), extent, extent, 16, 16);
    gram_updater<double> gram_exact(exact);
    gram_updater<double> gram_compressed(compressed);
    for (const double tolerance : {1e-10, 1e-4}) {
        exact.reset();
        compressed.reset();
        if (world().rank() == 0) {
            gram_exact.update(base::row_major<const double>(panel.data(), k, n), indices);
            const auto report =
                gram_compressed.update(base::row_major<const double>(panel.data(), k, n), indices, {}, {tolerance, {}, true});
            EXPECT_EQ(report.samples, k);
            EXPECT_GE(report.rank, rank);
            EXPECT_LE(report.rank, rank + 2);
        }
        exact.commit();
        compressed.commit();
        const auto a = exact.diagonal();
        const auto b = compressed.diagonal();
        const double trace = std::accumulate(a.begin(), a.end(), 0.0);
        EXPECT_LE(trace - std::accumulate(b.begin(), b.end(), 0.0), tolerance * trace);
        EXPECT_GE(trace - std::accumulate(b.begin(), b.end(), 0.0), -1e-12 * trace);
        const auto whole = exact.read_slice(all_indices(), all_indices());
        const auto approximate = compressed.read_slice(all_indices(), all_indices());
        double largest = 0;
        for (std::size_t e = 0; e < whole.size(); ++e) largest = std::max(largest, std::abs(whole[e] - approximate[e]));
        EXPECT_LE(largest, tolerance * trace); // an element is no larger than the trace norm
        world().quiesce();
    }
}

// Three panels of ranks 3, 5 and 3 are 11 rows, although the last spans what the first does: what they have in common is not looked
// for.
TEST_P(gram_updater_test, stacked_panels_are_compressed_each_by_itself) {
    constexpr std::int64_t k = 30, n = 90;
    std::mt19937 random(21);
    std::normal_distribution<double> normal;
    const auto of_rank = [&](std::size_t rank) {
        std::vector<double> panel(k * n);
        for (std::size_t r = 0; r < rank; ++r) {
            std::vector<double> row(n);
            for (auto& v : row) v = normal(random);
            for (std::size_t t = 0; t < k; ++t) {
                const double factor = normal(random);
                for (std::size_t b = 0; b < n; ++b) panel[t * n + b] += factor * row[b];
            }
        }
        return panel;
    };
    const auto three = of_rank(3);
    const auto five = of_rank(5);
    std::vector<double> weights(k);
    for (auto& w : weights) w = 1 + std::abs(normal(random));
    const auto view = [](const std::vector<double>& panel) { return base::row_major<const double>(panel.data(), k, n); };
    const std::vector<linalg::weighted_panel<double>> panels{{view(three), weights}, {view(five), {}}, {view(three), {}}};
    std::vector<std::int64_t> indices(n);
    std::iota(indices.begin(), indices.end(), 4);
    convergent_matrix<double> exact(world(), extent, extent, 16, 16);
    convergent_matrix<double> compressed(world(), extent, extent, 16, 16);
    gram_updater<double> gram_exact(exact);
    gram_updater<double> gram_compressed(compressed);
    gram_exact.update(panels, indices);
    const auto report = gram_compressed.update(panels, indices, {1e-12, {}, true});
    EXPECT_EQ(report.samples, 3 * k);
    EXPECT_EQ(report.rank, 3 + 5 + 3);
    EXPECT_GT(report.multiply_s, 0.0);
    exact.commit();
    compressed.commit();
    const auto a = exact.read_slice(all_indices(), all_indices());
    const auto b = compressed.read_slice(all_indices(), all_indices());
    double trace = 0;
    for (const double value : exact.diagonal()) trace += value;
    for (std::size_t e = 0; e < a.size(); ++e) ASSERT_NEAR(a[e], b[e], 1e-11 * trace);
    world().quiesce();
}

TEST_P(gram_updater_test, kronecker_panels_are_not_expanded) {
    constexpr std::int64_t n_radial = 5, k = 7;
    const std::vector<double> lateral{1, -2, 3, 4};
    std::vector<double> radial(k * n_radial);
    for (std::size_t e = 0; e < radial.size(); ++e) radial[e] = static_cast<double>(e * 7 % 11) - 5;
    const std::vector<double> weights{1, 4, 0, 1, 9, 1, 4};
    datum<double> d;
    d.k = k;
    d.weights = weights;
    for (const std::int64_t lateral_knot : {2, 9, 14, 25}) {
        for (std::int64_t i = 0; i < n_radial; ++i) d.indices.push_back(lateral_knot * n_radial + i);
    }
    for (std::size_t t = 0; t < k; ++t) {
        for (const double h : lateral) {
            for (std::size_t i = 0; i < n_radial; ++i) d.panel.push_back(h * radial[t * n_radial + i]);
        }
    }
    for (int rows = 1; rows <= world().size(); ++rows) {
        if (world().size() % rows != 0) continue;
        convergent_matrix<double> matrix(world(), extent, extent, 7, 7, {rows, world().size() / rows});
        gram_updater<double> gram(matrix);
        gram.update_kronecker(lateral, base::row_major<const double>(radial.data(), k, n_radial), d.indices, weights);
        matrix.commit();
        std::vector<double> expected(extent * extent, 0.0);
        for (int rank = 0; rank < world().size(); ++rank) add_reference(expected, d);
        ASSERT_EQ(matrix.read_slice(all_indices(), all_indices()), expected);
        symmetric_matrix<double> half(world(), extent, 7, {rows, world().size() / rows});
        gram_updater<double> gram_of_half(half);
        gram_of_half.update_kronecker(lateral, base::row_major<const double>(radial.data(), k, n_radial), d.indices, weights);
        half.commit();
        convergent_matrix<double> same(world(), extent, extent, 7, 7, {rows, world().size() / rows});
        half.expand(same, false);
        ASSERT_EQ(same.read_slice(all_indices(), all_indices()), expected);
        world().quiesce();
    }
}

// Real numbers: the sums must have the bits of those that rank 0 alone makes in a matrix of its own, in panels of every grid.
TEST_P(gram_updater_test, reproducible_products_have_the_same_bits_on_every_grid) {
    const auto real_datum = [](int number) {
        auto d = make_datum<float>(number);
        std::mt19937 random(static_cast<unsigned>(number));
        for (auto& v : d.panel) v = std::uniform_real_distribution<float>(-1, 1)(random);
        return d;
    };
    constexpr int data = 12;
    // Serial: each element summed over the samples with one rounding per step, then encoded.
    const array::fixed_point encoding(1e4);
    std::vector<std::int64_t> sums(extent * extent, 0);
    for (int number = 0; number < data; ++number) {
        const auto d = real_datum(number);
        const std::size_t n = d.indices.size();
        for (std::size_t a = 0; a < n; ++a) {
            for (std::size_t b = 0; b < n; ++b) {
                if (d.indices[a] > d.indices[b]) continue;
                float product = 0;
                for (std::size_t t = 0; t < static_cast<std::size_t>(d.k); ++t) {
                    const float root = d.weights.empty() ? 1.0F : std::sqrt(d.weights[t]);
                    product = std::fma(root * d.panel[t * n + a], root * d.panel[t * n + b], product);
                }
                sums[static_cast<std::size_t>(d.indices[a] * extent + d.indices[b])] +=
                    encoding.encode(static_cast<double>(product));
            }
        }
    }
#ifdef __FMA__
    const auto expected = sums;
    for (int rows = 1; rows <= world().size(); ++rows) {
        if (world().size() % rows != 0) continue;
        array::reproducible_matrix<float> matrix(world(), extent, extent, 1e4, 7, 7, {rows, world().size() / rows});
        for (int number = world().rank(); number < data; number += world().size()) {
            const auto d = real_datum(number);
            linalg::update_gram<float>(matrix, d.view(), d.indices, d.weights);
        }
        matrix.commit();
        ASSERT_EQ(matrix.sums().read_slice(all_indices(), all_indices()), expected) << rows << " process rows";
        world().quiesce();
    }
#else
    GTEST_SKIP() << "the serial twin fuses multiplication and addition; this processor does not";
#endif
}

// Long lists travel in several pieces, many samples in small ones.
// Fractions that rounding to sixteenths changes: what is added is the rounded product, panel by panel, so the sum is the same in
// any order and by any way.
TEST_P(gram_updater_test, rounded_products_sum_to_the_same_in_any_order) {
    constexpr double quantum = 1.0 / 16;
    for (const gram_method method : {gram_method::at_origin, gram_method::at_owner}) {
        symmetric_matrix<double> matrix(world(), extent, 8);
        gram_updater<double> gram(matrix);
        gram.round_to(quantum);
        std::vector<double> expected(extent * extent, 0.0);
        const int total = data_per_rank * world().size();
        for (int place = 0; place < total; ++place) {
            const int number = method == gram_method::at_origin ? place : total - 1 - place;
            auto d = make_datum<double>(number);
            const std::set<std::int64_t> sorted(d.indices.begin(), d.indices.end());
            d.indices.assign(sorted.begin(), sorted.end()); // twice the same index is added twice, rounded each time
            d.panel.resize(static_cast<std::size_t>(d.k) * d.indices.size());
            d.weights.clear();
            for (double& v : d.panel) v *= 0.15625; // products are multiples of 2^-10 times 25
            std::vector<double> own(extent * extent, 0.0);
            add_reference(own, d);
            for (std::size_t e = 0; e < own.size(); ++e) expected[e] += quantum * std::nearbyint(own[e] / quantum);
            if (number % world().size() == world().rank()) gram.update(d.view(), d.indices, d.weights, {0, method});
        }
        matrix.commit();
        for (const auto i : all_indices()) {
            const std::vector<std::int64_t> row{i};
            const auto found = matrix.read_slice(row, all_indices());
            for (std::int64_t j = i; j < extent; ++j) {
                ASSERT_EQ(found[static_cast<std::size_t>(j)], expected[static_cast<std::size_t>(i * extent + j)]) << i << ' ' << j;
            }
        }
        world().quiesce();
    }
}

TEST_P(gram_updater_test, shipped_panels_are_cut_into_pieces) {
    constexpr std::int64_t k = 17'000, n = 140;
    datum<double> d;
    d.k = k;
    for (std::int64_t b = 0; b < n; ++b) d.indices.push_back(b + 5);
    d.panel.resize(k * n);
    static_assert(n % 7 == 0); // all rows are alike
    for (std::size_t e = 0; e < d.panel.size(); ++e) d.panel[e] = static_cast<double>(e % 7) - 3;
    convergent_matrix<double> matrix(world(), extent, extent, 75 / world().size(), 75 / world().size());
    gram_updater<double> gram(matrix);
    if (world().rank() == 0) gram.update(d.view(), d.indices, {}, {0, gram_method::at_owner});
    matrix.commit();
    if (world().rank() == world().size() - 1) {
        datum<double> row = d;
        row.k = 1;
        row.panel.resize(n);
        std::vector<double> expected(extent * extent, 0.0);
        add_reference(expected, row);
        for (double& value : expected) value *= k;
        EXPECT_EQ(matrix.read_slice(all_indices(), all_indices()), expected);
    }
    world().quiesce();
}

TEST_P(gram_updater_test, threads_may_update_at_once) {
    convergent_matrix<double> matrix(world(), extent, extent, 16, 16);
    gram_updater<double> gram(matrix);
    {
        std::vector<std::jthread> team;
        for (int thread = 0; thread < 3; ++thread) {
            team.emplace_back([&, thread] {
                for (int number = 0; number < 5; ++number) {
                    const auto d = make_datum<double>(thread * 5 + number);
                    gram.update(d.view(), d.indices, d.weights,
                                {0, number % 2 == 0 ? gram_method::at_owner : gram_method::at_origin});
                }
            });
        }
    }
    matrix.commit();
    std::vector<double> expected(extent * extent, 0.0);
    for (int number = 0; number < 15; ++number) {
        for (int rank = 0; rank < world().size(); ++rank) add_reference(expected, make_datum<double>(number));
    }
    EXPECT_EQ(matrix.read_slice(all_indices(), all_indices()), expected);
    world().quiesce();
}

TEST_P(gram_updater_test, explains_itself_and_refuses_what_does_not_fit) {
    using tests::expect_user_error;
    convergent_matrix<float> matrix(world(), extent, extent, 16, 16);
    gram_updater<float> gram(matrix);
    EXPECT_NE(gram.explain(100, 10).find("not asked for (tolerance 0)"), std::string::npos);
    EXPECT_NE(gram.explain(4060, 150, {1e-4, {}}).find("compression to rank 75"), std::string::npos);
    const std::vector<float> panel(6, 1.0F);
    const auto view = base::row_major<const float>(panel.data(), 2, 3);
    const std::vector<std::int64_t> good{1, 2, 3}, two{1, 2}, outside{1, 2, 150};
    const std::vector<float> negative{1.0F, -1.0F}, one{1.0F};
    expect_user_error([&] { gram.update(view, two); }, "the panel is 2 x 3 with 0 weights and 2 indices; allowed");
    expect_user_error([&] { gram.update(view, good, one); }, "with 1 weights and 3 indices; allowed");
    expect_user_error([&] { gram.update(view, good, negative); }, "weights[1] = -1; allowed: finite, 0 or more");
    expect_user_error([&] { gram.update(view, outside); }, "indices[2] = 150 is out of range; allowed: 0 to 149");
    expect_user_error([&] { gram.update(view, good, {}, {1.5, {}}); }, "tolerance = 1.5; allowed: 0 (no compression) to below 1");
    expect_user_error([&] { gram.update_kronecker(one, view, two); }, "1 lateral values, 3 radial columns and 2 indices");
    matrix.commit();
    for (const float v : matrix.local()) ASSERT_EQ(v, 0.0F);
    expect_user_error([&] { gram.round_to(0.5); }, "elements of 4 bytes rounded to multiples of 0.5; allowed: elements of 8 bytes");
    array::reproducible_matrix<float> small(world(), extent, extent, 1.5, 16, 16);
    expect_user_error([&] { linalg::update_gram<float>(small, view, good); }, "elements reach 2.002");
    std::vector<float> spoilt = panel;
    spoilt[0] = std::nanf("");
    expect_user_error([&] { linalg::update_gram<float>(small, base::row_major<const float>(spoilt.data(), 2, 3), good); },
                      "column 0 of the panel has an element that is not finite");
    // Without a bound to keep, what is not finite shows in the matrix, compressed or not.
    gram.update(base::row_major<const float>(spoilt.data(), 2, 3), good, {}, {0.1, {}, true});
    matrix.commit();
    EXPECT_TRUE(std::isnan(matrix.read(1, 1)));
    world().quiesce();
    matrix.reset();
    convergent_matrix<float> least(world(), extent, extent, 16, 16, {}, array::merge<float>::minimum());
    expect_user_error([&] { gram_updater<float> refused(least); }, "does not merge by adding; allowed: square matrices of sums");
    world().barrier();
}

} // namespace
