#include <craton/linalg/dist_array_factor.hpp>

#include "block_cyclic_copy.hpp"
#include "block_cyclic_matrix.hpp"
#include "lapack.hpp"
#include "not_positive_definite.hpp"
#include "rank_zero.hpp"

#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/linalg/cholesky.hpp>
#include <craton/linalg/eigenproblem.hpp>
#include <craton/linalg/triangle.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace craton::linalg {

namespace {

using array::convergent_matrix;
using array::dist_array;

template <class T> void check_square(const dist_array<T, 2>& a, const char* call) {
    if (a.extents()[0] != a.extents()[1]) {
        throw user_error(fmt::format("{}: the array is {} x {}; allowed: square matrices", call, a.extents()[0], a.extents()[1]));
    }
}

template <class T> void check_pair(const dist_array<T, 2>& a, const dist_array<T, 2>& result, const char* call) {
    check_square(a, call);
    check_square(result, call);
    if (&a.ranks() != &result.ranks())
        throw user_error(fmt::format("{}: the arrays belong to different worlds; allowed: one world", call));
    if (&a == &result) throw user_error(fmt::format("{}: the result is the array itself; allowed: an array of its own", call));
    if (a.extents() != result.extents()) {
        throw user_error(fmt::format("{}: the array is {} x {}, the result {} x {}; allowed: the same shape", call, a.extents()[0],
                                     a.extents()[1], result.extents()[0], result.extents()[1]));
    }
}

// The elements on the other side of the diagonal become zero.
template <class T> void keep_triangle(convergent_matrix<T>& matrix, triangle kept) {
    for_each_own_block(matrix, [&](const auto& cells, T* first, const auto& strides) {
        for (std::int64_t j = cells.low[1]; j < cells.high[1]; ++j) {
            for (std::int64_t i = cells.low[0]; i < cells.high[0]; ++i) {
                if (kept == triangle::upper ? i > j : i < j) first[array::offset_of({i, j}, cells.low, strides)] = T{0};
            }
        }
    });
}

template <class T>
std::string solve_eigenproblem(rank_zero<T>& matrix, std::vector<T>& values, bool with_vectors, const char* call) {
    if (auto failure = matrix.why_not_finite(call, triangle::upper); !failure.empty()) return failure;
    const int n = base::narrow<int>(matrix.rows(), "order of an eigenproblem");
    const char* const job = with_vectors ? "V" : "N";
    values.resize(static_cast<std::size_t>(n));
    T length = 0;
    int integer_length = 0;
    int info = 0;
    constexpr int ask = -1;
    lapack<T>::syevd(job, "U", &n, matrix.data(), &n, values.data(), &length, &ask, &integer_length, &ask, &info);
    // Single precision counts exactly to 2^24 only; what is documented: 1 + 6 n + 2 n^2.
    const auto least = 1 + 6 * matrix.rows() + 2 * matrix.rows() * matrix.rows();
    const int work_length =
        base::narrow<int>(std::max(static_cast<std::int64_t>(length), with_vectors ? least : 2 * matrix.rows() + 1),
                          "workspace of an eigenproblem (more ranks need less each)");
    std::vector<T> work(static_cast<std::size_t>(work_length));
    std::vector<int> integers(static_cast<std::size_t>(std::max(1, integer_length)));
    integer_length = static_cast<int>(integers.size());
    lapack<T>::syevd(job, "U", &n, matrix.data(), &n, values.data(), work.data(), &work_length, integers.data(), &integer_length,
                     &info);
    if (info > 0) return fmt::format("{}: the iteration did not converge (LAPACK says {})", call, info);
    if (info < 0) return fmt::format("{}: LAPACK refused argument {}", call, -info);
    return {};
}

template <class T> std::string factor(rank_zero<T>& matrix, const char* call) {
    if (auto failure = matrix.why_not_finite(call, triangle::upper); !failure.empty()) return failure;
    const int n = base::narrow<int>(matrix.rows(), "order of a matrix");
    int info = 0;
    lapack<T>::potrf("U", &n, matrix.data(), &n, &info);
    if (info > 0) return why_not_positive_definite(info, n, call);
    return info < 0 ? fmt::format("{}: LAPACK refused argument {}", call, -info) : "";
}

template <class T> std::string invert_lower(rank_zero<T>& matrix, const char* call) {
    if (auto failure = matrix.why_not_finite(call, triangle::lower); !failure.empty()) return failure;
    const int n = base::narrow<int>(matrix.rows(), "order of a matrix");
    int info = 0;
    lapack<T>::trtri("L", "N", &n, matrix.data(), &n, &info);
    if (info > 0) {
        return fmt::format(
            "{0}: element ({1}, {1}) of the {2} x {2} matrix is zero, so that it has no inverse; allowed: no zero on the "
            "diagonal",
            call, info - 1, n);
    }
    return info < 0 ? fmt::format("{}: LAPACK refused argument {}", call, -info) : "";
}

} // namespace

template <class T> std::vector<double> symmetric_eigenvalues(const dist_array<T, 2>& matrix, workers who) {
    constexpr const char* call = "symmetric_eigenvalues";
    check_square(matrix, call);
    matrix.sync();
    if (by_one_rank(who, matrix.extents()[0], matrix.ranks().size())) {
        rank_zero<T> whole(matrix);
        std::vector<T> values;
        whole.on_first([&] { return solve_eigenproblem(whole, values, false, call); });
        return whole.on_all(values, matrix.extents()[0]);
    }
    auto copy = block_cyclic_matrix<T>(matrix.ranks(), matrix.extents()[0], matrix.extents()[0]);
    copy_elements(matrix, copy);
    return symmetric_eigenvalues(copy);
}

template <class T>
std::vector<double> symmetric_eigenproblem(const dist_array<T, 2>& matrix, dist_array<T, 2>& vectors, workers who) {
    constexpr const char* call = "symmetric_eigenproblem";
    check_pair(matrix, vectors, call);
    matrix.sync();
    const std::int64_t n = matrix.extents()[0];
    if (by_one_rank(who, n, matrix.ranks().size())) {
        rank_zero<T> whole(matrix);
        std::vector<T> values;
        whole.on_first([&] { return solve_eigenproblem(whole, values, true, call); });
        whole.put(vectors);
        return whole.on_all(values, n);
    }
    auto copy = block_cyclic_matrix<T>(matrix.ranks(), matrix.extents()[0], matrix.extents()[0]);
    auto found = block_cyclic_matrix<T>(matrix.ranks(), matrix.extents()[0], matrix.extents()[0]);
    copy_elements(matrix, copy);
    const auto values = symmetric_eigenproblem(copy, found);
    copy_elements(found, vectors, false);
    return values;
}

template <class T> void cholesky_factor(const dist_array<T, 2>& matrix, dist_array<T, 2>& lower, workers who) {
    constexpr const char* call = "cholesky_factor";
    check_pair(matrix, lower, call);
    matrix.sync();
    const std::int64_t n = matrix.extents()[0];
    if (by_one_rank(who, n, matrix.ranks().size())) {
        rank_zero<T> whole(matrix);
        whole.on_first([&] { return factor(whole, call); });
        whole.keep(triangle::upper);
        whole.put(lower, form::transposed); // of U
        return;
    }
    auto copy = block_cyclic_matrix<T>(matrix.ranks(), matrix.extents()[0], matrix.extents()[0]);
    copy_elements(matrix, copy);
    const cholesky<T> factored(copy);
    keep_triangle(copy, triangle::upper);
    copy_elements(copy, lower, true);
}

template <class T> void lower_triangular_inverse(const dist_array<T, 2>& lower, dist_array<T, 2>& inverse, workers who) {
    constexpr const char* call = "lower_triangular_inverse";
    check_pair(lower, inverse, call);
    lower.sync();
    const std::int64_t n = lower.extents()[0];
    if (by_one_rank(who, n, lower.ranks().size())) {
        rank_zero<T> whole(lower);
        whole.on_first([&] { return invert_lower(whole, call); });
        whole.keep(triangle::lower);
        whole.put(inverse);
        return;
    }
    auto copy = block_cyclic_matrix<T>(lower.ranks(), lower.extents()[0], lower.extents()[0]);
    copy_elements(lower, copy);
    invert_triangle(copy, triangle::lower);
    keep_triangle(copy, triangle::lower);
    copy_elements(copy, inverse, false);
}

template std::vector<double> symmetric_eigenvalues(const dist_array<float, 2>&, workers);
template std::vector<double> symmetric_eigenvalues(const dist_array<double, 2>&, workers);
template std::vector<double> symmetric_eigenproblem(const dist_array<float, 2>&, dist_array<float, 2>&, workers);
template std::vector<double> symmetric_eigenproblem(const dist_array<double, 2>&, dist_array<double, 2>&, workers);
template void cholesky_factor(const dist_array<float, 2>&, dist_array<float, 2>&, workers);
template void cholesky_factor(const dist_array<double, 2>&, dist_array<double, 2>&, workers);
template void lower_triangular_inverse(const dist_array<float, 2>&, dist_array<float, 2>&, workers);
template void lower_triangular_inverse(const dist_array<double, 2>&, dist_array<double, 2>&, workers);

} // namespace craton::linalg
