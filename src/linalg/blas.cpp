#include <craton/linalg/blas.hpp>

#include "lapack.hpp"

#include <craton/base/narrow.hpp>
#include <craton/base/timer.hpp>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <vector>

extern "C" {
// Only OpenBLAS has these; with another BLAS they stay null.
[[gnu::weak]] void openblas_set_num_threads(int threads);
[[gnu::weak]] int openblas_get_num_threads();
[[gnu::weak]] char* openblas_get_corename();
[[gnu::weak]] char* openblas_get_config();
}

namespace craton::linalg {

void set_blas_threads(int threads) noexcept {
    if (openblas_set_num_threads != nullptr) openblas_set_num_threads(threads);
}

blas_threads_scope::blas_threads_scope(int threads) noexcept
    : before_(openblas_get_num_threads == nullptr ? 1 : openblas_get_num_threads()) {
    set_blas_threads(threads);
}

blas_threads_scope::~blas_threads_scope() { set_blas_threads(before_); }

std::string blas_core() { return openblas_get_corename == nullptr ? "unknown" : openblas_get_corename(); }

std::string blas_configuration() { return openblas_get_config == nullptr ? "unknown" : openblas_get_config(); }

namespace {

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double wall_seconds() {
    static const base::timer since_the_first;
    return since_the_first.seconds();
}

template <class T> double best_gemm_gflops(int n, double (*now)()) {
    const auto elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    const std::vector<T> a(elements, T{1});
    const std::vector<T> b(elements, T{1});
    std::vector<T> c(elements, T{0});
    const T one{1};
    const T zero{0};
    double best = 0;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const double start = now();
        blas<T>::gemm("N", "N", &n, &n, &n, &one, a.data(), &n, b.data(), &n, &zero, c.data(), &n);
        best = std::max(best, 2.0 * n * n * static_cast<double>(n) / (now() - start) / 1e9);
    }
    return best;
}

} // namespace

template <class T> double measured_gemm_gflops(int n) { return best_gemm_gflops<T>(n, &wall_seconds); }

template <class T> double gemm_gflops_of_one_thread(int n) {
    const blas_threads_scope one_thread(1);
    return best_gemm_gflops<T>(n, &thread_seconds);
}

template double measured_gemm_gflops<float>(int);
template double measured_gemm_gflops<double>(int);
template double gemm_gflops_of_one_thread<float>(int);
template double gemm_gflops_of_one_thread<double>(int);

template <class T> static void upper_of_gram(std::int64_t n, std::int64_t k, const T* a, T* c) {
    const int order = base::narrow<int>(n, "order of a product");
    const int inner = base::narrow<int>(k, "inner extent of a product");
    const T one = 1;
    const T zero = 0;
    blas<T>::syrk("U", "N", &order, &inner, &one, a, &order, &zero, c, &order);
}

void gram_upper(std::int64_t n, std::int64_t k, const float* a, float* c) { upper_of_gram(n, k, a, c); }
void gram_upper(std::int64_t n, std::int64_t k, const double* a, double* c) { upper_of_gram(n, k, a, c); }

// Row major is column major of the transposes: C^T += B^T A^T.
template <class T>
static void add_product(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
                        T* c, std::int64_t ldc) {
    const int rows = base::narrow<int>(m, "rows of a product");
    const int cols = base::narrow<int>(n, "columns of a product");
    const int inner = base::narrow<int>(k, "inner extent of a product");
    const int row_a = base::narrow<int>(lda, "row of a product's factor");
    const int row_b = base::narrow<int>(ldb, "row of a product's factor");
    const int row_c = base::narrow<int>(ldc, "row of a product");
    const T one = 1;
    blas<T>::gemm("N", "N", &cols, &rows, &inner, &one, b, &row_b, a, &row_a, &one, c, &row_c);
}

void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda, const float* b,
                  std::int64_t ldb, float* c, std::int64_t ldc) {
    add_product(m, n, k, a, lda, b, ldb, c, ldc);
}
void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda, const double* b,
                  std::int64_t ldb, double* c, std::int64_t ldc) {
    add_product(m, n, k, a, lda, b, ldb, c, ldc);
}

} // namespace craton::linalg
