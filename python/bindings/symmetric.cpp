#include "matrix.hpp"

#include <craton/array/symmetric_matrix.hpp>

#include <string>

namespace nb = nanobind;
using craton::array::convergent_matrix;
using craton::array::symmetric_matrix;
using craton::runtime::world;

namespace craton::bindings {

template <class T> static const array::merge<T>& merge_operation(const ends_without_gil<symmetric_matrix<T>>& a) {
    return a.packed().operation();
}

namespace {

template <class T> void bind_symmetric_updates(nb::class_<symmetric_matrix<T>>& c) {
    bind_update<T>(c, "Merges block[a, b] into element (rows[a], cols[b]) wherever rows[a] <= cols[b]. Any thread.");
    bind_update_symmetric<T>(c, "Merges a symmetric block. Any thread.");
    bind_commit_and_reset(c, "Collective: all elements become the identity.");
    bind_scale<T>(c);
}

template <class T> void bind_symmetric_reads(nb::class_<symmetric_matrix<T>>& c) {
    using matrix = symmetric_matrix<T>;
    bind_read(c, "One element, of either triangle.");
    bind_read_slice(c, "The block at (rows, cols) of either triangle.");
    c.def(
         "diagonal", [](const matrix& a) { return to_numpy(without_gil([&] { return a.diagonal(); })); },
         "Collective: the whole diagonal on every rank.")
        .def(
            "expand",
            [](const matrix& a, convergent_matrix<T>& full, bool fill_lower) { without_gil([&] { a.expand(full, fill_lower); }); },
            nb::arg("full"), nb::arg("fill_lower") = false, "Collective: replaces a full matrix by this one.")
        .def(
            "compress", [](matrix& a, const convergent_matrix<T>& full) { without_gil([&] { a.compress(full); }); },
            nb::arg("full"), "Collective: replaces this matrix by the upper triangle of a full one.")
        .def(
            "to_matrix",
            [](const matrix& a, bool fill_lower) {
                const nb::gil_scoped_release release;
                const auto& l = a.packed().layout();
                auto full = std::make_unique<python_matrix<T>>(
                    a.ranks(), a.order(), a.order(), std::pair(a.packing().block, a.packing().block),
                    std::pair(static_cast<int>(l.rows.processes), static_cast<int>(l.cols.processes)), a.packed().operation());
                a.expand(*full, fill_lower);
                return full;
            },
            nb::arg("fill_lower") = false, nb::keep_alive<0, 1>(), "Collective: a full matrix of the same elements.");
}

template <class T> void bind_symmetric(nb::module_& m) {
    using matrix = symmetric_matrix<T>;
    using held = ends_without_gil<matrix>;
    const std::string suffix = dtype_suffix<T>();
    nb::class_<matrix> c(m, ("_SymmetricMatrix" + suffix).c_str());
    bind_world(c);
    bind_dtype<T>(c);
    c.def_prop_ro("shape", [](const matrix& a) { return std::pair(a.order(), a.order()); })
        .def_prop_ro("order", &matrix::order)
        .def_prop_ro("block", [](const matrix& a) { return a.packing().block; })
        .def_prop_ro(
            "packed", [](matrix& a) -> convergent_matrix<T>& { return a.packed(); }, nb::rv_policy::reference_internal,
            "The packed array, for files: its layout is described in symmetric_matrix.hpp.");
    bind_symmetric_updates<T>(c);
    bind_symmetric_reads<T>(c);
    nb::class_<held, matrix>(m, ("SymmetricMatrix" + suffix).c_str(), nb::type_slots(merge_slots<held, T>::slots),
                             "Symmetric matrix that keeps its upper triangle: half the memory.")
        .def(
            "__init__",
            [](held* self, world& ranks, std::int64_t order, std::int64_t block, std::pair<int, int> grid, const nb::object& merge,
               const nb::object& identity) {
                auto operation = merge_from<T>(merge, identity);
                const nb::gil_scoped_release release;
                new (self) held(ranks, order, block, array::process_grid{grid.first, grid.second}, std::move(operation));
            },
            nb::arg("world"), nb::arg("order"), nb::arg("block") = 64, nb::arg("grid") = std::pair<int, int>{0, 0},
            nb::arg("merge") = "add", nb::arg("identity") = nb::none(), nb::keep_alive<1, 2>(), "Collective.");
}

} // namespace

void bind_symmetric_matrices(nb::module_& m) {
    bind_symmetric<float>(m);
    bind_symmetric<double>(m);
    bind_symmetric<std::complex<float>>(m);
    bind_symmetric<std::complex<double>>(m);
    bind_symmetric<std::int64_t>(m);
}

} // namespace craton::bindings
