#include "bindings.hpp"
#include "index_array.hpp"

#include <craton/array/block_cyclic.hpp>
#include <craton/array/convergent_matrix.hpp>
#include <craton/array/convergent_vector.hpp>
#include <craton/io/matrix_file.hpp>
#include <craton/linalg/cholesky.hpp>
#include <craton/linalg/kronecker.hpp>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <string>
#include <utility>

namespace nb = nanobind;
using craton::array::block_cyclic;
using craton::array::convergent_matrix;
using craton::array::convergent_vector;
using craton::runtime::world;

namespace craton::bindings {

namespace {

template <class T> base::matrix_view<const T> view(const input_2d<T>& array) {
    return base::row_major(array.data(), static_cast<std::int64_t>(array.shape(0)), static_cast<std::int64_t>(array.shape(1)));
}

std::vector<std::int64_t> global_indices(const array::cyclic_dimension& d, std::int64_t process) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(d.local_extent(process)));
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = d.global(process, static_cast<std::int64_t>(i));
    return indices;
}

// A collective waits for other ranks, and they perhaps for a Python thread of this one: never with the GIL held.
template <class Call> auto without_gil(Call call) {
    const nb::gil_scoped_release release;
    return call();
}

template <class T> nb::object numpy_dtype() {
    return nb::module_::import_("numpy").attr("dtype")(sizeof(T) == 4 ? "float32" : "float64");
}

template <class T> void bind_matrix(nb::module_& m, const char* name) {
    using matrix = convergent_matrix<T>;
    nb::class_<matrix>(m, name, "Dense block-cyclic matrix to which any thread of any rank adds blocks at any time.")
        .def(
            "__init__",
            [](matrix* self, world& ranks, std::int64_t rows, std::int64_t cols, std::int64_t block, std::pair<int, int> grid) {
                const nb::gil_scoped_release release;
                new (self) matrix(ranks, rows, cols, block, block, {grid.first, grid.second});
            },
            nb::arg("world"), nb::arg("rows"), nb::arg("cols"), nb::arg("block") = 64, nb::arg("grid") = std::pair<int, int>{0, 0},
            nb::keep_alive<1, 2>(), "Collective. grid (0, 0) chooses the most square grid.")
        .def_prop_ro("shape", [](const matrix& a) { return std::pair(a.layout().rows.extent, a.layout().cols.extent); })
        .def_prop_ro("block", [](const matrix& a) { return std::pair(a.layout().rows.block, a.layout().cols.block); })
        .def_prop_ro("grid", [](const matrix& a) { return std::pair(a.layout().rows.processes, a.layout().cols.processes); })
        .def_prop_ro("dtype", [](const matrix&) { return numpy_dtype<T>(); })
        .def_prop_ro(
            "local",
            [](matrix& a) {
                const int me = a.ranks().rank();
                const auto rows = static_cast<std::size_t>(a.layout().local_rows(me));
                const auto cols = static_cast<std::size_t>(a.layout().local_cols(me));
                const std::int64_t lld = a.layout().leading_dimension(me);
                return nb::ndarray<nb::numpy, T, nb::ndim<2>>(a.local().data(), {rows, cols}, nb::find(a), {1, lld});
            },
            nb::rv_policy::reference, "View (no copy) of this rank's storage, shape (local rows, local columns), Fortran order.")
        .def_prop_ro(
            "local_rows_global",
            [](const matrix& a) { return to_numpy(global_indices(a.layout().rows, a.layout().process_row(a.ranks().rank()))); },
            nb::rv_policy::move)
        .def_prop_ro(
            "local_cols_global",
            [](const matrix& a) { return to_numpy(global_indices(a.layout().cols, a.layout().process_col(a.ranks().rank()))); },
            nb::rv_policy::move)
        .def(
            "update",
            [](matrix& a, const input_2d<T>& block, const nb::object& rows, const nb::object& cols) {
                const index_array row_indices(rows, "update: rows");
                const index_array col_indices(cols, "update: cols");
                const nb::gil_scoped_release release;
                a.update(view(block), row_indices.span(), col_indices.span());
            },
            nb::arg("block"), nb::arg("rows"), nb::arg("cols"), "Adds block[a, b] to element (rows[a], cols[b]). Any thread.")
        .def(
            "update_symmetric",
            [](matrix& a, const input_2d<T>& block, const nb::object& indices) {
                const index_array both(indices, "update_symmetric: indices");
                const nb::gil_scoped_release release;
                a.update_symmetric(view(block), both.span());
            },
            nb::arg("block"), nb::arg("indices"), "Adds a symmetric block to the upper triangle (elements i <= j). Any thread.")
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
            nb::arg("rows"), nb::arg("cols"), "The block at (rows, cols), shape (len(rows), len(cols)).")
        .def(
            "diagonal",
            [](const matrix& a) {
                const auto values = without_gil([&] { return a.diagonal(); });
                return to_numpy(std::vector<double>(values.begin(), values.end()));
            },
            "Collective: the whole diagonal, float64.")
        .def(
            "add_kronecker",
            [](matrix& a, const input_2d<double>& lateral, const input_2d<double>& radial, double scale) {
                const nb::gil_scoped_release release;
                linalg::add_kronecker(a, view(lateral), view(radial), scale);
            },
            nb::arg("lateral"), nb::arg("radial"), nb::arg("scale") = 1.0,
            "Adds scale * kron(lateral, radial) to the upper triangle; local, call it on every rank.")
        .def(
            "copy_as_f64",
            [](const matrix& a) {
                const nb::gil_scoped_release release;
                const auto& l = a.layout();
                auto copy = std::make_unique<convergent_matrix<double>>(
                    a.ranks(), l.rows.extent, l.cols.extent, l.rows.block, l.cols.block,
                    array::process_grid{static_cast<int>(l.rows.processes), static_cast<int>(l.cols.processes)});
                linalg::copy_elements(a, *copy);
                a.ranks().barrier(); // a neighbour's next update must not meet this rank's copying
                return copy;
            },
            nb::keep_alive<0, 1>(), "Collective: the same matrix in double precision.")
        .def(
            "save",
            [](const matrix& a, const std::string& path, const std::string& dataset, bool symmetric, bool append) {
                const nb::gil_scoped_release release;
                io::save_matrix(a, path, dataset, {symmetric, append});
            },
            nb::arg("path"), nb::arg("dataset"), nb::arg("symmetric") = false, nb::arg("append") = false,
            "Collective HDF5 in global order; a new file is written aside and renamed.")
        .def(
            "load",
            [](matrix& a, const std::string& path, const std::string& dataset) {
                const nb::gil_scoped_release release;
                io::load_matrix(a, path, dataset);
            },
            nb::arg("path"), nb::arg("dataset"), "Collective; any number of ranks may load what any other number saved.");
}

template <class T> void bind_vector(nb::module_& m, const char* name) {
    using vector = convergent_vector<T>;
    nb::class_<vector>(m, name, "One-dimensional, block-cyclic over all ranks.")
        .def(nb::init<world&, std::int64_t, std::int64_t>(), nb::arg("world"), nb::arg("size"), nb::arg("block") = 64,
             nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(), "Collective.")
        .def(
            "update",
            [](vector& v, const input_1d<T>& values, const nb::object& indices) {
                const index_array places(indices, "vector update: indices");
                const nb::gil_scoped_release release;
                v.update(as_span(values), places.span());
            },
            nb::arg("values"), nb::arg("indices"), "Adds values[a] to element indices[a]. Any thread.")
        .def("commit", &vector::commit, nb::call_guard<nb::gil_scoped_release>(), "Collective: all earlier updates are applied.")
        .def("reset", &vector::reset, nb::call_guard<nb::gil_scoped_release>(), "Collective.")
        .def(
            "gather", [](vector& v) { return to_numpy(without_gil([&] { return v.gather(); })); },
            "Collective: the whole vector on every rank.");
}

template <class T> void bind_cholesky(nb::module_& m, const char* name) {
    using factor = linalg::cholesky<T>;
    nb::class_<factor>(m, name, "Factorises a symmetric positive-definite convergent matrix in place (upper triangle).")
        .def(nb::init<convergent_matrix<T>&>(), nb::arg("matrix"), nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(),
             "Collective. UserError when the matrix is not positive definite.")
        .def(
            "solve",
            [](const factor& f, const input_1d<double>& rhs) {
                std::vector<double> x;
                {
                    const nb::gil_scoped_release release;
                    x = f.solve(as_span(rhs));
                }
                return to_numpy(std::move(x));
            },
            nb::arg("rhs"), "Collective: the whole right-hand side on every rank gives the whole solution on every rank.");
}

} // namespace

void bind_array(nb::module_& m) {
    nb::class_<block_cyclic>(m, "BlockCyclic", "ScaLAPACK's two-dimensional block-cyclic layout: pure arithmetic.")
        .def(
            "__init__",
            [](block_cyclic* self, std::int64_t rows, std::int64_t cols, std::int64_t block_rows, std::int64_t block_cols,
               int grid_rows, int grid_cols) {
                new (self) block_cyclic(
                    array::make_block_cyclic(rows, cols, block_rows, block_cols, {grid_rows, grid_cols}, grid_rows * grid_cols));
            },
            nb::arg("rows"), nb::arg("cols"), nb::arg("block_rows"), nb::arg("block_cols"), nb::arg("grid_rows"),
            nb::arg("grid_cols"))
        .def("owner", &block_cyclic::owner, nb::arg("row"), nb::arg("col"), "Rank that owns a global element.")
        .def("local_rows", &block_cyclic::local_rows, nb::arg("rank"))
        .def("local_cols", &block_cyclic::local_cols, nb::arg("rank"))
        .def(
            "local_index",
            [](const block_cyclic& l, std::int64_t row, std::int64_t col) {
                return std::pair(l.rows.local(row), l.cols.local(col));
            },
            nb::arg("row"), nb::arg("col"), "Where a global element lies on its owner: (local row, local column).")
        .def(
            "global_index",
            [](const block_cyclic& l, int rank, std::int64_t row, std::int64_t col) {
                return std::pair(l.rows.global(l.process_row(rank), row), l.cols.global(l.process_col(rank), col));
            },
            nb::arg("rank"), nb::arg("row"), nb::arg("col"), "The global element at a local place of a rank.");
    bind_matrix<float>(m, "ConvergentMatrix_f32");
    bind_matrix<double>(m, "ConvergentMatrix_f64");
    bind_vector<float>(m, "ConvergentVector_f32");
    bind_vector<double>(m, "ConvergentVector_f64");
    bind_cholesky<float>(m, "Cholesky_f32");
    bind_cholesky<double>(m, "Cholesky_f64");
}

} // namespace craton::bindings
