#pragma once

#include "blocks.hpp"
#include "gil.hpp"
#include "index_array.hpp"

#include <craton/runtime/world.hpp>

#include <nanobind/stl/pair.h>

#include <utility>

// What the distributed arrays have in common, bound once. What a method does to the elements each kind of array says itself
// (`what`).

namespace craton::bindings {

/// The Python object of a World that lives already.
[[nodiscard]] inline nanobind::object world_object(runtime::world& ranks) {
    return nanobind::cast(&ranks, nanobind::rv_policy::reference);
}

template <class T, class Matrix>
void update_block(Matrix& a, const nanobind::object& block, const nanobind::object& rows, const nanobind::object& cols) {
    const block_input<T> elements(block, "update: block");
    const index_array row_indices(rows, "update: rows");
    const index_array col_indices(cols, "update: cols");
    const nanobind::gil_scoped_release release;
    a.update(elements.view(), row_indices.span(), col_indices.span());
}

template <class T, class Matrix> void bind_update(nanobind::class_<Matrix>& c, const char* what) {
    c.def("update", &update_block<T, Matrix>, nanobind::arg("block"), nanobind::arg("rows"), nanobind::arg("cols"), what);
}

template <class T, class Matrix> void bind_update_symmetric(nanobind::class_<Matrix>& c, const char* what) {
    namespace nb = nanobind;
    c.def(
        "update_symmetric",
        [](Matrix& a, const nb::object& block, const nb::object& indices) {
            const block_input<T> elements(block, "update_symmetric: block");
            const index_array both(indices, "update_symmetric: indices");
            const nb::gil_scoped_release release;
            a.update_symmetric(elements.view(), both.span());
        },
        nb::arg("block"), nb::arg("indices"), what);
}

template <class T, class Matrix> void bind_scale(nanobind::class_<Matrix>& c) {
    namespace nb = nanobind;
    c.def(
        "scale",
        [](Matrix& a, const nb::object& factor) {
            const T value = number<T>(factor, "scale: factor");
            without_gil([&] { a.scale(value); });
        },
        nb::arg("factor"), "Collective: commits, then multiplies every element.");
}

template <class Array> void bind_commit_and_reset(nanobind::class_<Array>& c, const char* what_reset_does) {
    using release_gil = nanobind::call_guard<nanobind::gil_scoped_release>;
    c.def("commit", &Array::commit, release_gil(), "Collective: all earlier updates are applied.")
        .def("reset", &Array::reset, release_gil(), what_reset_does);
}

template <class Matrix> void bind_read(nanobind::class_<Matrix>& c, const char* what) {
    namespace nb = nanobind;
    c.def("read", &Matrix::read, nb::arg("row"), nb::arg("col"), nb::call_guard<nb::gil_scoped_release>(), what);
}

template <class Matrix> void bind_read_slice(nanobind::class_<Matrix>& c, const char* what) {
    namespace nb = nanobind;
    c.def(
        "read_slice",
        [](const Matrix& a, const nb::object& rows, const nb::object& cols) {
            const index_array row_indices(rows, "read_slice: rows");
            const index_array col_indices(cols, "read_slice: cols");
            auto values = without_gil([&] { return a.read_slice(row_indices.span(), col_indices.span()); });
            return to_numpy(std::move(values), {row_indices.size(), col_indices.size()});
        },
        nb::arg("rows"), nb::arg("cols"), what);
}

template <class Array> void bind_world(nanobind::class_<Array>& c) {
    c.def_prop_ro("world", [](const Array& a) { return world_object(a.ranks()); });
}

template <class T, class Array> void bind_dtype(nanobind::class_<Array>& c) {
    c.def_prop_ro("dtype", [](const Array&) { return numpy_dtype(dtype_name<T>()); });
}

/// Of a matrix that lies as its block_cyclic says.
template <class Matrix> void bind_shape_and_layout(nanobind::class_<Matrix>& c) {
    c.def_prop_ro("shape", [](const Matrix& a) {
         return std::pair(a.layout().rows.extent, a.layout().cols.extent);
     }).def_prop_ro("layout", [](const Matrix& a) { return a.layout(); });
}

} // namespace craton::bindings
