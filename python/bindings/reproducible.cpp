#include "matrix.hpp"

#include <craton/array/reproducible_matrix.hpp>

#include <string>

namespace nb = nanobind;
using craton::array::convergent_matrix;
using craton::array::reproducible_matrix;
using craton::runtime::world;

namespace craton::bindings {

namespace {

template <class T, class Class> void bind_reproducible_members(Class& c) {
    using matrix = reproducible_matrix<T>;
    c.def(
         "update",
         [](matrix& a, const nb::object& block, const nb::object& rows, const nb::object& cols) {
             const block_input<T> elements(block, "update: block");
             const index_array row_indices(rows, "update: rows");
             const index_array col_indices(cols, "update: cols");
             const nb::gil_scoped_release release;
             a.update(elements.view(), row_indices.span(), col_indices.span());
         },
         nb::arg("block"), nb::arg("rows"), nb::arg("cols"), "Adds block[a, b] to element (rows[a], cols[b]). Any thread.")
        .def(
            "update_symmetric",
            [](matrix& a, const nb::object& block, const nb::object& indices) {
                const block_input<T> elements(block, "update_symmetric: block");
                const index_array both(indices, "update_symmetric: indices");
                const nb::gil_scoped_release release;
                a.update_symmetric(elements.view(), both.span());
            },
            nb::arg("block"), nb::arg("indices"), "Adds a symmetric block to the upper triangle. Any thread.")
        .def("commit", &matrix::commit, nb::call_guard<nb::gil_scoped_release>(), "Collective: all earlier updates are applied.")
        .def("reset", &matrix::reset, nb::call_guard<nb::gil_scoped_release>(), "Collective: all elements become zero.")
        .def("read", &matrix::read, nb::arg("row"), nb::arg("col"), nb::call_guard<nb::gil_scoped_release>(), "One element.")
        .def(
            "read_slice",
            [](const matrix& a, const nb::object& rows, const nb::object& cols) {
                const index_array row_indices(rows, "read_slice: rows");
                const index_array col_indices(cols, "read_slice: cols");
                auto values = without_gil([&] { return a.read_slice(row_indices.span(), col_indices.span()); });
                return to_numpy(std::move(values), {row_indices.size(), col_indices.size()});
            },
            nb::arg("rows"), nb::arg("cols"), "The block at (rows, cols).")
        .def(
            "to_matrix",
            [](const matrix& a) {
                const nb::gil_scoped_release release;
                auto copy = std::make_unique<python_matrix<T>>(a.ranks(), a.layout());
                a.copy_to(*copy);
                return copy;
            },
            nb::keep_alive<0, 1>(), "Collective: the sums in a ConvergentMatrix of the same layout, for linear algebra.");
}

template <class T> void bind_reproducible(nb::module_& m) {
    using matrix = reproducible_matrix<T>;
    using held = ends_without_gil<matrix>;
    const std::string suffix = dtype_suffix<T>();
    nb::class_<matrix> c(m, ("_ReproducibleMatrix" + suffix).c_str());
    c.def_prop_ro("world", [](const matrix& a) { return world_object(a.ranks()); })
        .def_prop_ro("shape", [](const matrix& a) { return std::pair(a.layout().rows.extent, a.layout().cols.extent); })
        .def_prop_ro("layout", [](const matrix& a) { return a.layout(); })
        .def_prop_ro("dtype", [](const matrix&) { return numpy_dtype(dtype_name<T>()); })
        .def_prop_ro("largest", [](const matrix& a) { return a.encoding().largest(); })
        .def_prop_ro("resolution", [](const matrix& a) { return a.encoding().resolution(); })
        .def_prop_ro(
            "sums", [](matrix& a) -> convergent_matrix<std::int64_t>& { return a.sums(); }, nb::rv_policy::reference_internal,
            "The sums as multiples of `resolution`: what a checkpoint keeps.");
    bind_reproducible_members<T>(c);
    nb::class_<held, matrix>(m, ("ReproducibleMatrix" + suffix).c_str(),
                             "Sums whose bits depend neither on ranks and threads nor on the order of updates.")
        .def(
            "__init__",
            [](held* self, world& ranks, std::int64_t rows, std::int64_t cols, double largest, const block_sizes& block,
               std::pair<int, int> grid) {
                const auto both = block_pair(block);
                const nb::gil_scoped_release release;
                new (self) held(ranks, rows, cols, largest, both.first, both.second, array::process_grid{grid.first, grid.second});
            },
            nb::arg("world"), nb::arg("rows"), nb::arg("cols"), nb::arg("largest"), nb::arg("block") = 64,
            nb::arg("grid") = std::pair<int, int>{0, 0}, nb::keep_alive<1, 2>(), "Collective.");
}

} // namespace

void bind_reproducible_matrices(nb::module_& m) {
    bind_reproducible<float>(m);
    bind_reproducible<double>(m);
}

} // namespace craton::bindings
