#include "../../expect_user_error.hpp"
#include "../../no_source.hpp"
#include "../../separable_source.hpp"

#include <craton/apps/scf/density_fitting.hpp>
#include <craton/apps/scf/fock_builder.hpp>
#include <craton/apps/scf/hermite_repulsion.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace craton::scf {
namespace {

// s functions at three places, and a basis that has every product of two of them: the fit leaves nothing out.
struct whole_fit {
    whole_fit() {
        const std::vector<nucleus> nuclei{{1, {0, 0, 0}}, {1, {0, 0.3, 1.4}}, {1, {1.1, -0.5, 0.2}}};
        const std::array<double, 3> exponents{0.9, 0.6, 1.3};
        std::vector<shell> shells, fitting;
        std::vector<nucleus> centres;
        for (int a = 0; a < 3; ++a) {
            const double at_a = exponents[static_cast<std::size_t>(a)];
            shells.push_back({a, 0, {at_a}, {1}});
            for (int b = 0; b <= a; ++b) {
                const double at_b = exponents[static_cast<std::size_t>(b)];
                nucleus centre{1, {}};
                for (std::size_t x = 0; x < 3; ++x)
                    centre.position_bohr[x] = (at_a * nuclei[static_cast<std::size_t>(a)].position_bohr[x] +
                                               at_b * nuclei[static_cast<std::size_t>(b)].position_bohr[x]) /
                                              (at_a + at_b);
                fitting.push_back({static_cast<int>(centres.size()), 0, {at_a + at_b}, {1}});
                centres.push_back(centre);
            }
        }
        functions = std::make_shared<const basis>(nuclei, shells);
        auxiliary = std::make_shared<const basis>(centres, fitting);
    }
    std::shared_ptr<const basis> functions, auxiliary;
};

// M with M^T M = the inverse of a symmetric positive matrix: that of its Cholesky factor.
std::vector<double> root_of_inverse(const std::vector<double>& of, std::size_t n) {
    std::vector<double> lower(n * n), inverse(n * n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = of[i * n + j];
            for (std::size_t k = 0; k < j; ++k) sum -= lower[i * n + k] * lower[j * n + k];
            lower[i * n + j] = i == j ? std::sqrt(sum) : sum / lower[j * n + j];
        }
    for (std::size_t column = 0; column < n; ++column)
        for (std::size_t i = column; i < n; ++i) {
            double sum = i == column ? 1 : 0;
            for (std::size_t k = column; k < i; ++k) sum -= lower[i * n + k] * inverse[k * n + column];
            inverse[i * n + column] = sum / lower[i * n + i];
        }
    return inverse;
}

struct some_density {
    std::vector<double> values, vectors;
    std::vector<double> whole;

    some_density(std::vector<double> of, std::size_t n, unsigned seed) : values(std::move(of)), whole(n * n) {
        const std::vector<double> random = tests::random_density(static_cast<int>(n), seed);
        vectors.assign(random.begin(), random.begin() + static_cast<std::ptrdiff_t>(values.size() * n));
        for (std::size_t v = 0; v < values.size(); ++v)
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < n; ++j) whole[i * n + j] += values[v] * vectors[v * n + i] * vectors[v * n + j];
    }
    [[nodiscard]] density_fitting::density seen() const { return {whole, values, vectors}; }
};

TEST(scf_density_fitting, of_all_products_is_exact_however_rows_are_shared) {
    const whole_fit of;
    const auto n = static_cast<std::size_t>(of.functions->size()), fitting = static_cast<std::size_t>(of.auxiliary->size());
    // Of both signs, as changes of a density have.
    const std::vector<some_density> densities{{{1.0, -0.4}, n, 3}, {{0.7}, n, 4}};
    fock_builder exact(of.functions->first_function(),
                       std::make_shared<const hermite_repulsion>(*of.functions, std::make_shared<tests::no_source>()),
                       {.threshold = 1e-15});
    std::vector<double> coulomb(n * n);
    std::vector<std::vector<double>> exchange(2, std::vector<double>(n * n));
    exact.build(std::vector<std::span<const double>>{densities[0].whole, densities[1].whole}, coulomb,
                std::vector<std::span<double>>{exchange[0], exchange[1]});
    for (const int threads : {1, 3})
        for (const std::size_t ranks : {1U, 2U, 5U, 7U}) { // there are 6 rows
            std::vector<double> coulomb_sum(n * n);
            std::vector<std::vector<double>> exchange_sum(2, std::vector<double>(n * n));
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                density_fitting fit(of.functions, of.auxiliary, threads);
                ASSERT_EQ(fit.products(), 6);
                const std::vector<double> metric = fit.metric(), root = root_of_inverse(metric, fitting);
                const std::size_t first = fitting * rank / ranks, last = fitting * (rank + 1) / ranks;
                fit.fit(std::span(root).subspan(first * fitting, (last - first) * fitting));
                std::vector<double> j(n * n), up(n * n), down(n * n);
                fit.build(std::vector{densities[0].seen(), densities[1].seen()}, j, std::vector<std::span<double>>{up, down});
                for (std::size_t x = 0; x < n * n; ++x) {
                    coulomb_sum[x] += j[x];
                    exchange_sum[0][x] += up[x];
                    exchange_sum[1][x] += down[x];
                }
            }
            EXPECT_LT(tests::largest_difference(coulomb_sum, coulomb), 1e-10) << threads << ' ' << ranks;
            EXPECT_LT(tests::largest_difference(exchange_sum[0], exchange[0]), 1e-10) << threads << ' ' << ranks;
            EXPECT_LT(tests::largest_difference(exchange_sum[1], exchange[1]), 1e-10) << threads << ' ' << ranks;
        }
}

TEST(scf_density_fitting, metric_of_any_momenta_is_symmetric_and_positive) {
    const whole_fit of;
    std::vector<shell> shells;
    for (int l = 0; l <= 6; ++l) shells.push_back({l % 3, l, {0.8, 0.4}, {0.5, 0.6}});
    const auto auxiliary = std::make_shared<const basis>(of.functions->nuclei(), shells);
    density_fitting fit(of.functions, auxiliary, 2);
    const std::vector<double> metric = fit.metric();
    const auto n = static_cast<std::size_t>(auxiliary->size());
    for (std::size_t i = 0; i < n; ++i) {
        EXPECT_GT(metric[i * (n + 1)], 0);
        for (std::size_t j = 0; j < i; ++j) {
            EXPECT_EQ(metric[i * n + j], metric[j * n + i]);
            EXPECT_LT(std::abs(metric[i * n + j]), std::sqrt(metric[i * (n + 1)] * metric[j * (n + 1)]));
        }
    }
}

TEST(scf_density_fitting, says_which_shells_are_too_high) {
    const whole_fit of;
    const auto high = std::make_shared<const basis>(of.functions->nuclei(), std::vector<shell>{{0, 5, {0.8}, {1}}});
    tests::expect_user_error([&] { density_fitting(high, of.auxiliary, 1); }, {"density fitting", "l = 5 and 5", "allowed"});
    tests::expect_user_error([&] { density_fitting(of.functions, of.auxiliary, 0); }, {"0", "at least 1"});
}

} // namespace
} // namespace craton::scf
