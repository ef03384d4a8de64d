#pragma once

// The entry points of BLAS and LAPACK that Craton calls. Integers are 32-bit (LP64), matrices column major.
extern "C" {
void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha, const float* a,
            const int* lda, const float* b, const int* ldb, const float* beta, float* c, const int* ldc);
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha, const double* a,
            const int* lda, const double* b, const int* ldb, const double* beta, double* c, const int* ldc);
void sgemv_(const char* trans, const int* m, const int* n, const float* alpha, const float* a, const int* lda, const float* x,
            const int* incx, const float* beta, float* y, const int* incy);
void dgemv_(const char* trans, const int* m, const int* n, const double* alpha, const double* a, const int* lda, const double* x,
            const int* incx, const double* beta, double* y, const int* incy);
void ssyrk_(const char* uplo, const char* trans, const int* n, const int* k, const float* alpha, const float* a, const int* lda,
            const float* beta, float* c, const int* ldc);
void dsyrk_(const char* uplo, const char* trans, const int* n, const int* k, const double* alpha, const double* a, const int* lda,
            const double* beta, double* c, const int* ldc);
void strsm_(const char* side, const char* uplo, const char* transa, const char* diag, const int* m, const int* n,
            const float* alpha, const float* a, const int* lda, float* b, const int* ldb);
void dtrsm_(const char* side, const char* uplo, const char* transa, const char* diag, const int* m, const int* n,
            const double* alpha, const double* a, const int* lda, double* b, const int* ldb);
void strmm_(const char* side, const char* uplo, const char* transa, const char* diag, const int* m, const int* n,
            const float* alpha, const float* a, const int* lda, float* b, const int* ldb);
void dtrmm_(const char* side, const char* uplo, const char* transa, const char* diag, const int* m, const int* n,
            const double* alpha, const double* a, const int* lda, double* b, const int* ldb);
void ssymm_(const char* side, const char* uplo, const int* m, const int* n, const float* alpha, const float* a, const int* lda,
            const float* b, const int* ldb, const float* beta, float* c, const int* ldc);
void dsymm_(const char* side, const char* uplo, const int* m, const int* n, const double* alpha, const double* a, const int* lda,
            const double* b, const int* ldb, const double* beta, double* c, const int* ldc);
void ssymv_(const char* uplo, const int* n, const float* alpha, const float* a, const int* lda, const float* x, const int* incx,
            const float* beta, float* y, const int* incy);
void dsymv_(const char* uplo, const int* n, const double* alpha, const double* a, const int* lda, const double* x, const int* incx,
            const double* beta, double* y, const int* incy);
void slauum_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void dlauum_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dpstrf_(const char* uplo, const int* n, double* a, const int* lda, int* pivots, int* rank, const double* tol, double* work,
             int* info);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work, const int* lwork, int* info);
void dorgqr_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau, double* work, const int* lwork,
             int* info);
void ssyevd_(const char* jobz, const char* uplo, const int* n, float* a, const int* lda, float* w, float* work, const int* lwork,
             int* iwork, const int* liwork, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work, const int* lwork,
             int* iwork, const int* liwork, int* info);
void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* pivots, int* info);
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void sgetrs_(const char* trans, const int* n, const int* nrhs, const float* a, const int* lda, const int* pivots, float* b,
             const int* ldb, int* info);
void dgetrs_(const char* trans, const int* n, const int* nrhs, const double* a, const int* lda, const int* pivots, double* b,
             const int* ldb, int* info);
void sgeqrf_(const int* m, const int* n, float* a, const int* lda, float* tau, float* work, const int* lwork, int* info);
void sorgqr_(const int* m, const int* n, const int* k, float* a, const int* lda, const float* tau, float* work, const int* lwork,
             int* info);
void sgesdd_(const char* jobz, const int* m, const int* n, float* a, const int* lda, float* s, float* u, const int* ldu, float* vt,
             const int* ldvt, float* work, const int* lwork, int* iwork, int* info);
void dgesdd_(const char* jobz, const int* m, const int* n, double* a, const int* lda, double* s, double* u, const int* ldu,
             double* vt, const int* ldvt, double* work, const int* lwork, int* iwork, int* info);
void ssygvd_(const int* itype, const char* jobz, const char* uplo, const int* n, float* a, const int* lda, float* b, const int* ldb,
             float* w, float* work, const int* lwork, int* iwork, const int* liwork, int* info);
void dsygvd_(const int* itype, const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* b,
             const int* ldb, double* w, double* work, const int* lwork, int* iwork, const int* liwork, int* info);
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void strtri_(const char* uplo, const char* diag, const int* n, float* a, const int* lda, int* info);
void dtrtri_(const char* uplo, const char* diag, const int* n, double* a, const int* lda, int* info);
}

namespace craton::linalg {

/// The routines of one precision under one name.
template <class T> struct blas;
template <class T> struct lapack;

template <> struct blas<float> {
    static constexpr auto gemm = &sgemm_;
    static constexpr auto gemv = &sgemv_;
    static constexpr auto syrk = &ssyrk_;
    static constexpr auto trsm = &strsm_;
    static constexpr auto trmm = &strmm_;
    static constexpr auto symm = &ssymm_;
    static constexpr auto symv = &ssymv_;
};

template <> struct blas<double> {
    static constexpr auto gemm = &dgemm_;
    static constexpr auto gemv = &dgemv_;
    static constexpr auto syrk = &dsyrk_;
    static constexpr auto trsm = &dtrsm_;
    static constexpr auto trmm = &dtrmm_;
    static constexpr auto symm = &dsymm_;
    static constexpr auto symv = &dsymv_;
};

template <> struct lapack<float> {
    static constexpr auto getrf = &sgetrf_;
    static constexpr auto getrs = &sgetrs_;
    static constexpr auto geqrf = &sgeqrf_;
    static constexpr auto orgqr = &sorgqr_;
    static constexpr auto gesdd = &sgesdd_;
    static constexpr auto sygvd = &ssygvd_;
    static constexpr auto syevd = &ssyevd_;
    static constexpr auto potrf = &spotrf_;
    static constexpr auto trtri = &strtri_;
    static constexpr auto lauum = &slauum_;
};

template <> struct lapack<double> {
    static constexpr auto getrf = &dgetrf_;
    static constexpr auto getrs = &dgetrs_;
    static constexpr auto geqrf = &dgeqrf_;
    static constexpr auto orgqr = &dorgqr_;
    static constexpr auto gesdd = &dgesdd_;
    static constexpr auto sygvd = &dsygvd_;
    static constexpr auto syevd = &dsyevd_;
    static constexpr auto potrf = &dpotrf_;
    static constexpr auto trtri = &dtrtri_;
    static constexpr auto lauum = &dlauum_;
};

} // namespace craton::linalg
