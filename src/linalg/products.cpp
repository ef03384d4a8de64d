#include <craton/linalg/products.hpp>

#include "part.hpp"
#include "replicated_column.hpp"
#include "symmetric_parts.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

namespace craton::linalg {

namespace {

char letter(form f) { return f == form::plain ? 'N' : 'T'; }

struct shape {
    std::int64_t rows, cols;
};

template <class T> shape shape_of(const array::convergent_matrix<T>& m, form f = form::plain) {
    const auto& layout = m.layout();
    return f == form::plain ? shape{layout.rows.extent, layout.cols.extent} : shape{layout.cols.extent, layout.rows.extent};
}

void require_length(std::span<const double> x, std::int64_t wanted, const char* call) {
    if (static_cast<std::int64_t>(x.size()) != wanted) {
        throw user_error(fmt::format("{}: the vector has {} elements; allowed: {}, the matrix's columns", call, x.size(), wanted));
    }
}

template <class T> void require_square(const array::convergent_matrix<T>& a, const char* call) {
    const auto [rows, cols] = shape_of(a);
    if (rows != cols) throw user_error(fmt::format("{}: the matrix is {} x {}; allowed: square matrices only", call, rows, cols));
}

void require_product(shape a, shape b, shape c, const char* call) {
    if (a.cols != b.rows || a.rows != c.rows || b.cols != c.cols) {
        throw user_error(fmt::format("{}: ({} x {}) times ({} x {}) into ({} x {}); allowed: (m x k) times (k x n) into (m x n)",
                                     call, a.rows, a.cols, b.rows, b.cols, c.rows, c.cols));
    }
}

template <class T>
void require_apart(const array::convergent_matrix<T>& a, const array::convergent_matrix<T>& b, const array::convergent_matrix<T>& c,
                   const char* call) {
    if (&c == &a || &c == &b)
        throw user_error(fmt::format("{}: the result is one of the factors; allowed: a matrix of its own", call));
    require_same_grid(a, b, call);
    require_same_grid(a, c, call);
}

template <class T>
std::vector<double> multiply_by_parts(const symmetric_storage& s, const array::convergent_matrix<T>& storage,
                                      std::span<const double> x) {
    storage.ranks().barrier(); // polls, before BLACS and ScaLAPACK, which do not
    const process_context context = context_of(storage);
    const symmetric_parts<T> a(s, whole(context, storage));
    replicated_column<T> in(context, storage, x);
    replicated_column<T> out(context, storage, s.order);
    const auto x2 = second_rows_of(a, in.whole());
    const auto y2 = second_rows_of(a, out.whole());
    symv('U', a.a22, x2, T{0}, y2);
    if (a.divided()) {
        const auto x1 = first_rows_of(a, in.whole());
        const auto y1 = first_rows_of(a, out.whole());
        symv('L', a.a11, x1, T{0}, y1);
        gemv('N', a.a12, x2, T{1}, y1);
        gemv('T', a.a12, x1, T{1}, y2);
    }
    return out.gather();
}

template <class T>
void multiply_by_parts(side a_side, T alpha, const symmetric_storage& s, const array::convergent_matrix<T>& storage,
                       const array::convergent_matrix<T>& b, T beta, array::convergent_matrix<T>& c) {
    storage.ranks().barrier(); // polls, before BLACS and ScaLAPACK, which do not
    const process_context context = context_of(storage);
    const symmetric_parts<T> a(s, whole(context, storage));
    const auto pb = whole(context, b);
    const auto pc = whole(context, c);
    if (a_side == side::left) {
        const auto b2 = second_rows_of(a, pb);
        const auto c2 = second_rows_of(a, pc);
        symm('L', 'U', alpha, a.a22, b2, beta, c2);
        if (a.divided()) {
            const auto b1 = first_rows_of(a, pb);
            const auto c1 = first_rows_of(a, pc);
            symm('L', 'L', alpha, a.a11, b1, beta, c1);
            gemm('N', 'N', alpha, a.a12, b2, T{1}, c1);
            gemm('T', 'N', alpha, a.a12, b1, T{1}, c2);
        }
    } else {
        const int n1 = a.a11.rows;
        const int n2 = a.a22.rows;
        const auto b2 = pb.within(0, pb.rows, n1, n2);
        const auto c2 = pc.within(0, pc.rows, n1, n2);
        symm('R', 'U', alpha, a.a22, b2, beta, c2);
        if (a.divided()) {
            const auto b1 = pb.within(0, pb.rows, 0, n1);
            const auto c1 = pc.within(0, pc.rows, 0, n1);
            symm('R', 'L', alpha, a.a11, b1, beta, c1);
            gemm('N', 'N', alpha, b1, a.a12, T{1}, c2);
            gemm('N', 'T', alpha, b2, a.a12, T{1}, c1);
        }
    }
    storage.ranks().barrier(); // whoever reads next finds every rank's part done
}

// Adds column * factor to y, and returns column . x, all in double. Eight sums at a time are what a compiler can make vectors of.
template <class T> double multiply_column(std::span<const T> column, const double* x, double factor, double* y) {
    constexpr std::size_t width = 8;
    std::array<double, width> sums{};
    std::size_t k = 0;
    for (; k + width <= column.size(); k += width) {
        for (std::size_t u = 0; u < width; ++u) {
            const auto element = static_cast<double>(column[k + u]);
            sums[u] += element * x[k + u];
            y[k + u] += element * factor;
        }
    }
    for (; k < column.size(); ++k) {
        const auto element = static_cast<double>(column[k]);
        sums[0] += element * x[k];
        y[k] += element * factor;
    }
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// A x with all sums in double, which p?symv of float elements has not: each rank goes once over its own elements.
template <class T>
std::vector<double> multiply_in_double(const symmetric_storage& s, const array::convergent_matrix<T>& storage,
                                       std::span<const double> x) {
    storage.ranks().barrier(); // polls, before a reduction that does not
    const auto& layout = storage.layout();
    const int me = storage.ranks().rank();
    const auto rows = static_cast<std::size_t>(layout.local_rows(me));
    // x at the rows of this rank, and what their elements add to the product: those of A12 and A22, and those of A11.
    struct by_row {
        std::vector<double> x, y;
    };
    by_row upper{std::vector<double>(rows), std::vector<double>(rows)};
    by_row mirrored = upper;
    for (std::size_t r = 0; r < rows; ++r) {
        const auto row = layout.rows.global(layout.process_row(me), static_cast<std::int64_t>(r));
        if (row < s.order) upper.x[r] = x[static_cast<std::size_t>(row)];
        const auto of_a11 = row - s.first_row;
        if (of_a11 >= 0 && of_a11 < s.first) mirrored.x[r] = x[static_cast<std::size_t>(of_a11)];
    }
    std::vector<double> product(x.size(), 0.0);
    s.for_each_run(storage, [&](const auto& run) {
        auto& part = run.mirrored ? mirrored : upper;
        const std::size_t begin = run.mirrored ? rows - run.rows.size() : 0;
        const auto column = std::span<const T>(run.values, run.rows.size());
        const auto at = static_cast<std::size_t>(run.other);
        const double own = multiply_column(column, part.x.data() + begin, x[at], part.y.data() + begin);
        product[at] += own;
        if (column.empty()) return;
        const std::size_t end = run.mirrored ? 0 : column.size() - 1; // that touches the diagonal, whose element was added twice
        if (run.i(end) == run.j(end)) product[at] -= static_cast<double>(column[end]) * x[at];
    });
    for (std::size_t r = 0; r < rows; ++r) {
        const auto row = layout.rows.global(layout.process_row(me), static_cast<std::int64_t>(r));
        if (row < s.order) product[static_cast<std::size_t>(row)] += upper.y[r];
        const auto of_a11 = row - s.first_row;
        if (of_a11 >= 0 && of_a11 < s.first) product[static_cast<std::size_t>(of_a11)] += mirrored.y[r];
    }
    storage.ranks().communicator().sum_in_place(std::span(product));
    return product;
}

constexpr const char* symmetric_name = "symmetric_product";

void require_symmetric_product(side a_side, std::int64_t order, shape b, shape c) {
    const shape a{order, order};
    if (a_side == side::left) {
        require_product(a, b, c, symmetric_name);
    } else {
        require_product(b, a, c, symmetric_name);
    }
}

} // namespace

template <class T> std::vector<double> product(const array::convergent_matrix<T>& a, std::span<const double> x, form a_form) {
    const auto [rows, cols] = shape_of(a, a_form);
    require_length(x, cols, "product");
    a.ranks().barrier(); // polls, before BLACS and ScaLAPACK, which do not
    const process_context context = context_of(a);
    replicated_column<T> in(context, a, x);
    replicated_column<T> out(context, a, rows);
    gemv(letter(a_form), whole(context, a), in.whole(), T{0}, out.whole());
    return out.gather();
}

template <class T> std::vector<double> symmetric_product(const array::convergent_matrix<T>& a, std::span<const double> x) {
    require_square(a, symmetric_name);
    require_length(x, a.layout().rows.extent, symmetric_name);
    return multiply_by_parts(storage_of_upper_triangle(a.layout().rows.extent), a, x);
}

template <class T> std::vector<double> symmetric_product(const array::symmetric_matrix<T>& a, std::span<const double> x) {
    require_length(x, a.order(), symmetric_name);
    if constexpr (std::is_same_v<T, float>)
        return multiply_in_double(storage_of(a.packing()), a.packed(), x);
    else
        return multiply_by_parts(storage_of(a.packing()), a.packed(), x);
}

template <class T>
void product(T alpha, const array::convergent_matrix<T>& a, form a_form, const array::convergent_matrix<T>& b, form b_form, T beta,
             array::convergent_matrix<T>& c) {
    require_product(shape_of(a, a_form), shape_of(b, b_form), shape_of(c), "product");
    require_apart(a, b, c, "product");
    a.ranks().barrier(); // polls, before BLACS and ScaLAPACK, which do not
    const process_context context = context_of(a);
    gemm(letter(a_form), letter(b_form), alpha, whole(context, a), whole(context, b), beta, whole(context, c));
    a.ranks().barrier(); // whoever reads next finds every rank's part done
}

template <class T>
void symmetric_product(side a_side, T alpha, const array::convergent_matrix<T>& a, const array::convergent_matrix<T>& b, T beta,
                       array::convergent_matrix<T>& c) {
    require_square(a, symmetric_name);
    require_symmetric_product(a_side, a.layout().rows.extent, shape_of(b), shape_of(c));
    require_apart(a, b, c, symmetric_name);
    multiply_by_parts(a_side, alpha, storage_of_upper_triangle(a.layout().rows.extent), a, b, beta, c);
}

template <class T>
void symmetric_product(side a_side, T alpha, const array::symmetric_matrix<T>& a, const array::convergent_matrix<T>& b, T beta,
                       array::convergent_matrix<T>& c) {
    require_symmetric_product(a_side, a.order(), shape_of(b), shape_of(c));
    require_apart(a.packed(), b, c, symmetric_name);
    multiply_by_parts(a_side, alpha, storage_of(a.packing()), a.packed(), b, beta, c);
}

template std::vector<double> product(const array::convergent_matrix<float>&, std::span<const double>, form);
template std::vector<double> product(const array::convergent_matrix<double>&, std::span<const double>, form);
template std::vector<double> symmetric_product(const array::convergent_matrix<float>&, std::span<const double>);
template std::vector<double> symmetric_product(const array::convergent_matrix<double>&, std::span<const double>);
template std::vector<double> symmetric_product(const array::symmetric_matrix<float>&, std::span<const double>);
template std::vector<double> symmetric_product(const array::symmetric_matrix<double>&, std::span<const double>);
template void product(float, const array::convergent_matrix<float>&, form, const array::convergent_matrix<float>&, form, float,
                      array::convergent_matrix<float>&);
template void product(double, const array::convergent_matrix<double>&, form, const array::convergent_matrix<double>&, form, double,
                      array::convergent_matrix<double>&);
template void symmetric_product(side, float, const array::convergent_matrix<float>&, const array::convergent_matrix<float>&, float,
                                array::convergent_matrix<float>&);
template void symmetric_product(side, double, const array::convergent_matrix<double>&, const array::convergent_matrix<double>&,
                                double, array::convergent_matrix<double>&);
template void symmetric_product(side, float, const array::symmetric_matrix<float>&, const array::convergent_matrix<float>&, float,
                                array::convergent_matrix<float>&);
template void symmetric_product(side, double, const array::symmetric_matrix<double>&, const array::convergent_matrix<double>&,
                                double, array::convergent_matrix<double>&);

} // namespace craton::linalg
