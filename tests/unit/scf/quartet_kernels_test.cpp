#include <craton/apps/scf/quartet_kernels.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <type_traits>
#include <vector>

namespace craton::scf {
namespace {

// Rows of one matrix that hold the functions of i, j, k, l one after another.
struct plain_quartet {
    explicit plain_quartet(const quartet_shape& s) : shape(s), n(s.i + s.j + s.k + s.l), density(n * n), integrals(s.integrals()) {
        std::mt19937_64 bits(17);
        std::uniform_real_distribution<double> any(-1, 1);
        for (int a = 0; a < n; ++a)
            for (int b = 0; b <= a; ++b) density[a * n + b] = density[b * n + a] = any(bits);
        for (double& each : integrals) each = any(bits);
    }

    template <class T> [[nodiscard]] rectangle<T> part(std::vector<double>& matrix, int row, int column) const {
        return {matrix.data() + row * n + column, n};
    }

    /// what(a, b, c, d, value) for every integral, numbered in the matrix.
    template <class What> void for_each(What what) const {
        std::size_t at = 0;
        for (int d = l(); d < l() + shape.l; ++d)
            for (int c = k(); c < k() + shape.k; ++c)
                for (int b = j(); b < j() + shape.j; ++b)
                    for (int a = 0; a < shape.i; ++a) what(a, b, c, d, integrals[at++]);
    }

    [[nodiscard]] int j() const { return shape.i; }
    [[nodiscard]] int k() const { return j() + shape.j; }
    [[nodiscard]] int l() const { return k() + shape.k; }

    quartet_shape shape;
    int n;
    std::vector<double> density;
    std::vector<double> integrals;
};

constexpr double weight = 0.25;

class every_shape : public testing::TestWithParam<quartet_shape> {};

TEST_P(every_shape, coulomb_is_that_of_plain_loops) {
    plain_quartet q(GetParam());
    const int n = q.n;
    std::vector<double> expected(n * n, 0.5), sum = expected, scratch(coulomb_scratch(q.shape));
    q.for_each([&](int a, int b, int c, int d, double value) {
        expected[b * n + a] += weight * value * q.density[d * n + c];
        expected[d * n + c] += weight * value * q.density[b * n + a];
    });
    digest_coulomb(q.shape, q.integrals, weight,
                   {q.part<const double>(q.density, q.j(), 0), q.part<const double>(q.density, q.l(), q.k())},
                   {q.part<double>(sum, q.j(), 0), q.part<double>(sum, q.l(), q.k())}, scratch);
    for (int x = 0; x < n * n; ++x) EXPECT_NEAR(sum[x], expected[x], 1e-12) << x / n << ' ' << x % n;
}

TEST_P(every_shape, exchange_is_that_of_plain_loops) {
    plain_quartet q(GetParam());
    const int n = q.n;
    std::vector<double> expected(n * n, 0.5), sum = expected;
    q.for_each([&](int a, int b, int c, int d, double value) {
        expected[c * n + a] += weight * value * q.density[d * n + b];
        expected[d * n + a] += weight * value * q.density[c * n + b];
        expected[c * n + b] += weight * value * q.density[d * n + a];
        expected[d * n + b] += weight * value * q.density[c * n + a];
    });
    const auto of = [&]<class T>(T, std::vector<double>& matrix) {
        return exchange_rectangles<typename T::type>{
            q.part<typename T::type>(matrix, q.k(), 0), q.part<typename T::type>(matrix, q.l(), 0),
            q.part<typename T::type>(matrix, q.k(), q.j()), q.part<typename T::type>(matrix, q.l(), q.j())};
    };
    digest_exchange(q.shape, q.integrals, weight, of(std::type_identity<const double>{}, q.density),
                    of(std::type_identity<double>{}, sum));
    for (int x = 0; x < n * n; ++x) EXPECT_NEAR(sum[x], expected[x], 1e-12) << x / n << ' ' << x % n;
}

// Every number of i that has code of its own, and some that have none.
INSTANTIATE_TEST_SUITE_P(shapes, every_shape,
                         testing::Values(quartet_shape{1, 1, 1, 1}, quartet_shape{2, 3, 1, 5}, quartet_shape{3, 1, 6, 2},
                                         quartet_shape{4, 2, 3, 3}, quartet_shape{5, 5, 3, 2}, quartet_shape{6, 3, 2, 1},
                                         quartet_shape{7, 1, 2, 3}, quartet_shape{8, 2, 2, 2}, quartet_shape{9, 2, 1, 4},
                                         quartet_shape{10, 3, 2, 2}, quartet_shape{14, 2, 5, 3}));

} // namespace
} // namespace craton::scf
