#include "factor.hpp"

#include "linalg/lapack.hpp"

#include <craton/base/aligned_vector.hpp>
#include <craton/base/error.hpp>
#include <craton/base/timer.hpp>
#include <craton/linalg/blas.hpp>

#include <fmt/format.h>

#include <cstddef>

namespace craton::bench {

namespace {

template <class T> double seconds_of_potrf(int n) {
    const auto order = static_cast<std::size_t>(n);
    base::aligned_vector<T> matrix(order * order, T{1} / static_cast<T>(n)); // of rank one, and a diagonal
    for (std::size_t i = 0; i < order; ++i) matrix[i * (order + 1)] += T{2};
    int info = 0;
    const base::timer clock;
    linalg::lapack<T>::potrf("L", &n, matrix.data(), &n, &info);
    const double seconds = clock.seconds();
    if (info != 0) throw user_error(fmt::format("LAPACK's potrf of order {} answers {}; expected: 0", n, info));
    return seconds;
}

} // namespace

double lapack_cholesky_seconds(int n, bool single, int threads) {
    const linalg::blas_threads_scope scope(threads);
    return single ? seconds_of_potrf<float>(n) : seconds_of_potrf<double>(n);
}

} // namespace craton::bench
