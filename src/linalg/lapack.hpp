#pragma once

// The entry points of BLAS and LAPACK that Craton calls. Integers are 32-bit (LP64), matrices column major.
extern "C" {
void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha, const float* a,
            const int* lda, const float* b, const int* ldb, const float* beta, float* c, const int* ldc);
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha, const double* a,
            const int* lda, const double* b, const int* ldb, const double* beta, double* c, const int* ldc);
void ssyrk_(const char* uplo, const char* trans, const int* n, const int* k, const float* alpha, const float* a, const int* lda,
            const float* beta, float* c, const int* ldc);
void dsyrk_(const char* uplo, const char* trans, const int* n, const int* k, const double* alpha, const double* a, const int* lda,
            const double* beta, double* c, const int* ldc);
void dpstrf_(const char* uplo, const int* n, double* a, const int* lda, int* pivots, int* rank, const double* tol, double* work,
             int* info);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work, const int* lwork, int* info);
void dorgqr_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau, double* work, const int* lwork,
             int* info);
}

namespace craton::linalg {

/// The routines of one precision under one name.
template <class T> struct blas;

template <> struct blas<float> {
    static constexpr auto gemm = &sgemm_;
    static constexpr auto syrk = &ssyrk_;
};

template <> struct blas<double> {
    static constexpr auto gemm = &dgemm_;
    static constexpr auto syrk = &dsyrk_;
};

} // namespace craton::linalg
