#include "blocks.hpp"
#include "gil.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/linalg/cholesky.hpp>
#include <craton/linalg/eigenproblem.hpp>
#include <craton/linalg/products.hpp>
#include <craton/linalg/triangle.hpp>

#include <string>

namespace nb = nanobind;
using craton::array::convergent_matrix;
using craton::array::symmetric_matrix;

namespace craton::bindings {

namespace {

/// One kind of solution: of all columns of a ConvergentMatrix, in place, or of a vector.
template <class T>
void bind_solution(nb::class_<linalg::cholesky<T>>& c, const char* name,
                   std::vector<double> (linalg::cholesky<T>::*of_vector)(std::span<const double>) const,
                   void (linalg::cholesky<T>::*of_columns)(convergent_matrix<T>&) const, const std::string& what) {
    using factor = linalg::cholesky<T>;
    c.def(
         name, [of_columns](const factor& f, convergent_matrix<T>& rhs) { without_gil([&] { (f.*of_columns)(rhs); }); },
         nb::arg("rhs"), ("Collective: " + what + " for all columns of a ConvergentMatrix, in place.").c_str())
        .def(
            name,
            [of_vector](const factor& f, const nb::object& rhs) {
                const auto numpy = nb::module_::import_("numpy"); // a float32 or integer vector is converted: it is small
                const vector_input<double> values(numpy.attr("asarray")(rhs, "float64"), "solve: rhs");
                return to_numpy(without_gil([&] { return (f.*of_vector)(values.span()); }));
            },
            nb::arg("rhs"),
            ("Collective: " + what + "; the whole vector on every rank gives the whole result on every rank.").c_str());
}

template <class T> void bind_cholesky(nb::module_& m) {
    using factor = linalg::cholesky<T>;
    nb::class_<factor> c(m, (std::string("Cholesky") + dtype_suffix<T>()).c_str(),
                         "U^T U of a symmetric positive-definite matrix, in place (upper triangle).");
    c.def(nb::init<convergent_matrix<T>&>(), nb::arg("matrix"), nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(),
          "Collective. UserError when the matrix is not positive definite.")
        .def(nb::init<symmetric_matrix<T>&>(), nb::arg("matrix"), nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(),
             "Collective. UserError when the matrix is not positive definite.");
    bind_solution(c, "solve", &factor::solve, &factor::solve, "solves A X = rhs");
    bind_solution(c, "solve_transposed_factor", &factor::solve_transposed_factor, &factor::solve_transposed_factor, "U^-T rhs");
    bind_solution(c, "solve_factor", &factor::solve_factor, &factor::solve_factor, "U^-1 rhs");
    c.def(
         "log_determinant", [](const factor& f) { return without_gil([&] { return f.log_determinant(); }); },
         "Collective: the natural logarithm of the matrix's determinant.")
        .def(
            "inverse_diagonal", [](factor& f) { return to_numpy(without_gil([&] { return f.inverse_diagonal(); })); },
            "Collective: the diagonal of the inverse on every rank; overwrites the factor.")
        .def("invert", &factor::invert, nb::call_guard<nb::gil_scoped_release>(),
             "Collective: overwrites the upper triangle of the matrix with that of its inverse.");
}

linalg::form form_of(bool transposed) { return transposed ? linalg::form::transposed : linalg::form::plain; }
linalg::side side_of(bool right) { return right ? linalg::side::right : linalg::side::left; }

/// Vectors are float64 and whole on every rank.
class whole_vector {
  public:
    explicit whole_vector(const nb::object& given)
        : values_(nb::module_::import_("numpy").attr("asarray")(given, "float64"), "matvec: x") {}
    [[nodiscard]] std::span<const double> span() const { return values_.span(); }

  private:
    vector_input<double> values_;
};

template <class T> void bind_products(nb::module_& m) {
    using full = convergent_matrix<T>;
    using half = symmetric_matrix<T>;
    m.def("_matvec",
          [](const full& a, const nb::object& x, bool transposed) {
              const whole_vector values(x);
              return to_numpy(without_gil([&] { return linalg::product(a, values.span(), form_of(transposed)); }));
          })
        .def("_symmetric_matvec",
             [](const full& a, const nb::object& x) {
                 const whole_vector values(x);
                 return to_numpy(without_gil([&] { return linalg::symmetric_product(a, values.span()); }));
             })
        .def("_symmetric_matvec",
             [](const half& a, const nb::object& x) {
                 const whole_vector values(x);
                 return to_numpy(without_gil([&] { return linalg::symmetric_product(a, values.span()); }));
             })
        .def("_matmul",
             [](double alpha, const full& a, bool a_transposed, const full& b, bool b_transposed, double beta, full& c) {
                 const nb::gil_scoped_release release;
                 linalg::product(static_cast<T>(alpha), a, form_of(a_transposed), b, form_of(b_transposed), static_cast<T>(beta),
                                 c);
             })
        .def("_symmetric_matmul",
             [](bool right, double alpha, const full& a, const full& b, double beta, full& c) {
                 const nb::gil_scoped_release release;
                 linalg::symmetric_product(side_of(right), static_cast<T>(alpha), a, b, static_cast<T>(beta), c);
             })
        .def("_symmetric_matmul", [](bool right, double alpha, const half& a, const full& b, double beta, full& c) {
            const nb::gil_scoped_release release;
            linalg::symmetric_product(side_of(right), static_cast<T>(alpha), a, b, static_cast<T>(beta), c);
        });
}

template <class T> void bind_spectra(nb::module_& m) {
    using full = convergent_matrix<T>;
    m.def("_eigvalsh", [](full& a) { return to_numpy(without_gil([&] { return linalg::symmetric_eigenvalues(a); })); })
        .def("_eigh",
             [](full& a, full& vectors) {
                 return to_numpy(without_gil([&] { return linalg::symmetric_eigenproblem(a, vectors); }));
             })
        .def("_invert_triangle", [](full& a, bool lower) {
            const nb::gil_scoped_release release;
            linalg::invert_triangle(a, lower ? linalg::triangle::lower : linalg::triangle::upper);
        });
}

template <class T> void bind_all(nb::module_& m) {
    bind_cholesky<T>(m);
    bind_products<T>(m);
    bind_spectra<T>(m);
}

} // namespace

void bind_linalg(nb::module_& m) {
    bind_all<float>(m);
    bind_all<double>(m);
}

} // namespace craton::bindings
