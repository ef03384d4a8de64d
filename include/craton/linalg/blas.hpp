#pragma once

#include <cstdint>
#include <string>

namespace craton::linalg {

/// Threads that one call of the linked BLAS may use (OpenBLAS; without effect on others). A program that calls BLAS from several
/// threads of its own sets 1: OpenBLAS would otherwise queue the calls for its one pool.
void set_blas_threads(int threads) noexcept;

/// Gives BLAS so many threads for the life of this object, then what it had before.
class blas_threads_scope {
  public:
    explicit blas_threads_scope(int threads) noexcept;
    blas_threads_scope(const blas_threads_scope&) = delete;
    blas_threads_scope& operator=(const blas_threads_scope&) = delete;
    ~blas_threads_scope();

  private:
    int before_;
};

/// The processor OpenBLAS takes this machine for, e.g. "SkylakeX"; "unknown" for another BLAS.
[[nodiscard]] std::string blas_core();

/// How the linked OpenBLAS was built; "unknown" for another BLAS.
[[nodiscard]] std::string blas_configuration();

/// Measured rate of an n x n x n product by one call, best of five, in GFLOP/s. T is float or double.
template <class T> [[nodiscard]] double measured_gemm_gflops(int n);

extern template double measured_gemm_gflops<float>(int);
extern template double measured_gemm_gflops<double>(int);

/// The same for one thread, by the processor time that it got: what others do on this core meanwhile does not count.
template <class T> [[nodiscard]] double gemm_gflops_of_one_thread(int n);

extern template double gemm_gflops_of_one_thread<float>(int);
extern template double gemm_gflops_of_one_thread<double>(int);

/// C = A A^T, upper triangle of the column-major n x n matrix C only, from the column-major n x k matrix A (a row-major k x n
/// panel). n (n + 1) k flops. Any thread.
void gram_upper(std::int64_t n, std::int64_t k, const float* a, float* c);
void gram_upper(std::int64_t n, std::int64_t k, const double* a, double* c);

/// C += A B for row-major matrices (m x k, k x n, m x n) whose rows lie lda, ldb and ldc elements apart. 2 m n k flops. Any thread.
void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda, const float* b,
                  std::int64_t ldb, float* c, std::int64_t ldc);
void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda, const double* b,
                  std::int64_t ldb, double* c, std::int64_t ldc);

} // namespace craton::linalg
