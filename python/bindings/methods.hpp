#pragma once

#include "blocks.hpp"
#include "gil.hpp"
#include "index_array.hpp"
#include "symmetric_sample.hpp"

#include <craton/runtime/world.hpp>

#include <nanobind/stl/pair.h>

#include <utility>

// What the distributed arrays have in common, bound once. What a method does to the elements each kind of array says itself
// (`what`).

namespace craton::bindings {

/// Rows or columns: any array-like of integers.
using index_list = annotated<"_Indices">;

/// The Python object of a World that lives already.
[[nodiscard]] inline nanobind::object world_object(runtime::world& ranks) {
    return nanobind::cast(&ranks, nanobind::rv_policy::reference);
}

template <class T, class Matrix>
void update_block(Matrix& a, const object_of<block_of<T>>& block, const index_list& rows, const index_list& cols) {
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
        [](Matrix& a, const object_of<block_of<T>>& block, const index_list& indices) {
            const block_input<T> elements(block, "update_symmetric: block");
            const index_array both(indices, "update_symmetric: indices");
            require_symmetric_sample(elements.view(), "update_symmetric: block");
            const nb::gil_scoped_release release;
            a.update_symmetric(elements.view(), both.span());
        },
        nb::arg("block"), nb::arg("indices"), what);
}

template <class T, class Matrix> void bind_scale(nanobind::class_<Matrix>& c) {
    namespace nb = nanobind;
    c.def(
        "scale",
        [](Matrix& a, const object_of<number_of<T>>& factor) {
            const T value = number<T>(factor, "scale: factor");
            without_gil([&] { a.scale(value); });
        },
        nb::arg("factor"), R"(Commits, then multiplies every element.

Collective, blocking. UserError for a factor of another kind of number.)");
}

template <class Array> void bind_commit_and_reset(nanobind::class_<Array>& c, const char* what_reset_does) {
    using release_gil = nanobind::call_guard<nanobind::gil_scoped_release>;
    c.def("commit", &Array::commit, release_gil(),
          R"(Returns when every update made before it on any rank has been applied exactly once.

Collective, blocking. The threads of this rank must have returned from their updates.)")
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
        [](const Matrix& a, const index_list& rows, const index_list& cols) {
            const index_array row_indices(rows, "read_slice: rows");
            const index_array col_indices(cols, "read_slice: cols");
            auto values = without_gil([&] { return a.read_slice(row_indices.span(), col_indices.span()); });
            return to_numpy(std::move(values), {row_indices.size(), col_indices.size()});
        },
        nb::arg("rows"), nb::arg("cols"), what);
}

template <class Array> void bind_world(nanobind::class_<Array>& c) {
    c.def_prop_ro(
        "world", [](const Array& a) -> annotated<"World"> { return world_object(a.ranks()); }, "The world that it is spread over.");
}

template <class T, class Array> void bind_dtype(nanobind::class_<Array>& c) {
    c.def_prop_ro(
        "dtype", [](const Array&) -> object_of<dtype_of<T>> { return numpy_dtype(dtype_name<T>()); },
        "NumPy's type of the elements.");
}

/// Of a matrix that lies as its block_cyclic says.
template <class Matrix> void bind_shape_and_layout(nanobind::class_<Matrix>& c) {
    c.def_prop_ro(
         "shape", [](const Matrix& a) { return std::pair(a.layout().rows.extent, a.layout().cols.extent); },
         "Rows and columns of the whole matrix.")
        .def_prop_ro("layout", [](const Matrix& a) { return a.layout(); }, "Who owns an element, and where it lies there.");
}

} // namespace craton::bindings
