#pragma once

#include <craton/array/block_cyclic.hpp>
#include <craton/comm/communicator.hpp>

#include <array>

// The entry points of ScaLAPACK and its BLACS that Craton calls. Integers are 32-bit (LP64), as every packaged ScaLAPACK has them;
// a matrix argument is (storage, first row, first column, descriptor), counted from one.
extern "C" {
int Csys2blacs_handle(MPI_Comm communicator);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridinit(int* context, const char* order, int rows, int cols);
void Cblacs_gridexit(int context);

void pstrtri_(const char* uplo, const char* diag, const int* n, float* a, const int* ia, const int* ja, const int* desca,
              int* info);
void pdtrtri_(const char* uplo, const char* diag, const int* n, double* a, const int* ia, const int* ja, const int* desca,
              int* info);
void pslauum_(const char* uplo, const int* n, float* a, const int* ia, const int* ja, const int* desca);
void pdlauum_(const char* uplo, const int* n, double* a, const int* ia, const int* ja, const int* desca);

void pstrsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n,
             const float* alpha, const float* a, const int* ia, const int* ja, const int* desca, float* b, const int* ib,
             const int* jb, const int* descb);
void pdtrsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* desca, double* b, const int* ib,
             const int* jb, const int* descb);
void pstrmm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n,
             const float* alpha, const float* a, const int* ia, const int* ja, const int* desca, float* b, const int* ib,
             const int* jb, const int* descb);
void pdtrmm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* desca, double* b, const int* ib,
             const int* jb, const int* descb);
void pssyrk_(const char* uplo, const char* trans, const int* n, const int* k, const float* alpha, const float* a, const int* ia,
             const int* ja, const int* desca, const float* beta, float* c, const int* ic, const int* jc, const int* descc);
void pdsyrk_(const char* uplo, const char* trans, const int* n, const int* k, const double* alpha, const double* a, const int* ia,
             const int* ja, const int* desca, const double* beta, double* c, const int* ic, const int* jc, const int* descc);
void psgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha, const float* a,
             const int* ia, const int* ja, const int* desca, const float* b, const int* ib, const int* jb, const int* descb,
             const float* beta, float* c, const int* ic, const int* jc, const int* descc);
void pdgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha, const double* a,
             const int* ia, const int* ja, const int* desca, const double* b, const int* ib, const int* jb, const int* descb,
             const double* beta, double* c, const int* ic, const int* jc, const int* descc);
void pssymm_(const char* side, const char* uplo, const int* m, const int* n, const float* alpha, const float* a, const int* ia,
             const int* ja, const int* desca, const float* b, const int* ib, const int* jb, const int* descb, const float* beta,
             float* c, const int* ic, const int* jc, const int* descc);
void pdsymm_(const char* side, const char* uplo, const int* m, const int* n, const double* alpha, const double* a, const int* ia,
             const int* ja, const int* desca, const double* b, const int* ib, const int* jb, const int* descb, const double* beta,
             double* c, const int* ic, const int* jc, const int* descc);
void psgemv_(const char* trans, const int* m, const int* n, const float* alpha, const float* a, const int* ia, const int* ja,
             const int* desca, const float* x, const int* ix, const int* jx, const int* descx, const int* incx, const float* beta,
             float* y, const int* iy, const int* jy, const int* descy, const int* incy);
void pdgemv_(const char* trans, const int* m, const int* n, const double* alpha, const double* a, const int* ia, const int* ja,
             const int* desca, const double* x, const int* ix, const int* jx, const int* descx, const int* incx, const double* beta,
             double* y, const int* iy, const int* jy, const int* descy, const int* incy);
void pssymv_(const char* uplo, const int* n, const float* alpha, const float* a, const int* ia, const int* ja, const int* desca,
             const float* x, const int* ix, const int* jx, const int* descx, const int* incx, const float* beta, float* y,
             const int* iy, const int* jy, const int* descy, const int* incy);
void pdsymv_(const char* uplo, const int* n, const double* alpha, const double* a, const int* ia, const int* ja, const int* desca,
             const double* x, const int* ix, const int* jx, const int* descx, const int* incx, const double* beta, double* y,
             const int* iy, const int* jy, const int* descy, const int* incy);

void psgetrf_(const int* m, const int* n, float* a, const int* ia, const int* ja, const int* desca, int* pivots, int* info);
void pdgetrf_(const int* m, const int* n, double* a, const int* ia, const int* ja, const int* desca, int* pivots, int* info);
void psgetrs_(const char* trans, const int* n, const int* nrhs, const float* a, const int* ia, const int* ja, const int* desca,
              const int* pivots, float* b, const int* ib, const int* jb, const int* descb, int* info);
void pdgetrs_(const char* trans, const int* n, const int* nrhs, const double* a, const int* ia, const int* ja, const int* desca,
              const int* pivots, double* b, const int* ib, const int* jb, const int* descb, int* info);
void psgeqrf_(const int* m, const int* n, float* a, const int* ia, const int* ja, const int* desca, float* tau, float* work,
              const int* lwork, int* info);
void pdgeqrf_(const int* m, const int* n, double* a, const int* ia, const int* ja, const int* desca, double* tau, double* work,
              const int* lwork, int* info);
void psorgqr_(const int* m, const int* n, const int* k, float* a, const int* ia, const int* ja, const int* desca, const float* tau,
              float* work, const int* lwork, int* info);
void pdorgqr_(const int* m, const int* n, const int* k, double* a, const int* ia, const int* ja, const int* desca,
              const double* tau, double* work, const int* lwork, int* info);
void psgesvd_(const char* jobu, const char* jobvt, const int* m, const int* n, float* a, const int* ia, const int* ja,
              const int* desca, float* s, float* u, const int* iu, const int* ju, const int* descu, float* vt, const int* ivt,
              const int* jvt, const int* descvt, float* work, const int* lwork, int* info);
void pdgesvd_(const char* jobu, const char* jobvt, const int* m, const int* n, double* a, const int* ia, const int* ja,
              const int* desca, double* s, double* u, const int* iu, const int* ju, const int* descu, double* vt, const int* ivt,
              const int* jvt, const int* descvt, double* work, const int* lwork, int* info);
void pssygst_(const int* ibtype, const char* uplo, const int* n, float* a, const int* ia, const int* ja, const int* desca,
              const float* b, const int* ib, const int* jb, const int* descb, float* scale, int* info);
void pdsygst_(const int* ibtype, const char* uplo, const int* n, double* a, const int* ia, const int* ja, const int* desca,
              const double* b, const int* ib, const int* jb, const int* descb, double* scale, int* info);

void pssyev_(const char* jobz, const char* uplo, const int* n, float* a, const int* ia, const int* ja, const int* desca, float* w,
             float* z, const int* iz, const int* jz, const int* descz, float* work, const int* lwork, int* info);
void pdsyev_(const char* jobz, const char* uplo, const int* n, double* a, const int* ia, const int* ja, const int* desca, double* w,
             double* z, const int* iz, const int* jz, const int* descz, double* work, const int* lwork, int* info);
void pssyevd_(const char* jobz, const char* uplo, const int* n, float* a, const int* ia, const int* ja, const int* desca, float* w,
              float* z, const int* iz, const int* jz, const int* descz, float* work, const int* lwork, int* iwork,
              const int* liwork, int* info);
void pdsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* ia, const int* ja, const int* desca,
              double* w, double* z, const int* iz, const int* jz, const int* descz, double* work, const int* lwork, int* iwork,
              const int* liwork, int* info);
}

namespace craton::linalg {

using descriptor = std::array<int, 9>;

/// The routines of one precision under one name.
template <class T> struct scalapack;

template <> struct scalapack<float> {
    static constexpr auto getrf = &psgetrf_;
    static constexpr auto getrs = &psgetrs_;
    static constexpr auto geqrf = &psgeqrf_;
    static constexpr auto orgqr = &psorgqr_;
    static constexpr auto gesvd = &psgesvd_;
    static constexpr auto sygst = &pssygst_;
    static constexpr auto trtri = &pstrtri_;
    static constexpr auto lauum = &pslauum_;
    static constexpr auto trsm = &pstrsm_;
    static constexpr auto trmm = &pstrmm_;
    static constexpr auto syrk = &pssyrk_;
    static constexpr auto gemm = &psgemm_;
    static constexpr auto symm = &pssymm_;
    static constexpr auto gemv = &psgemv_;
    static constexpr auto symv = &pssymv_;
    static constexpr auto syev = &pssyev_;
    static constexpr auto syevd = &pssyevd_;
};

template <> struct scalapack<double> {
    static constexpr auto getrf = &pdgetrf_;
    static constexpr auto getrs = &pdgetrs_;
    static constexpr auto geqrf = &pdgeqrf_;
    static constexpr auto orgqr = &pdorgqr_;
    static constexpr auto gesvd = &pdgesvd_;
    static constexpr auto sygst = &pdsygst_;
    static constexpr auto trtri = &pdtrtri_;
    static constexpr auto lauum = &pdlauum_;
    static constexpr auto trsm = &pdtrsm_;
    static constexpr auto trmm = &pdtrmm_;
    static constexpr auto syrk = &pdsyrk_;
    static constexpr auto gemm = &pdgemm_;
    static constexpr auto symm = &pdsymm_;
    static constexpr auto gemv = &pdgemv_;
    static constexpr auto symv = &pdsymv_;
    static constexpr auto syev = &pdsyev_;
    static constexpr auto syevd = &pdsyevd_;
};

} // namespace craton::linalg
