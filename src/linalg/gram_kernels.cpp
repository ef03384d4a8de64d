#include "gram_kernels.hpp"

#include "lapack.hpp"

#include <craton/base/narrow.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace craton::linalg {

namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T> void gemm(int m, int n, int k, const T* a, int lda, const T* b, int ldb, T* c, int ldc) {
    const T one = 1;
    const T zero = 0;
    blas<T>::gemm("N", "N", &m, &n, &k, &one, a, &lda, b, &ldb, &zero, c, &ldc);
}

template <class T> void upper_of_gram(int k, int n, const T* g, T* c) {
    const T one = 1;
    const T zero = 0;
    blas<T>::syrk("U", "T", &k, &n, &one, g, &n, &zero, c, &k);
}

// g^T g in double. Its products are summed in T where the tolerance is far above T's rounding, else in double.
template <class T> std::vector<double> gram_of_samples(int n, int k, double tolerance, const std::vector<T>& g) {
    const std::size_t elements = at(k) * at(k);
    constexpr double far_above_rounding = 1e-4;
    if (std::is_same_v<T, float> && tolerance < far_above_rounding) {
        thread_local std::vector<double> wide; // nothing here runs handlers
        wide.assign(g.begin(), g.begin() + static_cast<std::ptrdiff_t>(at(n) * at(k)));
        std::vector<double> product(elements);
        upper_of_gram(k, n, wide.data(), product.data());
        return product;
    }
    std::vector<T> product(elements);
    upper_of_gram(k, n, g.data(), product.data());
    return {product.begin(), product.end()};
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

template <class T> std::int64_t compress_panel(std::int64_t n_columns, std::int64_t samples, double tolerance, std::vector<T>& g) {
    const int n = base::narrow<int>(n_columns, "columns of a panel");
    const int k = base::narrow<int>(samples, "samples of a panel");
    auto gram = gram_of_samples(n, k, tolerance, g);
    double trace = 0;
    for (std::int64_t t = 0; t < samples; ++t) trace += gram[at(t * samples + t)];
    if (!std::isfinite(trace)) return samples; // the product shall show what is in the panel
    if (trace == 0) return 0;
    int rank = 0;
    const auto range = orthonormal_range(k, tolerance, trace, gram, rank);
    if (rank >= k || rank == 0) return samples;
    const std::vector<T> q(range.begin(), range.end());
    thread_local std::vector<T> compressed;
    compressed.resize(at(n_columns) * at(rank));
    gemm(n, rank, k, g.data(), n, q.data(), k, compressed.data(), n);
    std::swap(g, compressed);
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
