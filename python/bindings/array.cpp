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
        .def_ro("targets_at_origin", &gram_report::targets_at_origin, "Ranks whose part of the product was made here.")
        .def_ro("targets_at_owner", &gram_report::targets_at_owner, "Ranks that were sent the panel, and multiply it themselves.")
        .def(
            "__repr__",
            [](const gram_report& r) {
                return "GramReport(samples=" + std::to_string(r.samples) + ", rank=" + std::to_string(r.rank) +
                       ", targets_at_origin=" + std::to_string(r.targets_at_origin) +
                       ", targets_at_owner=" + std::to_string(r.targets_at_owner) + ")";
            },
            "All four numbers.");
}

} // namespace

void bind_array(nb::module_& m) {
    nb::class_<block_cyclic>(m, "BlockCyclic", R"(ScaLAPACK's two-dimensional block-cyclic layout: pure arithmetic, 64-bit.

Two layouts of the same numbers are equal and have one hash; they can be pickled.)")
        .def(
            "__init__",
            [](block_cyclic* self, std::int64_t rows, std::int64_t cols, std::int64_t block_rows, std::int64_t block_cols,
               int grid_rows, int grid_cols) {
                new (self) block_cyclic(
                    array::make_block_cyclic(rows, cols, block_rows, block_cols, {grid_rows, grid_cols}, grid_rows * grid_cols));
            },
            nb::arg("rows"), nb::arg("cols"), nb::arg("block_rows"), nb::arg("block_cols"), nb::arg("grid_rows"),
            nb::arg("grid_cols"), R"(rows x cols elements in blocks, dealt out to a process grid in both dimensions.

Ranks fill the grid row by row. UserError for numbers below 1.)")
        .def("owner", &block_cyclic::owner, nb::arg("row"), nb::arg("col"), "The rank that owns a global element.")
        .def("local_rows", &block_cyclic::local_rows, nb::arg("rank"), "How many rows a rank stores.")
        .def("local_cols", &block_cyclic::local_cols, nb::arg("rank"), "How many columns a rank stores.")
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
            nb::arg("rank"), nb::arg("row"), nb::arg("col"), "The global element at a local place of a rank: (row, column).")
        .def(
            "__eq__",
            [](const block_cyclic& l, const nb::object& other) {
                block_cyclic second{};
                return nb::try_cast(other, second, false) && l == second;
            },
            nb::arg("other").none(), "True for a layout of the same numbers.")
        .def(
            "__hash__", [](const block_cyclic& l) { return nb::hash(numbers_of(l)); }, "Equal layouts have one hash.")
        .def(
            "__repr__", [](const block_cyclic& l) { return std::string("BlockCyclic") + nb::repr(numbers_of(l)).c_str(); },
            "The constructor's call.")
        .def(
            "__reduce__", [](nb::handle self) -> annotated<"tuple[typing.Any, ...]"> {
                return nb::make_tuple(self.type(), numbers_of(nb::cast<const block_cyclic&>(self)));
            },
            "For pickle.");
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
    bind_decompositions(m);
    bind_checkpoint(m);
}

} // namespace craton::bindings
