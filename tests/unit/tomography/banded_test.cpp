#include "../../../src/apps/tomography/banded_eigenproblem.hpp"

#include <craton/apps/tomography/kernels/banded.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

// The dense reference: LAPACK's QR iteration, which shares nothing with Lanczos or with Sylvester's law.
extern "C" void dsygv_(const int* itype, const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* b,
                       const int* ldb, double* w, double* work, const int* lwork, int* info, std::size_t, std::size_t);

namespace craton::tomography::banded_tests {
namespace {

constexpr int bandwidth = 4;
constexpr std::size_t rows = bandwidth + 1;

double element(const band& a, std::size_t i, std::size_t j) {
    const auto [low, high] = std::minmax(i, j);
    return high - low > bandwidth ? 0 : a[high * rows + bandwidth + low - high];
}

band random_band(std::size_t n, double diagonal, unsigned seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    band out(n * rows, 0.0);
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = j > bandwidth ? j - bandwidth : 0; i <= j; ++i) {
            out[j * rows + bandwidth + i - j] = uniform(random) + (i == j ? diagonal : 0);
        }
    }
    return out;
}

std::vector<double> dense(const band& a) {
    const std::size_t n = a.size() / rows;
    std::vector<double> out(n * n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            out[i * n + j] = element(a, i, j);
        }
    }
    return out;
}

std::vector<double> dense_eigenvalues(const banded_pencil& pencil) {
    const int n = static_cast<int>(pencil.unknowns());
    const int one = 1;
    const int lwork = 64 * n;
    std::vector<double> a = dense(pencil.stiffness);
    std::vector<double> b = dense(pencil.inertia);
    std::vector<double> w(static_cast<std::size_t>(n));
    std::vector<double> work(static_cast<std::size_t>(lwork));
    int info = 0;
    dsygv_(&one, "N", "U", &n, a.data(), &n, b.data(), &n, w.data(), work.data(), &lwork, &info, 1, 1);
    EXPECT_EQ(info, 0);
    return w;
}

TEST(banded, product_equals_the_dense_one) {
    const band a = random_band(23, 0, 1);
    std::vector<double> x(23), y(23);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = std::sin(static_cast<double>(i));
    }
    banded_multiply(a, bandwidth, x, y);
    for (std::size_t i = 0; i < x.size(); ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < x.size(); ++j) {
            sum += element(a, i, j) * x[j];
        }
        EXPECT_NEAR(y[i], sum, 1e-14);
    }
}

TEST(banded, counts_and_pairs_equal_the_dense_ones) {
    const banded_pencil pencil{bandwidth, random_band(60, 0, 2), random_band(60, 6, 3)};
    const std::vector<double> all = dense_eigenvalues(pencil);
    for (const double at : {-0.4, -0.1, 0.0, 0.05, 0.3}) {
        EXPECT_EQ(eigenvalues_below(pencil, at), std::count_if(all.begin(), all.end(), [&](double v) { return v < at; }));
    }
    const eigenpairs pairs = solve_interval(pencil, -0.12, 0.2);
    std::vector<double> expected;
    std::copy_if(all.begin(), all.end(), std::back_inserter(expected), [](double v) { return v >= -0.12 && v < 0.2; });
    ASSERT_GT(expected.size(), 10u);
    ASSERT_EQ(pairs.omega_squared.size(), expected.size());
    std::vector<double> ax(60), bx(60);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(pairs.omega_squared[i], expected[i], 1e-12);
        const auto x = std::span(pairs.vectors).subspan(60 * i, 60);
        banded_multiply(pencil.stiffness, bandwidth, x, ax);
        banded_multiply(pencil.inertia, bandwidth, x, bx);
        double norm = 0;
        for (std::size_t j = 0; j < x.size(); ++j) {
            EXPECT_NEAR(ax[j], expected[i] * bx[j], 1e-8);
            norm += x[j] * bx[j];
        }
        EXPECT_NEAR(norm, 1, 1e-12);
    }
}

TEST(banded, unknowns_without_mass_are_eliminated) {
    // Every third unknown has no mass and a positive block: the reference eliminates it by hand.
    const std::size_t n = 45;
    banded_pencil pencil{bandwidth, random_band(n, 0, 4), random_band(n, 6, 5)};
    const auto massless = [](std::size_t i) { return i % 3 == 2; };
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = j > bandwidth ? j - bandwidth : 0; i <= j; ++i) {
            double& k = pencil.stiffness[j * rows + bandwidth + i - j];
            double& m = pencil.inertia[j * rows + bandwidth + i - j];
            m = massless(i) || massless(j) ? 0 : m;
            k = massless(i) && massless(j) ? (i == j ? 3 : 0) : k;
        }
    }
    std::vector<std::size_t> heavy;
    for (std::size_t i = 0; i < n; ++i) {
        if (!massless(i)) {
            heavy.push_back(i);
        }
    }
    const int size = static_cast<int>(heavy.size());
    std::vector<double> a(heavy.size() * heavy.size()), b(a.size()), w(heavy.size()), work(64 * heavy.size());
    for (std::size_t i = 0; i < heavy.size(); ++i) {
        for (std::size_t j = 0; j < heavy.size(); ++j) {
            a[i * heavy.size() + j] = element(pencil.stiffness, heavy[i], heavy[j]);
            b[i * heavy.size() + j] = element(pencil.inertia, heavy[i], heavy[j]);
            for (std::size_t p = 2; p < n; p += 3) {
                a[i * heavy.size() + j] -= element(pencil.stiffness, heavy[i], p) * element(pencil.stiffness, p, heavy[j]) / 3;
            }
        }
    }
    const int one = 1;
    const int lwork = 64 * size;
    int info = 0;
    dsygv_(&one, "N", "U", &size, a.data(), &size, b.data(), &size, w.data(), work.data(), &lwork, &info, 1, 1);
    ASSERT_EQ(info, 0);
    const eigenpairs pairs = solve_interval(pencil, -0.3, 0.1);
    std::vector<double> expected;
    std::copy_if(w.begin(), w.end(), std::back_inserter(expected), [](double v) { return v >= -0.3 && v < 0.1; });
    ASSERT_GT(expected.size(), 5u);
    ASSERT_EQ(pairs.omega_squared.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(pairs.omega_squared[i], expected[i], 1e-12);
    }
}

TEST(banded, equal_eigenvalues_are_all_found) {
    // Two copies of one matrix side by side: every eigenvalue is double, which one Lanczos run alone cannot see.
    const band one = random_band(20, 0, 6);
    banded_pencil pencil{bandwidth, one, band(40 * rows, 0.0)};
    pencil.stiffness.insert(pencil.stiffness.end(), one.begin(), one.end());
    for (std::size_t j = 0; j < 40; ++j) {
        pencil.inertia[j * rows + bandwidth] = 1;
    }
    // The second copy's first columns reach no further up than its own first row.
    const eigenpairs pairs = solve_interval(pencil, -1, 1);
    ASSERT_GE(pairs.omega_squared.size(), 6u);
    ASSERT_EQ(pairs.omega_squared.size() % 2, 0u);
    for (std::size_t i = 0; i < pairs.omega_squared.size(); i += 2) {
        EXPECT_NEAR(pairs.omega_squared[i], pairs.omega_squared[i + 1], 1e-12);
    }
}

TEST(banded, an_empty_interval_has_no_pairs) {
    const banded_pencil pencil{bandwidth, random_band(20, 20, 7), random_band(20, 6, 8)};
    EXPECT_TRUE(solve_interval(pencil, -2, -1).omega_squared.empty());
}

} // namespace
} // namespace craton::tomography::banded_tests
