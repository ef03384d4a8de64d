#include "blocks.hpp"
#include "dist_matrices.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/linalg/dist_array_decomposition.hpp>
#include <craton/linalg/lu.hpp>

#include <nanobind/stl/pair.h>

#include <string>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;
using craton::array::convergent_matrix;

namespace craton::bindings {

namespace {

linalg::form form_of(bool transposed) { return transposed ? linalg::form::transposed : linalg::form::plain; }

template <class T> array::dist_array<T, 2>& matrix_of(any_dist_array& array) {
    auto* const found = matrix_in<T>(array);
    if (found == nullptr) refuse_as_matrices("LU", array);
    return *found;
}

template <class T> void bind_lu(nb::module_& m) {
    using factors = linalg::lu<T>;
    nb::class_<factors>(m, (std::string("LU") + dtype_suffix<T>()).c_str(), R"(P L U of a square matrix, with partial pivoting.

All members are collective and blocking.)")
        .def(nb::init<convergent_matrix<T>&>(), nb::arg("matrix"), nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(),
             R"(In the place of a committed matrix, to be left alone meanwhile.

UserError on every rank when the matrix or its blocks are not square, an element is not finite, or it is singular.)")
        .def(
            "__init__",
            [](factors* self, any_dist_array& matrix) {
                const auto& given = matrix_of<T>(matrix);
                const nb::gil_scoped_release release;
                new (self) factors(given);
            },
            nb::arg("matrix"), nb::keep_alive<1, 2>(), "Of a copy of an array. UserError as of a matrix.")
        .def(
            "solve",
            [](const factors& f, convergent_matrix<T>& rhs, bool transposed) {
                const nb::gil_scoped_release release;
                f.solve(rhs, form_of(transposed));
            },
            nb::arg("rhs"), nb::arg("transposed"), R"(Solves for all columns of a matrix, in place.

rhs is committed, in blocks of as many rows, on the same process grid. UserError on every rank where it is not.)")
        .def(
            "solve",
            [](const factors& f, any_dist_array& rhs, bool transposed) {
                auto& columns = matrix_of<T>(rhs);
                const nb::gil_scoped_release release;
                f.solve(columns, form_of(transposed));
            },
            nb::arg("rhs"), nb::arg("transposed"),
            "Solves for all columns of an array, in place. UserError for another number of rows.")
        .def(
            "solve",
            [](const factors& f, const annotated<"ArrayLike">& rhs, bool transposed) {
                const auto numpy = nb::module_::import_("numpy");
                const vector_input<double> values(numpy.attr("asarray")(rhs, "float64"), "LU solve: rhs");
                return to_numpy(without_gil([&] { return f.solve(values.span(), form_of(transposed)); }));
            },
            nb::arg("rhs"), nb::arg("transposed"), R"(Solves for a vector, the same and whole on every rank, as is the result.

UserError on every rank for another length.)")
        .def(
            "determinant",
            [](const factors& f) {
                const auto found = without_gil([&] { return f.determinant(); });
                return std::pair(found.sign, found.logarithm);
            },
            "The sign of the determinant and the logarithm of its magnitude.");
}

} // namespace

void bind_decompositions(nb::module_& m) {
    using core = any_dist_array;
    bind_lu<float>(m);
    bind_lu<double>(m);
    m.def(
         "_dist_qr",
         [](core& matrix, core& q, core& r, const std::string& workers) {
             const auto who = workers_from(workers);
             with_matrices(
                 "qr",
                 [&]<class T>(const array::dist_array<T, 2>& a, array::dist_array<T, 2>& left, array::dist_array<T, 2>& right) {
                     linalg::qr(a, left, right, who);
                 },
                 matrix, q, r);
         },
         "matrix"_a, "q"_a, "r"_a, "workers"_a, R"(q becomes m x k with orthonormal columns, r k x n, k = min(m, n), Q R = A.

Collective, blocking. r has zeros below its diagonal. workers as of _dist_eigvalsh. UserError on every rank for other
shapes, and when an element is not finite.)")
        .def(
            "_dist_svd",
            [](core& matrix, core& u, core& vt, const std::string& workers) {
                const auto who = workers_from(workers);
                return to_numpy(with_matrices(
                    "svd",
                    [&]<class T>(const array::dist_array<T, 2>& a, array::dist_array<T, 2>& left, array::dist_array<T, 2>& right) {
                        return linalg::svd(a, left, right, who);
                    },
                    matrix, u, vt));
            },
            "matrix"_a, "u"_a, "vt"_a, "workers"_a, R"(The singular values, descending, on every rank; U diag(s) V^T = A.

Collective, blocking. u becomes m x k, vt k x n, k = min(m, n). Otherwise as _dist_qr.)")
        .def(
            "_dist_eigh",
            [](core& matrix, core& metric, core& vectors, const std::string& workers) {
                const auto who = workers_from(workers);
                return to_numpy(with_matrices(
                    "eigh",
                    [&]<class T>(const array::dist_array<T, 2>& a, const array::dist_array<T, 2>& b,
                                 array::dist_array<T, 2>& found) { return linalg::symmetric_eigenproblem(a, b, found, who); },
                    matrix, metric, vectors));
            },
            "matrix"_a, "metric"_a, "vectors"_a, "workers"_a, R"(The eigenvalues w of A x = w B x, ascending, on every rank.

Collective, blocking. Column k of vectors becomes the x that belongs to eigenvalue k, with x^T B x = 1. Upper triangles are
read. UserError also when the metric B is not positive definite.)");
}

} // namespace craton::bindings
