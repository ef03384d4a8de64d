#include <craton/apps/scf/batch_kernels.hpp>
#include <craton/base/aligned_vector.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <vector>

namespace craton::scf {
namespace {

// One bra, and eight kets in other rows of one matrix; two of the kets have a shell in common.
struct plain_batch {
    explicit plain_batch(const quartet_shape& s)
        : shape(s), n(s.i + s.j + 8 * (s.k + s.l)), density(square()), integrals(s.integrals() * batch_lanes) {
        std::mt19937_64 bits(11);
        std::uniform_real_distribution<double> any(-1, 1);
        for (double& each : density) each = any(bits);
        for (double& each : integrals) each = any(bits);
    }
    [[nodiscard]] std::size_t square() const { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n); }
    [[nodiscard]] int j() const { return shape.i; }
    [[nodiscard]] int k(int lane) const { return shape.i + shape.j + (lane == 5 ? 4 : lane) * (shape.k + shape.l); }
    [[nodiscard]] int l(int lane) const { return shape.i + shape.j + lane * (shape.k + shape.l) + shape.k; }
    template <class T> [[nodiscard]] rectangle<T> part(std::vector<double>& matrix, int row, int column) const {
        return {matrix.data() + row * n + column, n};
    }
    template <class T> [[nodiscard]] exchange_rectangles<T> exchange_of(std::vector<double>& matrix, int lane) const {
        return {part<T>(matrix, k(lane), 0), part<T>(matrix, l(lane), 0), part<T>(matrix, k(lane), j()),
                part<T>(matrix, l(lane), j())};
    }
    // In the order of single quartets.
    [[nodiscard]] std::vector<double> of_lane(int lane) const {
        std::vector<double> out;
        const int bra = shape.i * shape.j, ket = shape.k * shape.l;
        for (int kl = 0; kl < ket; ++kl)
            for (int ij = 0; ij < bra; ++ij)
                out.push_back(integrals[static_cast<std::size_t>(ij * ket + kl) * batch_lanes + static_cast<std::size_t>(lane)]);
        return out;
    }

    quartet_shape shape;
    int n;
    std::vector<double> density;
    base::aligned_vector<double> integrals;
};

constexpr std::array<double, batch_lanes> for_coulomb{1, 0.5, 0, 0.25, 1, 1, 0, 0.5};
constexpr std::array<double, batch_lanes> for_exchange{0, 0.5, 0, 1, 1, 0.25, 1, 1};

class every_batch : public testing::TestWithParam<quartet_shape> {};

TEST_P(every_batch, is_the_sum_of_its_quartets) {
    plain_batch b(GetParam());
    const std::size_t most = static_cast<std::size_t>(std::max({b.shape.i, b.shape.j, b.shape.k, b.shape.l}));
    base::aligned_vector<double> scratch(digest_batch_scratch(most));
    for (const auto& [with_coulomb, with_exchange] : {std::array{true, true}, std::array{true, false}, std::array{false, true}})
        for (const bool turned : {false, true}) {
            // Coulomb's rectangles of turned pairs are read the other way round: from the transpose.
            std::vector<double> sum(b.square(), 0.5), expected = sum, one(coulomb_scratch(b.shape));
            batch_coulomb coulomb;
            batch_exchange exchange;
            coulomb.weight = for_coulomb;
            exchange.weight = for_exchange;
            const auto seen = [&]<class T>(const rectangle<T>& straight, const rectangle<T>& other_way, int rows, int columns) {
                return turned ? base::matrix_view<T>{other_way.data, rows, columns, 1, other_way.stride}
                              : base::matrix_view<T>{straight.data, rows, columns, straight.stride, 1};
            };
            std::vector<double> transposed(b.square()), expected_coulomb = sum;
            for (int x = 0; x < b.n; ++x)
                for (int y = 0; y < b.n; ++y) transposed[y * b.n + x] = b.density[x * b.n + y];
            coulomb.density_ji =
                seen(b.part<const double>(b.density, b.j(), 0), b.part<const double>(transposed, 0, b.j()), b.shape.j, b.shape.i);
            std::vector<double> coulomb_sum(b.square(), 0.5);
            for (int lane = 0; lane < 8; ++lane) {
                const auto v = static_cast<std::size_t>(lane);
                if (for_coulomb[v] != 0) {
                    coulomb.density_lk[v] = seen(b.part<const double>(b.density, b.l(lane), b.k(lane)),
                                                 b.part<const double>(transposed, b.k(lane), b.l(lane)), b.shape.l, b.shape.k);
                    coulomb.sum_lk[v] = seen(b.part<double>(coulomb_sum, b.l(lane), b.k(lane)),
                                             b.part<double>(coulomb_sum, b.k(lane), b.l(lane)), b.shape.l, b.shape.k);
                }
                if (for_exchange[v] != 0) {
                    exchange.density[v] = b.exchange_of<const double>(b.density, lane);
                    exchange.sum[v] = b.exchange_of<double>(sum, lane);
                }
                const auto integrals = b.of_lane(lane);
                if (with_coulomb && for_coulomb[v] != 0)
                    digest_coulomb(
                        b.shape, integrals, for_coulomb[v],
                        {b.part<const double>(b.density, b.j(), 0), b.part<const double>(b.density, b.l(lane), b.k(lane))},
                        {b.part<double>(expected_coulomb, b.j(), 0), b.part<double>(expected_coulomb, b.l(lane), b.k(lane))}, one);
                if (with_exchange && for_exchange[v] != 0)
                    digest_exchange(b.shape, integrals, for_exchange[v], b.exchange_of<const double>(b.density, lane),
                                    b.exchange_of<double>(expected, lane));
            }
            base::aligned_vector<double> gathered(static_cast<std::size_t>(b.shape.i * b.shape.j) * batch_lanes, 0.0);
            digest_batch(b.shape, b.integrals.data(), with_coulomb ? &coulomb : nullptr, with_exchange ? &exchange : nullptr,
                         gathered.data(), scratch.data());
            for (int j = 0; j < b.shape.j; ++j)
                for (int i = 0; i < b.shape.i; ++i)
                    for (std::size_t v = 0; v < batch_lanes; ++v)
                        coulomb_sum[(b.j() + j) * b.n + i] +=
                            gathered[static_cast<std::size_t>(i + b.shape.i * j) * batch_lanes + v];
            for (int x = 0; x < b.n; ++x)
                for (int y = 0; y < b.n; ++y) {
                    EXPECT_NEAR(sum[x * b.n + y], expected[x * b.n + y], 1e-12) << x << ' ' << y;
                    // A ket's part stands the other way round if it was turned.
                    const bool of_ket = x >= b.shape.i + b.shape.j && y >= b.shape.i + b.shape.j;
                    const double found = turned && of_ket ? coulomb_sum[y * b.n + x] : coulomb_sum[x * b.n + y];
                    EXPECT_NEAR(found, expected_coulomb[x * b.n + y], 1e-12) << x << ' ' << y;
                }
        }
}

// Every number of k that has code of its own, and some that have none.
INSTANTIATE_TEST_SUITE_P(shapes, every_batch,
                         testing::Values(quartet_shape{1, 1, 1, 1}, quartet_shape{2, 3, 2, 5}, quartet_shape{3, 1, 3, 2},
                                         quartet_shape{4, 2, 4, 3}, quartet_shape{5, 5, 5, 2}, quartet_shape{3, 3, 6, 1},
                                         quartet_shape{7, 1, 7, 3}, quartet_shape{1, 2, 9, 4}));

} // namespace
} // namespace craton::scf
