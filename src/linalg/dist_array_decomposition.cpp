#include <craton/linalg/dist_array_decomposition.hpp>

#include "block_cyclic_copy.hpp"
#include "block_cyclic_matrix.hpp"
#include "not_positive_definite.hpp"
#include "part.hpp"
#include "rank_zero.hpp"
#include "symmetric_parts.hpp"

#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/linalg/cholesky.hpp>
#include <craton/linalg/eigenproblem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace craton::linalg {

namespace {

using array::convergent_matrix;
using array::dist_array;
using array::place;

constexpr int ask = -1; // as a length of workspace: say how much is needed

template <class T> struct result_array {
    const dist_array<T, 2>* array;
    const char* name;
    place<2> extents; ///< allowed
};

template <class T>
void check_results(const char* call, std::initializer_list<const dist_array<T, 2>*> operands,
                   std::initializer_list<result_array<T>> results) {
    std::vector<const dist_array<T, 2>*> seen(operands);
    for (const auto& result : results) {
        if (&result.array->ranks() != &seen.front()->ranks())
            throw user_error(fmt::format("{}: the arrays belong to different worlds; allowed: one world", call));
        if (std::ranges::count(seen, result.array) > 0)
            throw user_error(fmt::format("{}: {} is another of its arrays too; allowed: an array of its own", call, result.name));
        seen.push_back(result.array);
        const auto& found = result.array->extents();
        if (found != result.extents) {
            throw user_error(fmt::format("{}: {} is {} x {}; allowed: {} x {}", call, result.name, found[0], found[1],
                                         result.extents[0], result.extents[1]));
        }
    }
}

// What ScaLAPACK or LAPACK said in the first element, in the precision of the matrix: single precision counts exactly to 2^24 only.
template <class T> std::vector<T> workspace(T said, std::int64_t least, const char* call) {
    const auto length = static_cast<std::int64_t>(1.0001 * static_cast<double>(said)) + 1;
    return std::vector<T>(static_cast<std::size_t>(base::narrow<int>(std::max(length, least), call)));
}

void require_fine(int info, const char* call) {
    if (info > 0) throw user_error(fmt::format("{}: the iteration did not converge (ScaLAPACK says {})", call, info));
    if (info < 0) throw user_error(fmt::format("{}: ScaLAPACK refused argument {}", call, -info));
}

std::string why_not_fine(int info, const char* call) {
    if (info > 0) return fmt::format("{}: the iteration did not converge (LAPACK says {})", call, info);
    return info < 0 ? fmt::format("{}: LAPACK refused argument {}", call, -info) : "";
}

template <class T> void require_finite(convergent_matrix<T>& matrix, const char* call) {
    matrix.ranks().barrier(); // polls, before BLACS and ScaLAPACK, which do not
    comm::agree(matrix.ranks().communicator(), why_not_finite(matrix, call));
}

// Rows and columns of `from` as far as `to` has them; below the diagonal zeros, if so wanted.
template <class T> void copy_corner(convergent_matrix<T>& from, dist_array<T, 2>& to, bool upper) {
    std::vector<std::vector<T>> cleared; // stay until all is put
    std::vector<array::array_handle> under_way;
    for_each_own_block(from, [&](const auto& cells, T* first, const auto& strides) {
        const auto both = intersect(cells, to.layout().whole());
        if (both.empty()) return;
        if (!upper) {
            under_way.push_back(to.start_put(both, array::strided_memory<const T, 2>{first, strides}));
            return;
        }
        auto& own = cleared.emplace_back(static_cast<std::size_t>(both.cells()));
        auto* next = own.data();
        for (std::int64_t i = both.low[0]; i < both.high[0]; ++i)
            for (std::int64_t j = both.low[1]; j < both.high[1]; ++j)
                *next++ = i > j ? T{0} : first[array::offset_of({i, j}, cells.low, strides)];
        under_way.push_back(to.start_put(both, array::strided_memory<const T, 2>{own.data(), {both.extent(1), 1}}));
    });
    for (auto& each : under_way) each.wait();
    to.ranks().barrier();
}

template <class T> void qr_by_all(const dist_array<T, 2>& matrix, dist_array<T, 2>& q, dist_array<T, 2>& r, const char* call) {
    auto copy = block_cyclic_matrix<T>(matrix.ranks(), matrix.extents()[0], matrix.extents()[1]);
    copy_elements(matrix, copy);
    require_finite(copy, call);
    const process_context context = context_of(copy);
    const auto a = whole(context, copy);
    const int kept = std::min(a.rows, a.cols);
    const auto& layout = copy.layout();
    std::vector<T> scales(static_cast<std::size_t>(layout.local_cols(copy.ranks().rank()) + layout.cols.block));
    std::vector<T> work(1);
    int info = 0;
    const auto reflect = [&](int length) {
        scalapack<T>::geqrf(&a.rows, &a.cols, a.data, &a.row, &a.col, a.description.data(), scales.data(), work.data(), &length,
                            &info);
    };
    reflect(ask);
    work = workspace(work.front(), 1, call);
    reflect(static_cast<int>(work.size()));
    require_fine(info, call);
    copy.ranks().barrier();
    copy_corner(copy, r, true);
    const auto form_q = [&](int length) {
        scalapack<T>::orgqr(&a.rows, &kept, &kept, a.data, &a.row, &a.col, a.description.data(), scales.data(), work.data(),
                            &length, &info);
    };
    form_q(ask);
    work = workspace(work.front(), 1, call);
    form_q(static_cast<int>(work.size()));
    require_fine(info, call);
    copy.ranks().barrier();
    copy_corner(copy, q, false);
}

template <class T> std::string qr_by_one(rank_zero<T>& a, rank_zero<T>& r, const char* call) {
    if (auto failure = a.why_not_finite(call); !failure.empty()) return failure;
    const int m = base::narrow<int>(a.rows(), call), n = base::narrow<int>(a.cols(), call), kept = std::min(m, n);
    std::vector<T> scales(static_cast<std::size_t>(kept)), work(1);
    int info = 0;
    const auto reflect = [&](int length) { lapack<T>::geqrf(&m, &n, a.data(), &m, scales.data(), work.data(), &length, &info); };
    reflect(ask);
    work = workspace(work.front(), n, call);
    reflect(static_cast<int>(work.size()));
    for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < kept; ++i) r(i, j) = i > j ? T{0} : a(i, j);
    const auto form_q = [&](int length) {
        lapack<T>::orgqr(&m, &kept, &kept, a.data(), &m, scales.data(), work.data(), &length, &info);
    };
    form_q(ask);
    work = workspace(work.front(), n, call);
    form_q(static_cast<int>(work.size()));
    return why_not_fine(info, call);
}

template <class T>
std::vector<double> svd_by_all(const dist_array<T, 2>& matrix, dist_array<T, 2>& u, dist_array<T, 2>& vt, const char* call) {
    const auto [m, n] = matrix.extents();
    auto copy = block_cyclic_matrix<T>(matrix.ranks(), m, n);
    copy_elements(matrix, copy);
    require_finite(copy, call);
    auto left = block_cyclic_matrix<T>(matrix.ranks(), m, std::min(m, n));
    auto right = block_cyclic_matrix<T>(matrix.ranks(), std::min(m, n), n);
    copy.ranks().barrier();
    const process_context context = context_of(copy);
    const auto a = whole(context, copy), b = whole(context, left), c = whole(context, right);
    std::vector<T> values(static_cast<std::size_t>(std::min(m, n)));
    std::vector<T> work(1);
    int info = 0;
    const auto run = [&](int length) {
        scalapack<T>::gesvd("V", "V", &a.rows, &a.cols, a.data, &a.row, &a.col, a.description.data(), values.data(), b.data, &b.row,
                            &b.col, b.description.data(), c.data, &c.row, &c.col, c.description.data(), work.data(), &length,
                            &info);
    };
    run(ask);
    work = workspace(work.front(), 1, call);
    run(static_cast<int>(work.size()));
    require_fine(info, call);
    copy.ranks().barrier();
    copy_corner(left, u, false);
    copy_corner(right, vt, false);
    return {values.begin(), values.end()};
}

template <class T>
std::string svd_by_one(rank_zero<T>& a, rank_zero<T>& u, rank_zero<T>& vt, std::vector<T>& values, const char* call) {
    if (auto failure = a.why_not_finite(call); !failure.empty()) return failure;
    const int m = base::narrow<int>(a.rows(), call), n = base::narrow<int>(a.cols(), call), kept = std::min(m, n);
    values.resize(static_cast<std::size_t>(kept));
    std::vector<T> work(1);
    std::vector<int> integers(static_cast<std::size_t>(8 * kept));
    int info = 0;
    const auto run = [&](int length) {
        lapack<T>::gesdd("S", &m, &n, a.data(), &m, values.data(), u.data(), &m, vt.data(), &kept, work.data(), &length,
                         integers.data(), &info);
    };
    run(ask);
    work = workspace(work.front(), 1, call);
    run(static_cast<int>(work.size()));
    return why_not_fine(info, call);
}

template <class T>
std::vector<double> eigenproblem_by_all(const dist_array<T, 2>& matrix, const dist_array<T, 2>& metric, dist_array<T, 2>& vectors,
                                        const char* call) {
    const std::int64_t n = matrix.extents()[0];
    auto a = block_cyclic_matrix<T>(matrix.ranks(), n, n);
    auto b = block_cyclic_matrix<T>(matrix.ranks(), n, n);
    copy_elements(matrix, a);
    copy_elements(metric, b);
    a.ranks().barrier();
    comm::agree(a.ranks().communicator(), describe_not_finite(storage_of_upper_triangle(n), a, call));
    const cholesky<T> factor(b); // B = U^T U; A becomes U^-T A U^-1, whose vectors y are U x
    const process_context context = context_of(a);
    const auto reduced = whole(context, a), upper = whole(context, b);
    constexpr int a_x_is_w_b_x = 1;
    T scale = 1;
    int info = 0;
    scalapack<T>::sygst(&a_x_is_w_b_x, "U", &reduced.rows, reduced.data, &reduced.row, &reduced.col, reduced.description.data(),
                        upper.data, &upper.row, &upper.col, upper.description.data(), &scale, &info);
    require_fine(info, call);
    a.ranks().barrier();
    auto found = block_cyclic_matrix<T>(matrix.ranks(), n, n);
    auto values = symmetric_eigenproblem(a, found);
    for (double& value : values) value *= static_cast<double>(scale);
    factor.solve_factor(found);
    copy_elements(found, vectors, false);
    return values;
}

template <class T> std::string eigenproblem_by_one(rank_zero<T>& a, rank_zero<T>& b, std::vector<T>& values, const char* call) {
    for (rank_zero<T>* const each : {&a, &b})
        if (auto failure = each->why_not_finite(call, triangle::upper); !failure.empty()) return failure;
    const int n = base::narrow<int>(a.rows(), call);
    values.resize(static_cast<std::size_t>(n));
    std::vector<T> work(1);
    std::vector<int> integers(1);
    constexpr int a_x_is_w_b_x = 1;
    int info = 0;
    const auto run = [&](int length, int integer_length) {
        lapack<T>::sygvd(&a_x_is_w_b_x, "V", "U", &n, a.data(), &n, b.data(), &n, values.data(), work.data(), &length,
                         integers.data(), &integer_length, &info);
    };
    run(ask, ask);
    work = workspace(work.front(), 1 + 6 * a.rows() + 2 * a.rows() * a.rows(), call);
    integers.resize(static_cast<std::size_t>(std::max(integers.front(), 3 + 5 * n)));
    run(static_cast<int>(work.size()), static_cast<int>(integers.size()));
    return info > n ? why_not_positive_definite(info - n, n, call) : why_not_fine(info, call);
}

} // namespace

template <class T> void qr(const dist_array<T, 2>& matrix, dist_array<T, 2>& q, dist_array<T, 2>& r, workers who) {
    constexpr const char* call = "qr";
    const auto [m, n] = matrix.extents();
    const std::int64_t kept = std::min(m, n);
    check_results<T>(call, {&matrix}, {{&q, "q", {m, kept}}, {&r, "r", {kept, n}}});
    matrix.sync();
    if (!by_one_rank(who, kept, matrix.ranks().size())) return qr_by_all(matrix, q, r, call);
    rank_zero<T> a(matrix), triangle(matrix.ranks(), {kept, n});
    a.on_first([&] { return qr_by_one(a, triangle, call); });
    triangle.put(r);
    a.put(q);
}

template <class T> std::vector<double> svd(const dist_array<T, 2>& matrix, dist_array<T, 2>& u, dist_array<T, 2>& vt, workers who) {
    constexpr const char* call = "svd";
    const auto [m, n] = matrix.extents();
    const std::int64_t kept = std::min(m, n);
    check_results<T>(call, {&matrix}, {{&u, "u", {m, kept}}, {&vt, "vt", {kept, n}}});
    matrix.sync();
    if (!by_one_rank(who, kept, matrix.ranks().size())) return svd_by_all(matrix, u, vt, call);
    rank_zero<T> a(matrix), left(matrix.ranks(), {m, kept}), right(matrix.ranks(), {kept, n});
    std::vector<T> values;
    a.on_first([&] { return svd_by_one(a, left, right, values, call); });
    left.put(u);
    right.put(vt);
    return a.on_all(values, kept);
}

template <class T>
std::vector<double> symmetric_eigenproblem(const dist_array<T, 2>& matrix, const dist_array<T, 2>& metric,
                                           dist_array<T, 2>& vectors, workers who) {
    constexpr const char* call = "symmetric_eigenproblem";
    const auto [m, n] = matrix.extents();
    if (m != n) throw user_error(fmt::format("{}: the matrix is {} x {}; allowed: square matrices", call, m, n));
    check_results<T>(call, {&matrix}, {{&metric, "the metric", {n, n}}, {&vectors, "the array of vectors", {n, n}}});
    matrix.sync();
    metric.sync();
    if (!by_one_rank(who, n, matrix.ranks().size())) return eigenproblem_by_all(matrix, metric, vectors, call);
    rank_zero<T> a(matrix), b(metric);
    std::vector<T> values;
    a.on_first([&] { return eigenproblem_by_one(a, b, values, call); });
    a.put(vectors);
    return a.on_all(values, n);
}

template void qr(const dist_array<float, 2>&, dist_array<float, 2>&, dist_array<float, 2>&, workers);
template void qr(const dist_array<double, 2>&, dist_array<double, 2>&, dist_array<double, 2>&, workers);
template std::vector<double> svd(const dist_array<float, 2>&, dist_array<float, 2>&, dist_array<float, 2>&, workers);
template std::vector<double> svd(const dist_array<double, 2>&, dist_array<double, 2>&, dist_array<double, 2>&, workers);
template std::vector<double> symmetric_eigenproblem(const dist_array<float, 2>&, const dist_array<float, 2>&, dist_array<float, 2>&,
                                                    workers);
template std::vector<double> symmetric_eigenproblem(const dist_array<double, 2>&, const dist_array<double, 2>&,
                                                    dist_array<double, 2>&, workers);

} // namespace craton::linalg
