#pragma once

namespace craton::bench {

/// Seconds that LAPACK's potrf takes for the lower triangle of an n x n positive-definite matrix in this process, BLAS with so many
/// threads. n^2 elements of memory. Not collective. Throws user_error when LAPACK does.
[[nodiscard]] double lapack_cholesky_seconds(int n, bool single, int threads);

} // namespace craton::bench
