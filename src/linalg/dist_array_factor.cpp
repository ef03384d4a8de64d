#include <craton/linalg/dist_array_factor.hpp>

#include "block_cyclic_copy.hpp"
#include "lapack.hpp"

#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/linalg/cholesky.hpp>
#include <craton/linalg/eigenproblem.hpp>
#include <craton/linalg/triangle.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace craton::linalg {

namespace {

using array::convergent_matrix;
using array::dist_array;

constexpr std::int64_t largest_block = 64;
constexpr std::int64_t largest_order_of_one_rank = 1024;

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

bool by_one_rank(workers who, std::int64_t order, int ranks) {
    if (order < ranks || ranks == 1) return true;
    return who == workers::one_rank || (who == workers::automatic && order <= largest_order_of_one_rank);
}

// All ranks

// A block-cyclic copy, in square blocks of which every process has one at least.
template <class T> class shared_copy {
  public:
    explicit shared_copy(const dist_array<T, 2>& like)
        : shared_copy(like, array::most_square_grid(like.ranks().size()), like.extents()[0]) {}
    [[nodiscard]] convergent_matrix<T>& matrix() { return matrix_; }

  private:
    shared_copy(const dist_array<T, 2>& like, array::process_grid grid, std::int64_t order)
        : matrix_(like.ranks(), order, order, block_of(order, grid), block_of(order, grid), grid) {}
    static std::int64_t block_of(std::int64_t order, array::process_grid grid) {
        return std::clamp<std::int64_t>(order / std::max(grid.rows, grid.cols), 1, largest_block);
    }
    convergent_matrix<T> matrix_;
};

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

// Rank 0 alone

// The whole matrix on rank 0, row major; elsewhere nothing. What rank 0 does with it is `work`, which returns "" or why it failed:
// then all throw.
template <class T> class gathered {
  public:
    /// Collective.
    explicit gathered(const dist_array<T, 2>& from) : ranks_(&from.ranks()), order_(from.extents()[0]) {
        if (mine()) {
            elements_.resize(static_cast<std::size_t>(order_ * order_));
            from.get(from.layout().whole(), elements_);
        }
        ranks_->barrier(); // polls: nobody waits in what does not poll before rank 0 has all
    }
    template <class Work> void on_first(Work&& work) {
        std::string failure;
        if (mine()) failure = work();
        comm::agree(ranks_->communicator(), failure);
    }
    /// Rank 0's elements with such strides.
    void put(const std::vector<T>& elements, const array::place<2>& strides, dist_array<T, 2>& to) const {
        if (mine()) to.put(to.layout().whole(), array::strided_memory<const T, 2>{elements.data(), strides});
        to.sync();
    }
    [[nodiscard]] std::vector<double> on_all(const std::vector<T>& values) const {
        std::vector<std::int64_t> bits(static_cast<std::size_t>(order_));
        std::ranges::transform(values, bits.begin(), [](T v) { return std::bit_cast<std::int64_t>(static_cast<double>(v)); });
        ranks_->communicator().broadcast_in_place(bits);
        std::vector<double> result(bits.size());
        std::ranges::transform(bits, result.begin(), [](std::int64_t b) { return std::bit_cast<double>(b); });
        return result;
    }
    [[nodiscard]] std::vector<T>& elements() { return elements_; }
    [[nodiscard]] std::int64_t order() const { return order_; }
    [[nodiscard]] bool mine() const { return ranks_->rank() == 0; }

    /// "" or where the first element of a triangle that is none stands.
    [[nodiscard]] std::string why_not_finite(triangle which, const char* call) const {
        for (std::int64_t i = 0; i < order_; ++i) {
            const std::int64_t low = which == triangle::upper ? i : 0;
            const std::int64_t high = which == triangle::upper ? order_ : i + 1;
            for (std::int64_t j = low; j < high; ++j) {
                const T value = elements_[static_cast<std::size_t>(i * order_ + j)];
                if (!std::isfinite(value))
                    return fmt::format("{}: element ({}, {}) of the matrix is {}; allowed: finite numbers", call, i, j, value);
            }
        }
        return {};
    }

  private:
    runtime::world* ranks_;
    std::int64_t order_;
    std::vector<T> elements_;
};

// LAPACK sees rows as columns, and so an upper triangle as a lower one. In place; the eigenvalues.
template <class T>
std::string solve_eigenproblem(gathered<T>& matrix, std::vector<T>& values, bool with_vectors, const char* call) {
    if (auto failure = matrix.why_not_finite(triangle::upper, call); !failure.empty()) return failure;
    const int n = base::narrow<int>(matrix.order(), "order of an eigenproblem");
    const char* const job = with_vectors ? "V" : "N";
    values.resize(static_cast<std::size_t>(n));
    T length = 0;
    int integer_length = 0;
    int info = 0;
    constexpr int ask = -1;
    T* const a = matrix.elements().data();
    lapack<T>::syevd(job, "L", &n, a, &n, values.data(), &length, &ask, &integer_length, &ask, &info);
    // Single precision counts exactly to 2^24 only; what is documented: 1 + 6 n + 2 n^2.
    const auto least = 1 + 6 * matrix.order() + 2 * matrix.order() * matrix.order();
    const int work_length =
        base::narrow<int>(std::max(static_cast<std::int64_t>(length), with_vectors ? least : 2 * matrix.order() + 1),
                          "workspace of an eigenproblem (more ranks need less each)");
    std::vector<T> work(static_cast<std::size_t>(work_length));
    std::vector<int> integers(static_cast<std::size_t>(std::max(1, integer_length)));
    integer_length = static_cast<int>(integers.size());
    lapack<T>::syevd(job, "L", &n, a, &n, values.data(), work.data(), &work_length, integers.data(), &integer_length, &info);
    if (info > 0) return fmt::format("{}: the iteration did not converge (LAPACK says {})", call, info);
    if (info < 0) return fmt::format("{}: LAPACK refused argument {}", call, -info);
    return {};
}

template <class T> std::string factor(gathered<T>& matrix, const char* call) {
    if (auto failure = matrix.why_not_finite(triangle::upper, call); !failure.empty()) return failure;
    const int n = base::narrow<int>(matrix.order(), "order of a matrix");
    int info = 0;
    lapack<T>::potrf("L", &n, matrix.elements().data(), &n, &info);
    if (info > 0) {
        return fmt::format(
            "{0}: the {1} x {1} matrix is not positive definite: its leading minor of order {2} is not positive; allowed: "
            "positive-definite matrices",
            call, n, info);
    }
    return info < 0 ? fmt::format("{}: LAPACK refused argument {}", call, -info) : "";
}

template <class T> std::string invert_lower(gathered<T>& matrix, const char* call) {
    if (auto failure = matrix.why_not_finite(triangle::lower, call); !failure.empty()) return failure;
    const int n = base::narrow<int>(matrix.order(), "order of a matrix");
    int info = 0;
    lapack<T>::trtri("U", "N", &n, matrix.elements().data(), &n, &info);
    if (info > 0) {
        return fmt::format(
            "{0}: element ({1}, {1}) of the {2} x {2} matrix is zero, so that it has no inverse; allowed: no zero on the "
            "diagonal",
            call, info - 1, n);
    }
    return info < 0 ? fmt::format("{}: LAPACK refused argument {}", call, -info) : "";
}

// Elements (i, j) at i * n + j.
template <class T> void clear_above(std::vector<T>& elements, std::int64_t n) {
    if (elements.empty()) return;
    for (std::int64_t i = 0; i < n; ++i) std::fill_n(elements.begin() + i * n + i + 1, n - i - 1, T{0});
}

} // namespace

template <class T> std::vector<double> symmetric_eigenvalues(const dist_array<T, 2>& matrix, workers who) {
    constexpr const char* call = "symmetric_eigenvalues";
    check_square(matrix, call);
    matrix.sync();
    if (by_one_rank(who, matrix.extents()[0], matrix.ranks().size())) {
        gathered<T> whole(matrix);
        std::vector<T> values;
        whole.on_first([&] { return solve_eigenproblem(whole, values, false, call); });
        return whole.on_all(values);
    }
    shared_copy<T> copy(matrix);
    copy_elements(matrix, copy.matrix());
    return symmetric_eigenvalues(copy.matrix());
}

template <class T>
std::vector<double> symmetric_eigenproblem(const dist_array<T, 2>& matrix, dist_array<T, 2>& vectors, workers who) {
    constexpr const char* call = "symmetric_eigenproblem";
    check_pair(matrix, vectors, call);
    matrix.sync();
    const std::int64_t n = matrix.extents()[0];
    if (by_one_rank(who, n, matrix.ranks().size())) {
        gathered<T> whole(matrix);
        std::vector<T> values;
        whole.on_first([&] { return solve_eigenproblem(whole, values, true, call); });
        whole.put(whole.elements(), {1, n}, vectors); // a vector after the other
        return whole.on_all(values);
    }
    shared_copy<T> copy(matrix);
    shared_copy<T> found(matrix);
    copy_elements(matrix, copy.matrix());
    const auto values = symmetric_eigenproblem(copy.matrix(), found.matrix());
    copy_elements(found.matrix(), vectors, false);
    return values;
}

template <class T> void cholesky_factor(const dist_array<T, 2>& matrix, dist_array<T, 2>& lower, workers who) {
    constexpr const char* call = "cholesky_factor";
    check_pair(matrix, lower, call);
    matrix.sync();
    const std::int64_t n = matrix.extents()[0];
    if (by_one_rank(who, n, matrix.ranks().size())) {
        gathered<T> whole(matrix);
        whole.on_first([&] { return factor(whole, call); });
        // Rows hold U, of which L is the transpose.
        for (std::int64_t i = 1; whole.mine() && i < n; ++i) std::fill_n(whole.elements().begin() + i * n, i, T{0});
        whole.put(whole.elements(), {1, n}, lower);
        return;
    }
    shared_copy<T> copy(matrix);
    copy_elements(matrix, copy.matrix());
    const cholesky<T> factored(copy.matrix());
    keep_triangle(copy.matrix(), triangle::upper);
    copy_elements(copy.matrix(), lower, true);
}

template <class T> void lower_triangular_inverse(const dist_array<T, 2>& lower, dist_array<T, 2>& inverse, workers who) {
    constexpr const char* call = "lower_triangular_inverse";
    check_pair(lower, inverse, call);
    lower.sync();
    const std::int64_t n = lower.extents()[0];
    if (by_one_rank(who, n, lower.ranks().size())) {
        gathered<T> whole(lower);
        whole.on_first([&] { return invert_lower(whole, call); });
        clear_above(whole.elements(), n);
        whole.put(whole.elements(), {n, 1}, inverse);
        return;
    }
    shared_copy<T> copy(lower);
    copy_elements(lower, copy.matrix());
    invert_triangle(copy.matrix(), triangle::lower);
    keep_triangle(copy.matrix(), triangle::lower);
    copy_elements(copy.matrix(), inverse, false);
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
