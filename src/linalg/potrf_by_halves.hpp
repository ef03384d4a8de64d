#pragma once

#include "part.hpp"

namespace craton::linalg {

/// Up to this order ScaLAPACK's own right-looking factorisation is as fast.
inline constexpr int UNDIVIDED_ORDER = 2048;

/// As potrf, beyond `undivided` rows: the first half, what it leaves of the second, then that (R. Toledo, 1997,
/// doi:10.1137/S0895479896297744, does so for LU). ScaLAPACK alone updates everything to the right of each block of columns, 32
/// rows or columns at a time: in a matrix whose columns are longer than pages, each element of such a strip is on a page of its
/// own, and beyond an order of about 15,000 looking up pages takes as long as the products do. Halves update with as many rows as
/// they have. Collective, blocking; the part begins where a block does, in rows and in columns.
template <class T> [[nodiscard]] int potrf_by_halves(char uplo, const part<T>& a, int undivided = UNDIVIDED_ORDER) {
    if (a.rows <= undivided) return potrf(uplo, a);
    const int block = a.description[4];
    const int n1 = a.rows / 2 / block * block; // factorisations begin where a block does
    if (n1 == 0) return potrf(uplo, a);
    const int n2 = a.rows - n1;
    const auto a11 = a.within(0, n1, 0, n1);
    const auto a22 = a.within(n1, n2, n1, n2);
    if (const int minor = potrf_by_halves(uplo, a11, undivided); minor != 0) return minor;
    if (uplo == 'U') {
        const auto a12 = a.within(0, n1, n1, n2);
        trsm('L', 'U', 'T', a11, a12);
        syrk('U', 'T', T{-1}, a12, a22);
    } else {
        const auto a21 = a.within(n1, n2, 0, n1);
        trsm('R', 'L', 'T', a11, a21);
        syrk('L', 'N', T{-1}, a21, a22);
    }
    const int minor = potrf_by_halves(uplo, a22, undivided);
    return minor > 0 ? n1 + minor : minor;
}

} // namespace craton::linalg
