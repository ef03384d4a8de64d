#pragma once

#include <craton/array/block_cyclic.hpp>
#include <craton/comm/communicator.hpp>

#include <array>

// The entry points of ScaLAPACK and its BLACS that Craton calls. Integers are 32-bit (LP64), as every packaged ScaLAPACK has them.
extern "C" {
int Csys2blacs_handle(MPI_Comm communicator);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridinit(int* context, const char* order, int rows, int cols);
void Cblacs_gridexit(int context);

void pspotrf_(const char* uplo, const int* n, float* a, const int* ia, const int* ja, const int* desca, int* info);
void pdpotrf_(const char* uplo, const int* n, double* a, const int* ia, const int* ja, const int* desca, int* info);
void pspotrs_(const char* uplo, const int* n, const int* nrhs, const float* a, const int* ia, const int* ja, const int* desca,
              float* b, const int* ib, const int* jb, const int* descb, int* info);
void pdpotrs_(const char* uplo, const int* n, const int* nrhs, const double* a, const int* ia, const int* ja, const int* desca,
              double* b, const int* ib, const int* jb, const int* descb, int* info);
}

namespace craton::linalg {

using descriptor = std::array<int, 9>;

} // namespace craton::linalg
