// QR, singular values and generalised eigenpairs against their definitions by plain loops; by one rank and by all.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "dist_array_reference.hpp"

#include <craton/linalg/dist_array_decomposition.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

namespace craton::tests::decompositions {

using namespace craton;
using array::dist_array;
using linalg::workers;
using tests::dense;
using tests::expect_user_error;
using tests::gathered;
using tests::random_source;

class dist_array_decomposition_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(dist_array_decomposition_test);

constexpr std::array everyone{workers::automatic, workers::one_rank, workers::all_ranks};
constexpr std::array<std::array<std::int64_t, 2>, 8> shapes{
    {{1, 1}, {5, 1}, {1, 5}, {3, 3}, {40, 40}, {90, 33}, {33, 90}, {7, 150}}};

void expect_orthonormal_columns(const dense& q, double tolerance) {
    const auto gram = q.transposed().times(q);
    for (std::int64_t i = 0; i < gram.rows; ++i)
        for (std::int64_t j = 0; j < gram.cols; ++j) ASSERT_NEAR(gram(i, j), i == j ? 1.0 : 0.0, tolerance);
}

void expect_equal(const dense& found, const dense& wanted, double tolerance) {
    const auto apart = found.combined(1, wanted, -1);
    for (const double each : apart.values) ASSERT_NEAR(each, 0.0, tolerance);
}

template <class T> class arrays {
  public:
    arrays(runtime::world& world, unsigned seed) : world_(&world), random_(seed) {}
    [[nodiscard]] dist_array<T, 2> of(std::int64_t rows, std::int64_t cols) {
        return dist_array<T, 2>(*world_, tests::any_layout(random_, rows, cols, world_->size()));
    }

  private:
    runtime::world* world_;
    random_source random_;
};

template <class T> void expect_qr(runtime::world& world, double tolerance) {
    arrays<T> make(world, 3);
    for (const auto& [m, n] : shapes) {
        for (const workers who : everyone) {
            const auto a = dense::whole_numbers(m, n, static_cast<unsigned>(m + n));
            auto matrix = make.of(m, n), q = make.of(m, std::min(m, n)), r = make.of(std::min(m, n), n);
            set_to(matrix, a);
            r.fill(7);
            linalg::qr(matrix, q, r, who);
            const auto left = gathered(q), right = gathered(r);
            expect_orthonormal_columns(left, tolerance);
            expect_equal(left.times(right), a, tolerance * static_cast<double>(m + n));
            for (std::int64_t i = 0; i < right.rows; ++i)
                for (std::int64_t j = 0; j < std::min(i, right.cols); ++j) ASSERT_EQ(right(i, j), 0.0);
            ASSERT_EQ(gathered(matrix).values, a.values);
        }
    }
}

TEST_P(dist_array_decomposition_test, qr_in_double) { expect_qr<double>(world(), 1e-13); }
TEST_P(dist_array_decomposition_test, qr_in_float) { expect_qr<float>(world(), 1e-4); }

template <class T> void expect_svd(runtime::world& world, double tolerance) {
    arrays<T> make(world, 4);
    for (const auto& [m, n] : shapes) {
        for (const workers who : everyone) {
            const auto a = dense::whole_numbers(m, n, static_cast<unsigned>(m + 2 * n));
            const auto kept = std::min(m, n);
            auto matrix = make.of(m, n), u = make.of(m, kept), vt = make.of(kept, n);
            set_to(matrix, a);
            const auto values = linalg::svd(matrix, u, vt, who);
            ASSERT_EQ(std::ssize(values), kept);
            ASSERT_TRUE(std::ranges::is_sorted(values, std::greater{}));
            ASSERT_GE(values.back(), 0.0);
            auto scaled = gathered(u);
            const auto right = gathered(vt);
            expect_orthonormal_columns(scaled, tolerance);
            expect_orthonormal_columns(right.transposed(), tolerance);
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t k = 0; k < kept; ++k) scaled(i, k) *= values[static_cast<std::size_t>(k)];
            expect_equal(scaled.times(right), a, tolerance * static_cast<double>(m + n));
        }
    }
}

TEST_P(dist_array_decomposition_test, singular_values_in_double) { expect_svd<double>(world(), 1e-12); }
TEST_P(dist_array_decomposition_test, singular_values_in_float) { expect_svd<float>(world(), 1e-4); }

dense metric_of(std::int64_t n) {
    auto b = dense::whole_numbers(n, n, 9).symmetric();
    for (std::int64_t i = 0; i < n; ++i) b(i, i) = 5 * static_cast<double>(n);
    return b;
}

// Below the diagonal nothing may be read.
dense upper_of(dense a) {
    for (std::int64_t i = 0; i < a.rows; ++i)
        for (std::int64_t j = 0; j < i; ++j) a(i, j) = 1e30;
    return a;
}

template <class T> void expect_eigenpairs(runtime::world& world, double tolerance) {
    arrays<T> make(world, 5);
    for (const std::int64_t n : {1, 2, 5, 70}) {
        for (const workers who : everyone) {
            const auto a = dense::whole_numbers(n, n, 8).symmetric(), b = metric_of(n);
            auto matrix = make.of(n, n), metric = make.of(n, n), vectors = make.of(n, n);
            set_to(matrix, upper_of(a));
            set_to(metric, upper_of(b));
            const auto values = linalg::symmetric_eigenproblem(matrix, metric, vectors, who);
            ASSERT_TRUE(std::ranges::is_sorted(values));
            const auto x = gathered(vectors);
            const auto ax = a.times(x), bx = b.times(x);
            const auto gram = x.transposed().times(bx);
            for (std::int64_t i = 0; i < n; ++i) {
                for (std::int64_t k = 0; k < n; ++k) {
                    ASSERT_NEAR(ax(i, k), values[static_cast<std::size_t>(k)] * bx(i, k), tolerance * static_cast<double>(n));
                    ASSERT_NEAR(gram(i, k), i == k ? 1.0 : 0.0, tolerance * 10);
                }
            }
        }
    }
}

TEST_P(dist_array_decomposition_test, generalised_eigenpairs_in_double) { expect_eigenpairs<double>(world(), 1e-13); }
TEST_P(dist_array_decomposition_test, generalised_eigenpairs_in_float) { expect_eigenpairs<float>(world(), 1e-5); }

TEST_P(dist_array_decomposition_test, refuse_what_cannot_be_decomposed) {
    arrays<double> make(world(), 6);
    for (const workers who : everyone) {
        auto a = dense::whole_numbers(30, 20, 1);
        a(11, 3) = std::numeric_limits<double>::infinity();
        auto matrix = make.of(30, 20), left = make.of(30, 20), right = make.of(20, 20), square = make.of(20, 20);
        set_to(matrix, a);
        expect_user_error([&] { linalg::qr(matrix, left, right, who); }, "qr: element (11, 3) of the matrix is inf");
        expect_user_error([&] { static_cast<void>(linalg::svd(matrix, left, right, who)); }, "svd: element (11, 3)");
        expect_user_error([&] { linalg::qr(matrix, right, square, who); }, {"qr: q is 20 x 20", "allowed: 30 x 20"});
        expect_user_error([&] { linalg::qr(matrix, left, left, who); }, "r is another of its arrays too");
        expect_user_error([&] { static_cast<void>(linalg::symmetric_eigenproblem(matrix, right, square, who)); },
                          {"30 x 20", "square"});
        auto b = metric_of(20);
        b(9, 9) = -1;
        set_to(right, metric_of(20));
        set_to(square, b);
        auto vectors = make.of(20, 20);
        expect_user_error([&] { static_cast<void>(linalg::symmetric_eigenproblem(right, square, vectors, who)); },
                          {"not positive definite", "leading minor of order 10"});
    }
    runtime::world second(comm::communicator::world(), runtime::world_options{GetParam()});
    arrays<double> there(second, 7);
    auto matrix = make.of(4, 4), own = make.of(4, 4), elsewhere = there.of(4, 4);
    expect_user_error([&] { linalg::qr(matrix, own, elsewhere); }, "different worlds");
    world().quiesce();
    second.quiesce();
}

} // namespace craton::tests::decompositions
