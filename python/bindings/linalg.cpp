#include "blocks.hpp"
#include "gil.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/linalg/cholesky.hpp>
#include <craton/linalg/eigenproblem.hpp>
#include <craton/linalg/ordered_symmetric.hpp>
#include <craton/linalg/products.hpp>
#include <craton/linalg/triangle.hpp>
#include <craton/runtime/world.hpp>

#include <string>

namespace nb = nanobind;
using namespace nb::literals;
using craton::array::convergent_matrix;
using craton::array::symmetric_matrix;

namespace craton::bindings {

namespace {

/// One kind of solution: of all columns of a ConvergentMatrix, in place, or of a vector.
template <class T>
void bind_solution(nb::class_<linalg::cholesky<T>>& c, const char* name,
                   std::vector<double> (linalg::cholesky<T>::*of_vector)(std::span<const double>) const,
                   void (linalg::cholesky<T>::*of_columns)(convergent_matrix<T>&) const, const std::string& of_rhs,
                   const std::string& of_matrix) {
    using factor = linalg::cholesky<T>;
    c.def(
         name, [of_columns](const factor& f, convergent_matrix<T>& rhs) { without_gil([&] { (f.*of_columns)(rhs); }); },
         nb::arg("rhs"),
         (of_matrix + R"(

Collective, blocking. rhs is committed and lies on the same process grid. UserError on every rank for another shape or
grid, and after invert or inverse_diagonal.)")
             .c_str())
        .def(
            name,
            [of_vector](const factor& f, const annotated<"ArrayLike">& rhs) {
                const auto numpy = nb::module_::import_("numpy"); // a float32 or integer vector is converted: it is small
                const vector_input<double> values(numpy.attr("asarray")(rhs, "float64"), "solve: rhs");
                return to_numpy(without_gil([&] { return (f.*of_vector)(values.span()); }));
            },
            nb::arg("rhs"),
            (of_rhs + R"(

Collective, blocking. rhs is the same whole vector on every rank; so is the result. UserError on every rank for another
length, and after invert or inverse_diagonal.)")
                .c_str());
}

template <class T> void bind_cholesky(nb::module_& m) {
    using factor = linalg::cholesky<T>;
    nb::class_<factor> c(m, (std::string("Cholesky") + dtype_suffix<T>()).c_str(),
                         R"(U^T U of a symmetric positive-definite matrix, in place, in its upper triangle.

The matrix is to be left alone while the factor is wanted. All members are collective and blocking.)");
    constexpr auto what = R"(Collective, blocking. The committed matrix is overwritten by its factor.

UserError on every rank when the matrix or its blocks are not square, an element of its upper triangle is not finite, or
it is not positive definite (with the order of the leading minor that is not).)";
    c.def(nb::init<convergent_matrix<T>&>(), nb::arg("matrix"), nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(),
          what)
        .def(nb::init<symmetric_matrix<T>&>(), nb::arg("matrix"), nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(),
             what);
    bind_solution(c, "solve", &factor::solve, &factor::solve, "Solves A x = rhs.",
                  "Solves A X = rhs for all columns of a matrix, in place.");
    bind_solution(c, "solve_transposed_factor", &factor::solve_transposed_factor, &factor::solve_transposed_factor,
                  "U^-T rhs, half of a solution: its squared norm is rhs . A^-1 rhs.",
                  "U^-T rhs of all columns of a matrix, in place.");
    bind_solution(c, "solve_factor", &factor::solve_factor, &factor::solve_factor,
                  "U^-1 rhs, the other half: of independent standard normal numbers, a draw of covariance A^-1.",
                  "U^-1 rhs of all columns of a matrix, in place.");
    c.def(
         "log_determinant", [](const factor& f) { return without_gil([&] { return f.log_determinant(); }); },
         R"(The natural logarithm of the matrix's determinant.

Collective, blocking. UserError after invert or inverse_diagonal.)")
        .def(
            "inverse_diagonal", [](factor& f) { return to_numpy(without_gil([&] { return f.inverse_diagonal(); })); },
            R"(The diagonal of the inverse, whole on every rank.

Collective, blocking. Overwrites the factor: solve is not possible any more.)")
        .def("invert", &factor::invert, nb::call_guard<nb::gil_scoped_release>(),
             R"(Overwrites the upper triangle of the matrix with that of its inverse.

Collective, blocking. Overwrites the factor: solve is not possible any more.)");
}

linalg::form form_of(bool transposed) { return transposed ? linalg::form::transposed : linalg::form::plain; }
linalg::side side_of(bool right) { return right ? linalg::side::right : linalg::side::left; }

/// Vectors are float64 and whole on every rank.
class whole_vector {
  public:
    using argument = annotated<"ArrayLike">;
    explicit whole_vector(const nb::object& given, const char* name = "matvec: x")
        : values_(nb::module_::import_("numpy").attr("asarray")(given, "float64"), name) {}
    [[nodiscard]] std::span<const double> span() const { return values_.span(); }

  private:
    vector_input<double> values_;
};

template <class T> void bind_ordered(nb::module_& m) {
    using ordered = linalg::ordered_symmetric<T>;
    nb::class_<ordered>(m, (std::string("OrderedSymmetric") + dtype_suffix<T>()).c_str(),
                        R"(A copy of a symmetric matrix whose arithmetic has one order: the same bits on any number of ranks.

All members are collective and blocking.)")
        .def(
            "__init__",
            [](ordered* self, const symmetric_matrix<T>& matrix, const runtime::world&, int threads) {
                new (self) ordered(matrix, threads);
            },
            nb::arg("matrix"), nb::arg("world"), nb::arg("threads"), nb::keep_alive<1, 3>(),
            nb::call_guard<nb::gil_scoped_release>(), "A copy of a committed matrix of that world. UserError below 1 thread.")
        .def(
            "matvec",
            [](const ordered& a, const whole_vector::argument& x) {
                const whole_vector values(x);
                return to_numpy(without_gil([&] { return a.times(values.span()); }));
            },
            nb::arg("x"), "A x, the same whole vector on every rank. UserError for another length, and after factorise.")
        .def("factorise", &ordered::factorise, nb::call_guard<nb::gil_scoped_release>(),
             R"(U^T U = A, in the place of the copy.

UserError on every rank where an element is not finite or the matrix not positive definite; once.)")
        .def(
            "solve",
            [](const ordered& a, const whole_vector::argument& rhs) {
                const whole_vector values(rhs, "solve: rhs");
                return to_numpy(without_gil([&] { return a.solve(values.span()); }));
            },
            nb::arg("rhs"), "A^-1 rhs, the same whole vector on every rank. UserError for another length, and before factorise.");
}

template <class T> void bind_products(nb::module_& m) {
    using full = convergent_matrix<T>;
    using half = symmetric_matrix<T>;
    constexpr auto symmetric_matvec = R"(A x of a symmetric matrix, whole on every rank, in float64.

Collective, blocking. x is the same whole vector on every rank. Of a ConvergentMatrix, which must be square, only the
upper triangle is read. UserError on every rank where the length does not match.)";
    constexpr auto symmetric_matmul = R"(C = alpha A B + beta C, or alpha B A + beta C (right), for a symmetric A.

Collective, blocking. Of a ConvergentMatrix A, which must be square, only the upper triangle is read. Otherwise as
_matmul.)";
    m.def(
         "_matvec",
         [](const full& a, const whole_vector::argument& x, bool transposed) {
             const whole_vector values(x);
             return to_numpy(without_gil([&] { return linalg::product(a, values.span(), form_of(transposed)); }));
         },
         "a"_a, "x"_a, "transposed"_a, R"(A x, or A^T x, whole on every rank, in float64.

Collective, blocking. x is the same whole vector on every rank. UserError on every rank where the length does not
match.)")
        .def(
            "_symmetric_matvec",
            [](const full& a, const whole_vector::argument& x) {
                const whole_vector values(x);
                return to_numpy(without_gil([&] { return linalg::symmetric_product(a, values.span()); }));
            },
            "a"_a, "x"_a, symmetric_matvec)
        .def(
            "_symmetric_matvec",
            [](const half& a, const whole_vector::argument& x) {
                const whole_vector values(x);
                return to_numpy(without_gil([&] { return linalg::symmetric_product(a, values.span()); }));
            },
            "a"_a, "x"_a, symmetric_matvec)
        .def(
            "_matmul",
            [](double alpha, const full& a, bool a_transposed, const full& b, bool b_transposed, double beta, full& c) {
                const nb::gil_scoped_release release;
                linalg::product(static_cast<T>(alpha), a, form_of(a_transposed), b, form_of(b_transposed), static_cast<T>(beta), c);
            },
            "alpha"_a, "a"_a, "a_transposed"_a, "b"_a, "b_transposed"_a, "beta"_a, "c"_a,
            R"(C = alpha op(A) op(B) + beta C; with beta = 0 what C holds is not read.

Collective, blocking. UserError on every rank when shapes or grids do not match, or C is A or B.)")
        .def(
            "_symmetric_matmul",
            [](bool right, double alpha, const full& a, const full& b, double beta, full& c) {
                const nb::gil_scoped_release release;
                linalg::symmetric_product(side_of(right), static_cast<T>(alpha), a, b, static_cast<T>(beta), c);
            },
            "right"_a, "alpha"_a, "a"_a, "b"_a, "beta"_a, "c"_a, symmetric_matmul)
        .def(
            "_symmetric_matmul",
            [](bool right, double alpha, const half& a, const full& b, double beta, full& c) {
                const nb::gil_scoped_release release;
                linalg::symmetric_product(side_of(right), static_cast<T>(alpha), a, b, static_cast<T>(beta), c);
            },
            "right"_a, "alpha"_a, "a"_a, "b"_a, "beta"_a, "c"_a, symmetric_matmul);
}

template <class T> void bind_spectra(nb::module_& m) {
    using full = convergent_matrix<T>;
    m.def(
         "_eigvalsh", [](full& a) { return to_numpy(without_gil([&] { return linalg::symmetric_eigenvalues(a); })); }, "a"_a,
         R"(The eigenvalues of a symmetric matrix, ascending, on every rank.

Collective, blocking. The upper triangle is read; the matrix is overwritten. UserError on every rank when the matrix or
its blocks are not square, an element is not finite, or the iteration does not converge.)")
        .def(
            "_eigh",
            [](full& a, full& vectors) {
                return to_numpy(without_gil([&] { return linalg::symmetric_eigenproblem(a, vectors); }));
            },
            "a"_a, "vectors"_a, R"(As _eigvalsh; column k of vectors becomes the eigenvector of eigenvalue k, of unit length.

Collective, blocking. vectors has the matrix's layout.)")
        .def(
            "_invert_triangle",
            [](full& a, bool lower) {
                const nb::gil_scoped_release release;
                linalg::invert_triangle(a, lower ? linalg::triangle::lower : linalg::triangle::upper);
            },
            "a"_a, "lower"_a, R"(Overwrites a triangular matrix by its inverse; the other triangle is not read.

Collective, blocking. UserError on every rank when the matrix or its blocks are not square, an element is not finite, or
one of the diagonal is zero.)");
}

template <class T> void bind_all(nb::module_& m) {
    bind_cholesky<T>(m);
    bind_ordered<T>(m);
    bind_products<T>(m);
    bind_spectra<T>(m);
}

} // namespace

void bind_linalg(nb::module_& m) {
    bind_all<float>(m);
    bind_all<double>(m);
}

} // namespace craton::bindings
