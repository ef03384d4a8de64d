#include <craton/linalg/dist_array_product.hpp>

#include "lapack.hpp"

#include <craton/base/aligned_vector.hpp>
#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace craton::linalg {

namespace {

using array::dist_array;
using array::place;
using array::rectangle;

// Inner indices that are fetched at a time: enough for a product to run at its full speed.
constexpr std::int64_t panel = 256;
// Rows that are multiplied between two looks for messages of others, who may be waiting for elements of this rank.
constexpr std::int64_t strip = 256;

struct range {
    std::int64_t low = 0, high = 0;
    [[nodiscard]] std::int64_t extent() const { return high - low; }
};

template <class T> place<2> shape_of(const dist_array<T, 2>& a, form how) {
    const auto& extents = a.extents();
    return how == form::plain ? extents : place<2>{extents[1], extents[0]};
}

template <class T>
void check(const dist_array<T, 2>& a, form a_form, const dist_array<T, 2>& b, form b_form, const dist_array<T, 2>& c) {
    if (&a.ranks() != &b.ranks() || &a.ranks() != &c.ranks())
        throw user_error("product: the arrays belong to different worlds; allowed: one world");
    if (&a == &c || &b == &c) throw user_error("product: the result is one of the factors; allowed: an array of its own");
    const auto of_a = shape_of(a, a_form);
    const auto of_b = shape_of(b, b_form);
    const auto& of_c = c.extents();
    if (of_a[1] != of_b[0] || of_a[0] != of_c[0] || of_b[1] != of_c[1]) {
        throw user_error(
            fmt::format("product: ({} x {}) times ({} x {}) into ({} x {}); allowed: (m x k) times (k x n) into (m x n)", of_a[0],
                        of_a[1], of_b[0], of_b[1], of_c[0], of_c[1]));
    }
}

// The part of an m x n result that a rank computes: of all grids the one with the smallest panels.
rectangle<2> part_of_rank(const place<2>& result, int rank, int ranks) {
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    std::int64_t rows = 1;
    for (std::int64_t p = 1; p <= ranks; ++p) {
        if (ranks % p != 0) continue;
        const std::int64_t q = ranks / p;
        const std::int64_t fetched = (result[0] + p - 1) / p + (result[1] + q - 1) / q;
        if (fetched >= best) continue;
        best = fetched;
        rows = p;
    }
    const std::int64_t cols = ranks / rows;
    const auto cut = [](std::int64_t extent, std::int64_t parts, std::int64_t number) { return extent * number / parts; };
    const std::int64_t i = rank / cols;
    const std::int64_t j = rank % cols;
    return {{cut(result[0], rows, i), cut(result[1], cols, j)}, {cut(result[0], rows, i + 1), cut(result[1], cols, j + 1)}};
}

// A panel of op(M), in memory as it lies in M.
template <class T> class operand {
  public:
    operand(const dist_array<T, 2>& from, form how, bool left, range outer) : from_(&from), how_(how), left_(left), outer_(outer) {}

    void start(range inner) {
        const bool rows_are_outer = left_ == (how_ == form::plain);
        const range& rows = rows_are_outer ? outer_ : inner;
        const range& cols = rows_are_outer ? inner : outer_;
        leading_ = cols.extent();
        elements_.resize(static_cast<std::size_t>(rows.extent() * cols.extent()));
        under_way_ = from_->start_get({{rows.low, cols.low}, {rows.high, cols.high}}, {elements_.data(), {leading_, 1}});
    }
    void wait() { under_way_.wait(); }

    /// For BLAS, which takes rows for columns.
    [[nodiscard]] const char* transposed() const { return how_ == form::plain ? "N" : "T"; }
    [[nodiscard]] int leading() const { return base::narrow<int>(std::max<std::int64_t>(1, leading_), "extent of a product"); }
    /// From an outer index on.
    [[nodiscard]] const T* from(std::int64_t outer) const {
        return elements_.data() + (left_ == (how_ == form::plain) ? outer * leading_ : outer);
    }

  private:
    const dist_array<T, 2>* from_;
    form how_;
    bool left_;
    range outer_;
    std::int64_t leading_ = 0;
    base::aligned_vector<T> elements_;
    array::array_handle under_way_;
};

template <class T> struct panels {
    operand<T> a, b;
    range inner;

    void start(range which) {
        inner = which;
        a.start(which);
        b.start(which);
    }
    void wait() {
        a.wait();
        b.wait();
    }
};

// result += alpha op(A) op(B) of the panels; as the columns of its transpose, which is how BLAS sees rows.
template <class T>
void multiply(runtime::world& ranks, T alpha, const panels<T>& of, T* result, std::int64_t rows, std::int64_t cols) {
    const T one = 1;
    const int n = base::narrow<int>(cols, "columns of a product");
    const int k = static_cast<int>(of.inner.extent());
    const int lda = of.a.leading();
    const int ldb = of.b.leading();
    for (std::int64_t row = 0; row < rows; row += strip) {
        const int m = static_cast<int>(std::min(strip, rows - row));
        blas<T>::gemm(of.b.transposed(), of.a.transposed(), &n, &m, &k, &alpha, of.b.from(0), &ldb, of.a.from(row), &lda, &one,
                      result + row * cols, &n);
        ranks.poll();
    }
}

// alpha op(A) op(B) on a rectangle of the result, dense. Ranks begin at different places, so that not all ask the same owner at
// once.
template <class T>
base::aligned_vector<T> part_of_product(T alpha, const dist_array<T, 2>& a, form a_form, const dist_array<T, 2>& b, form b_form,
                                        const rectangle<2>& part) {
    base::aligned_vector<T> result(static_cast<std::size_t>(part.cells()), T{0});
    if (part.empty()) return result;
    auto& ranks = a.ranks();
    const std::int64_t inner = shape_of(a, a_form)[1];
    const std::int64_t count = (inner + panel - 1) / panel;
    const std::int64_t first = count * ranks.rank() / ranks.size();
    const auto panel_number = [&](std::int64_t n) {
        const std::int64_t low = (first + n) % count * panel;
        return range{low, std::min(inner, low + panel)};
    };
    const range rows{part.low[0], part.high[0]};
    const range cols{part.low[1], part.high[1]};
    const panels<T> none{{a, a_form, true, rows}, {b, b_form, false, cols}, {}};
    std::array<panels<T>, 2> in_turn{none, none};
    in_turn[0].start(panel_number(0));
    for (std::int64_t n = 0; n < count; ++n) {
        auto& now = in_turn[static_cast<std::size_t>(n % 2)];
        if (n + 1 < count) in_turn[static_cast<std::size_t>((n + 1) % 2)].start(panel_number(n + 1));
        ranks.flush();
        now.wait();
        multiply(ranks, alpha, now, result.data(), rows.extent(), cols.extent());
    }
    return result;
}

} // namespace

template <class T>
void product(T alpha, const dist_array<T, 2>& a, form a_form, const dist_array<T, 2>& b, form b_form, T beta, dist_array<T, 2>& c) {
    check(a, a_form, b, b_form, c);
    c.sync();
    if (beta != T{0} && beta != T{1}) c.scale(beta);
    const auto part = part_of_rank(c.extents(), c.ranks().rank(), c.ranks().size());
    {
        const auto own = part_of_product(alpha, a, a_form, b, b_form, part);
        const array::strided_memory<const T, 2> memory{own.data(), {part.extent(1), 1}};
        beta == T{0} ? c.put(part, memory) : c.accumulate(part, memory);
    }
    c.sync();
}

template void product(float, const dist_array<float, 2>&, form, const dist_array<float, 2>&, form, float, dist_array<float, 2>&);
template void product(double, const dist_array<double, 2>&, form, const dist_array<double, 2>&, form, double,
                      dist_array<double, 2>&);

} // namespace craton::linalg
