#include "gram_kernels.hpp"

#include "lapack.hpp"

#include <craton/base/narrow.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <type_traits>

namespace craton::linalg {

namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T> void gemm(int m, int n, int k, const T* a, int lda, const T* b, int ldb, T* c, int ldc) {
    const T one = 1;
    const T zero = 0;
    blas<T>::gemm("N", "N", &m, &n, &k, &one, a, &lda, b, &ldb, &zero, c, &ldc);
}

// Upper triangle of g^T g for rows first ... first + count of the n x k panel.
template <class T> void upper_of_gram(int k, int n, int first, int count, const T* g, T* c) {
    const T one = 1;
    const T zero = 0;
    blas<T>::syrk("U", "T", &k, &count, &one, g + first, &n, &zero, c, &k);
}

// g^T g with products and sums in double.
template <class T> std::vector<double> gram_in_double(int n, int k, const std::vector<T>& g) {
    thread_local std::vector<double> wide; // nothing here runs handlers
    wide.assign(g.begin(), g.begin() + static_cast<std::ptrdiff_t>(at(n) * at(k)));
    std::vector<double> product(at(k) * at(k));
    upper_of_gram(k, n, 0, n, wide.data(), product.data());
    return product;
}

// The same with short sums in float, which are summed in double: wrong by some 1e-7 of the diagonal, in a third of the time.
std::vector<double> gram_in_pieces(int n, int k, const std::vector<float>& g) {
    constexpr int piece = 512;
    std::vector<double> product(at(k) * at(k), 0.0);
    std::vector<float> of_piece(product.size());
    for (int first = 0; first < n; first += piece) {
        upper_of_gram(k, n, first, std::min(piece, n - first), g.data(), of_piece.data());
        for (std::int64_t t = 0; t < k; ++t) {
            for (std::int64_t u = 0; u <= t; ++u) product[at(u + t * k)] += static_cast<double>(of_piece[at(u + t * k)]);
        }
    }
    return product;
}

template <class T> double sum_of_squares(const std::vector<T>& values) {
    constexpr std::size_t lanes = 16;
    std::array<double, lanes> sums{};
    const std::size_t whole = values.size() / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes) {
        for (std::size_t l = 0; l < lanes; ++l) sums[l] += static_cast<double>(values[i + l]) * static_cast<double>(values[i + l]);
    }
    for (std::size_t i = whole; i < values.size(); ++i) sums[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// Orthonormal columns that span those of the pivoted Cholesky factor, in the samples' own order: k x rank, column major.
std::vector<double> orthonormal_range(int k, double tolerance, double trace, std::vector<double>& gram, int& rank) {
    // Factoring ends when no pivot is larger than this: the k - r diagonal elements left sum to no more than the tolerance allows.
    const double largest_pivot_left = tolerance * trace / k;
    std::vector<int> pivots(at(k));
    std::vector<double> work(at(2 * k));
    int info = 0;
    dpstrf_("U", &k, gram.data(), &k, pivots.data(), &rank, &largest_pivot_left, work.data(), &info);
    // P^T K P = U^T U: row p of the factor (column p of U, first `rank` elements) belongs to sample pivots[p].
    std::vector<double> range(at(k) * at(rank), 0.0);
    for (std::int64_t p = 0; p < k; ++p) {
        for (std::int64_t r = 0; r <= std::min<std::int64_t>(p, rank - 1); ++r) {
            range[at(pivots[at(p)] - 1 + r * k)] = gram[at(r + p * k)];
        }
    }
    std::vector<double> tau(at(rank));
    const int lwork = std::max(1, 64 * rank);
    work.resize(at(lwork));
    dgeqrf_(&k, &rank, range.data(), &k, tau.data(), work.data(), &lwork, &info);
    dorgqr_(&k, &rank, &rank, range.data(), &k, tau.data(), work.data(), &lwork, &info);
    return range;
}

// compressed = g Q with the rank that the product g^T g has; k where that would not be smaller, 0 for a panel of zeros.
template <class T>
std::int64_t project(int n, int k, double tolerance, std::vector<double> gram, const std::vector<T>& g,
                     std::vector<T>& compressed) {
    double trace = 0;
    for (std::int64_t t = 0; t < k; ++t) trace += gram[at(t * k + t)];
    if (!std::isfinite(trace)) return k; // the product shall show what is in the panel
    if (trace == 0) return 0;
    int rank = 0;
    const auto range = orthonormal_range(k, tolerance, trace, gram, rank);
    if (rank >= k || rank == 0) return k;
    const std::vector<T> q(range.begin(), range.end());
    compressed.resize(at(n) * at(rank));
    gemm(n, rank, k, g.data(), n, q.data(), k, compressed.data(), n);
    return rank;
}

template <class T> std::int64_t compress_panel(std::int64_t n_columns, std::int64_t samples, double tolerance, std::vector<T>& g) {
    const int n = base::narrow<int>(n_columns, "columns of a panel");
    const int k = base::narrow<int>(samples, "samples of a panel");
    thread_local std::vector<T> compressed;
    if constexpr (std::is_same_v<T, float>) {
        // Far above float's rounding a rough product finds the range as well. What was then left out is measured, not believed: Q
        // is orthonormal, so the trace of the difference is that of g's squares less those of g Q.
        constexpr double rounding = least_tolerance_in_float / 4;
        if (!made_in_double<T>(tolerance)) {
            const std::int64_t rank = project(n, k, tolerance / 2, gram_in_pieces(n, k, g), g, compressed);
            if (rank == 0) return 0;
            if (rank < samples) {
                const double all = sum_of_squares(g);
                if (all - sum_of_squares(compressed) <= (tolerance - rounding) * all) {
                    std::swap(g, compressed);
                    return rank;
                }
            }
        }
    }
    const std::int64_t rank = project(n, k, tolerance, gram_in_double(n, k, g), g, compressed);
    if (rank > 0 && rank < samples) std::swap(g, compressed);
    return rank;
}

} // namespace

std::int64_t compress(std::int64_t n, std::int64_t k, double tolerance, std::vector<float>& g) {
    return compress_panel(n, k, tolerance, g);
}
std::int64_t compress(std::int64_t n, std::int64_t k, double tolerance, std::vector<double>& g) {
    return compress_panel(n, k, tolerance, g);
}

} // namespace craton::linalg
