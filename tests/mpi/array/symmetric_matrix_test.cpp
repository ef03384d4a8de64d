// Upper-only storage against a serial reference that keeps the whole square. Values are small integers, so that sums are exact in
// any order and equality can be demanded.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/array/symmetric_matrix.hpp>
#include <craton/base/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace symmetric_matrix_tests {
namespace {

using namespace craton;
using array::convergent_matrix;
using array::process_grid;
using array::symmetric_matrix;
using tests::expect_user_error;

class symmetric_matrix_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(symmetric_matrix_test);

std::vector<process_grid> all_grids(int ranks) {
    std::vector<process_grid> grids;
    for (int r = 1; r <= ranks; ++r) {
        if (ranks % r == 0) grids.push_back({r, ranks / r});
    }
    return grids;
}

std::vector<std::int64_t> all_indices(std::int64_t extent) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(extent));
    std::iota(indices.begin(), indices.end(), 0);
    return indices;
}

struct sizes {
    std::int64_t order, block;
};

// One block, less than one, odd and even numbers of blocks, whole and partial last blocks, blocks of one.
constexpr sizes many_sizes[] = {{1, 1},  {2, 1},  {5, 8},  {8, 8},  {9, 8},  {16, 8}, {17, 8},   {23, 8},
                                {24, 8}, {25, 8}, {41, 8}, {37, 1}, {40, 7}, {63, 7}, {100, 64}, {150, 64}};

// Does each of the grid's processes own a part of the packed array?
bool deals_to_all(const sizes& s, process_grid grid) {
    const array::symmetric_packing packing{s.order, s.block};
    return grid.rows * s.block < packing.packed_rows() + s.block && grid.cols * s.block < packing.packed_cols() + s.block;
}

struct random_update {
    std::vector<std::int64_t> rows, cols;
    std::vector<float> block; // row major
};

enum class kind { sorted, shuffled, repeated };

random_update make_update(int rank, int n, std::int64_t extent, bool symmetric) {
    std::mt19937 random(static_cast<unsigned>(1000 * rank + n));
    const auto list = [&](kind k) {
        std::vector<std::int64_t> indices = all_indices(extent);
        std::ranges::shuffle(indices, random);
        indices.resize(std::min(indices.size(), static_cast<std::size_t>(std::uniform_int_distribution(1, 30)(random))));
        if (k == kind::sorted) std::ranges::sort(indices);
        if (k == kind::repeated)
            indices.insert(indices.end(), indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>((indices.size() + 1) / 2));
        return indices;
    };
    random_update u{list(static_cast<kind>(n % 3)), {}, {}};
    u.cols = symmetric ? u.rows : list(static_cast<kind>((n / 3) % 3));
    const std::size_t width = u.cols.size();
    u.block.resize(u.rows.size() * width);
    for (std::size_t a = 0; a < u.rows.size(); ++a) {
        for (std::size_t b = 0; b < width; ++b) {
            u.block[a * width + b] =
                symmetric && b < a ? u.block[b * width + a] : static_cast<float>(std::uniform_int_distribution(-5, 5)(random));
        }
    }
    return u;
}

// The whole square; only elements on and above the diagonal are added, then mirrored.
class reference {
  public:
    explicit reference(std::int64_t order) : order_(order), values_(static_cast<std::size_t>(order * order), 0.0F) {}
    void add(const random_update& u) {
        for (std::size_t a = 0; a < u.rows.size(); ++a) {
            for (std::size_t b = 0; b < u.cols.size(); ++b) {
                const std::int64_t i = u.rows[a];
                const std::int64_t j = u.cols[b];
                if (i > j) continue;
                values_[static_cast<std::size_t>(i * order_ + j)] += u.block[a * u.cols.size() + b];
                if (i != j) values_[static_cast<std::size_t>(j * order_ + i)] += u.block[a * u.cols.size() + b];
            }
        }
    }
    [[nodiscard]] float operator()(std::int64_t i, std::int64_t j) const {
        return values_[static_cast<std::size_t>(i * order_ + j)];
    }

  private:
    std::int64_t order_;
    std::vector<float> values_;
};

void expect_equal(const symmetric_matrix<float>& matrix, const reference& expected) {
    const auto all = all_indices(matrix.order());
    const auto values = matrix.read_slice(all, all);
    for (std::int64_t i = 0; i < matrix.order(); ++i) {
        for (std::int64_t j = 0; j < matrix.order(); ++j) {
            ASSERT_EQ(values[static_cast<std::size_t>(i * matrix.order() + j)], expected(i, j))
                << "element " << i << ", " << j << " of order " << matrix.order();
        }
    }
}

void apply(symmetric_matrix<float>& matrix, const random_update& u, bool symmetric, int n) {
    const auto rows = static_cast<std::int64_t>(u.rows.size());
    const auto cols = static_cast<std::int64_t>(u.cols.size());
    if (symmetric) {
        // Row major and column major mean the same for a symmetric block.
        matrix.update_symmetric(n % 2 == 0 ? base::row_major<const float>(u.block.data(), rows, rows)
                                           : base::column_major<const float>(u.block.data(), rows, rows, rows),
                                u.rows);
    } else {
        matrix.update(base::row_major<const float>(u.block.data(), rows, cols), u.rows, u.cols);
    }
}

// Every rank can make every rank's updates: the reference needs no communication.
reference add_random_updates(symmetric_matrix<float>& matrix) {
    reference expected(matrix.order());
    auto& world = matrix.ranks();
    for (int rank = 0; rank < world.size(); ++rank) {
        for (int n = 0; n < 18; ++n) {
            const bool symmetric = n >= 9;
            const auto u = make_update(rank, n, matrix.order(), symmetric);
            expected.add(u);
            if (rank == world.rank()) apply(matrix, u, symmetric, n);
        }
    }
    matrix.commit();
    return expected;
}

TEST_P(symmetric_matrix_test, equals_the_serial_reference_for_every_size_on_every_grid) {
    for (const auto& s : many_sizes) {
        for (const auto grid : all_grids(world().size())) {
            if (!deals_to_all(s, grid)) {
                EXPECT_THROW(symmetric_matrix<float>(world(), s.order, s.block, grid), user_error);
                continue;
            }
            symmetric_matrix<float> matrix(world(), s.order, s.block, grid);
            expect_equal(matrix, add_random_updates(matrix));
            world().quiesce(); // a rank may still be reading from this one
        }
    }
}

TEST_P(symmetric_matrix_test, every_element_has_a_place_of_its_own_in_half_the_memory) {
    for (const auto& s : many_sizes) {
        const array::symmetric_packing packing{s.order, s.block};
        std::vector<int> taken(static_cast<std::size_t>(packing.packed_rows() * packing.packed_cols()), 0);
        for (std::int64_t j = 0; j < s.order; ++j) {
            for (std::int64_t i = 0; i <= j; ++i) {
                const auto at = packing.of(i, j);
                ASSERT_TRUE(at.row >= 0 && at.row < packing.packed_rows() && at.col >= 0 && at.col < packing.packed_cols());
                ASSERT_EQ(taken[static_cast<std::size_t>(at.row * packing.packed_cols() + at.col)]++, 0);
            }
        }
        if (s.order > s.block) {
            EXPECT_LE(packing.packed_rows() * packing.packed_cols(), (s.order + s.block) * (s.order + 2 * s.block) / 2);
        }
        EXPECT_EQ(packing.first() % s.block, 0);
        EXPECT_EQ(packing.first_row() % s.block, 0);
    }
}

TEST_P(symmetric_matrix_test, reads_slices_of_either_triangle_and_single_elements) {
    symmetric_matrix<float> matrix(world(), 45, 4);
    const auto expected = add_random_updates(matrix);
    const std::vector<std::int64_t> rows{44, 3, 3, 17, 0, 30, 21};
    const std::vector<std::int64_t> cols{2, 44, 20, 21, 19, 3};
    const auto values = matrix.read_slice(rows, cols);
    for (std::size_t a = 0; a < rows.size(); ++a) {
        for (std::size_t b = 0; b < cols.size(); ++b) {
            ASSERT_EQ(values[a * cols.size() + b], expected(rows[a], cols[b]));
            ASSERT_EQ(matrix.read(rows[a], cols[b]), expected(rows[a], cols[b]));
        }
    }
    EXPECT_TRUE(matrix.read_slice({}, cols).empty());
    world().quiesce();
}

TEST_P(symmetric_matrix_test, diagonal_scale_and_reset) {
    symmetric_matrix<float> matrix(world(), 53, 4);
    const auto expected = add_random_updates(matrix);
    matrix.scale(-2.0F);
    const auto diagonal = matrix.diagonal();
    ASSERT_EQ(diagonal.size(), 53U);
    for (std::int64_t i = 0; i < 53; ++i)
        ASSERT_EQ(diagonal[static_cast<std::size_t>(i)], -2.0 * static_cast<double>(expected(i, i)));
    EXPECT_EQ(matrix.read(50, 7), -2.0F * expected(7, 50));
    world().quiesce();
    matrix.reset();
    for (const double d : matrix.diagonal()) ASSERT_EQ(d, 0.0);
    world().quiesce();
}

TEST_P(symmetric_matrix_test, expands_into_a_full_matrix_and_is_compressed_from_one) {
    for (const auto& s : many_sizes) {
        const process_grid grid{1, world().size()};
        const process_grid other{world().size(), 1};
        if (!deals_to_all(s, grid) || s.order < world().size() * 5) continue;
        symmetric_matrix<float> matrix(world(), s.order, s.block, grid);
        const auto expected = add_random_updates(matrix);
        convergent_matrix<float> full(world(), s.order, s.order, 5, 3, other); // another layout altogether
        const auto all = all_indices(s.order);
        for (const bool fill_lower : {true, false}) {
            matrix.expand(full, fill_lower);
            const auto values = full.read_slice(all, all);
            for (std::int64_t i = 0; i < s.order; ++i) {
                for (std::int64_t j = 0; j < s.order; ++j) {
                    ASSERT_EQ(values[static_cast<std::size_t>(i * s.order + j)], i <= j || fill_lower ? expected(i, j) : 0.0F);
                }
            }
            world().quiesce();
        }
        symmetric_matrix<float> back(world(), s.order, s.block, grid);
        add_random_updates(back); // what was there is replaced
        back.compress(full);
        expect_equal(back, expected);
        world().quiesce();
    }
}

TEST_P(symmetric_matrix_test, ascending_symmetric_updates_read_one_triangle_only) {
    constexpr std::int64_t n = 50;
    symmetric_matrix<double> matrix(world(), 128, 8);
    std::vector<std::int64_t> indices(n);
    for (std::int64_t a = 0; a < n; ++a) indices[static_cast<std::size_t>(a)] = 2 * a + 3;
    // Column major, rubbish below the diagonal.
    std::vector<double> block(n * n, 1e300);
    for (std::int64_t b = 0; b < n; ++b) {
        for (std::int64_t a = 0; a <= b; ++a) block[static_cast<std::size_t>(a + b * n)] = static_cast<double>(a * b);
    }
    matrix.update_symmetric(base::column_major<const double>(block.data(), n, n, n), indices);
    matrix.commit();
    const auto values = matrix.read_slice(indices, indices);
    for (std::int64_t a = 0; a < n; ++a) {
        for (std::int64_t b = 0; b < n; ++b) {
            ASSERT_EQ(values[static_cast<std::size_t>(a * n + b)], static_cast<double>(a * b) * world().size());
        }
    }
    world().quiesce();
}

TEST_P(symmetric_matrix_test, threads_may_update_at_once) {
    constexpr std::int64_t order = 150;
    constexpr int threads = 3;
    constexpr int each = 30;
    symmetric_matrix<double> matrix(world(), order, 16);
    const auto indices = all_indices(order);
    const std::vector<double> ones(order * order, 1.0);
    {
        std::vector<std::jthread> team;
        for (int t = 0; t < threads; ++t) {
            team.emplace_back([&] {
                for (int n = 0; n < each; ++n) {
                    matrix.update_symmetric(base::row_major<const double>(ones.data(), order, order), indices);
                }
            });
        }
        for (int i = 0; i < 1000; ++i) world().poll(); // lets messages through while the team sends
    }
    matrix.commit();
    const double expected = static_cast<double>(threads) * each * world().size();
    for (const double v : matrix.read_slice(indices, indices)) ASSERT_EQ(v, expected);
    world().quiesce();
}

TEST_P(symmetric_matrix_test, every_element_type_and_other_merges) {
    const std::vector<std::int64_t> indices{1, 20, 35};
    const auto check = [&](auto one, auto operation, auto expected) {
        using type = decltype(one);
        const auto times_one = [&](int n) {
            type product{};
            for (int k = 0; k < n; ++k) product += one;
            return product;
        };
        symmetric_matrix<type> matrix(world(), 40, 4, {}, operation);
        std::vector<type> block(9);
        for (int e = 0; e < 9; ++e) block[static_cast<std::size_t>(e)] = times_one((e % 3) * (e / 3) + world().rank());
        matrix.update_symmetric(base::row_major<const type>(block.data(), 3, 3), indices);
        matrix.commit();
        for (std::size_t a = 0; a < 3; ++a) {
            for (std::size_t b = 0; b < 3; ++b) {
                ASSERT_EQ(matrix.read(indices[a], indices[b]), times_one(expected(static_cast<int>(a * b))));
            }
        }
        EXPECT_EQ(matrix.read(2, 3), matrix.packed().operation().identity());
        EXPECT_EQ(matrix.diagonal()[35], times_one(expected(4)));
        world().quiesce();
    };
    const int ranks = world().size();
    const auto sum = [&](int product) { return product * ranks + ranks * (ranks - 1) / 2; };
    check(1.0F, array::merge<float>::add(), sum);
    check(std::int64_t{1}, array::merge<std::int64_t>::add(), sum);
    check(std::complex<float>(1, -2), array::merge<std::complex<float>>::add(), sum);
    check(std::complex<double>(0, 3), array::merge<std::complex<double>>::add(), sum);
    check(1.0, array::merge<double>::maximum(), [&](int product) { return product + ranks - 1; });
}

TEST_P(symmetric_matrix_test, refuses_wrong_shapes_and_indices_with_nothing_applied) {
    symmetric_matrix<float> matrix(world(), 30, 3);
    const std::vector<float> ones(9, 1.0F);
    const auto block = base::row_major<const float>(ones.data(), 3, 3);
    const std::vector<std::int64_t> good{0, 1, 2};
    const std::vector<std::int64_t> outside{0, 30, 1};
    const std::vector<std::int64_t> negative{0, 1, -1};
    const std::vector<std::int64_t> two{0, 1};
    expect_user_error([&] { matrix.update(block, good, outside); }, {"update: cols[1] = 30", "0 to 29"});
    expect_user_error([&] { matrix.update(block, negative, good); }, {"update: rows[2] = -1", "0 to 29"});
    expect_user_error([&] { matrix.update(block, two, good); }, {"3 x 3", "2 row and 3 column"});
    expect_user_error([&] { matrix.update_symmetric(block, outside); }, {"update_symmetric: indices[1] = 30", "0 to 29"});
    expect_user_error([&] { matrix.update_symmetric(block, two); }, {"3 x 3", "2 row"});
    expect_user_error([&] { static_cast<void>(matrix.read(30, 0)); }, {"read: rows[0] = 30"});
    expect_user_error([&] { static_cast<void>(matrix.read_slice(good, outside)); }, {"read: cols[1] = 30"});
    convergent_matrix<float> other(world(), 31, 30, 3, 3);
    expect_user_error([&] { matrix.expand(other, false); }, {"expand", "31 x 30", "30 x 30"});
    expect_user_error([&] { matrix.compress(other); }, {"compress", "31 x 30", "30 x 30"});
    matrix.commit();
    for (const float v : matrix.packed().local()) ASSERT_EQ(v, 0.0F);
    world().quiesce();
}

TEST_P(symmetric_matrix_test, refuses_impossible_orders_blocks_and_grids) {
    expect_user_error([&] { symmetric_matrix<float>(world(), 0); }, "order 0");
    expect_user_error([&] { symmetric_matrix<float>(world(), 10, 0); }, "blocks of 0");
    expect_user_error([&] { symmetric_matrix<float>(world(), 10, 2, {1, world().size() + 1}); }, "process");
    if (world().size() > 1) {
        expect_user_error([&] { symmetric_matrix<float>(world(), 100, 64, {1, world().size()}); },
                          {"order 100 in blocks of 64 packs into 1 block columns", "smaller blocks"});
    }
    world().quiesce();
}

} // namespace

} // namespace symmetric_matrix_tests
