#include "bindings.hpp"

#include <craton/array/block_cyclic.hpp>
#include <craton/linalg/gram_updater.hpp>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

namespace nb = nanobind;
using craton::array::block_cyclic;

namespace craton::bindings {

namespace {

/// What the constructor takes.
nb::tuple numbers_of(const block_cyclic& l) {
    return nb::make_tuple(l.rows.extent, l.cols.extent, l.rows.block, l.cols.block, l.rows.processes, l.cols.processes);
}

void bind_gram_report(nb::module_& m) {
    using linalg::gram_report;
    nb::class_<gram_report>(m, "GramReport", "What one update_gram did.")
        .def_ro("samples", &gram_report::samples, "k, of all panels together.")
        .def_ro("rank", &gram_report::rank, "Rows that were multiplied: k, or fewer after compression.")
        .def_ro("targets_at_origin", &gram_report::targets_at_origin)
        .def_ro("targets_at_owner", &gram_report::targets_at_owner)
        .def("__repr__", [](const gram_report& r) {
            return "GramReport(samples=" + std::to_string(r.samples) + ", rank=" + std::to_string(r.rank) +
                   ", targets_at_origin=" + std::to_string(r.targets_at_origin) +
                   ", targets_at_owner=" + std::to_string(r.targets_at_owner) + ")";
        });
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
            nb::arg("rank"), nb::arg("row"), nb::arg("col"), "The global element at a local place of a rank.")
        .def(
            "__eq__",
            [](const block_cyclic& l, const nb::object& other) {
                block_cyclic second{};
                return nb::try_cast(other, second, false) && l == second;
            },
            nb::arg("other").none())
        .def("__hash__", [](const block_cyclic& l) { return nb::hash(numbers_of(l)); })
        .def("__repr__", [](const block_cyclic& l) { return std::string("BlockCyclic") + nb::repr(numbers_of(l)).c_str(); })
        .def("__reduce__",
             [](nb::handle self) { return nb::make_tuple(self.type(), numbers_of(nb::cast<const block_cyclic&>(self))); });
    bind_gram_report(m);
    bind_matrix_f32(m);
    bind_matrix_f64(m);
    bind_matrix_complex(m);
    bind_matrix_i64(m);
    bind_vectors(m);
    bind_symmetric_matrices(m);
    bind_reproducible_matrices(m);
    bind_linalg(m);
    bind_dist_arrays(m);
    bind_checkpoint(m);
}

} // namespace craton::bindings
