#include "matrix.hpp"

#include <craton/array/reproducible_matrix.hpp>

#include <string>

namespace nb = nanobind;
using craton::array::convergent_matrix;
using craton::array::reproducible_matrix;
using craton::runtime::world;

namespace craton::bindings {

namespace {

template <class T> void bind_reproducible_members(nb::class_<reproducible_matrix<T>>& c) {
    using matrix = reproducible_matrix<T>;
    bind_update<T>(c, "Adds block[a, b] to element (rows[a], cols[b]). Any thread.");
    bind_update_symmetric<T>(c, "Adds a symmetric block to the upper triangle. Any thread.");
    bind_commit_and_reset(c, "Collective: all elements become zero.");
    bind_read(c, "One element.");
    bind_read_slice(c, "The block at (rows, cols).");
    c.def(
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
    bind_world(c);
    bind_shape_and_layout(c);
    bind_dtype<T>(c);
    c.def_prop_ro("largest", [](const matrix& a) { return a.encoding().largest(); })
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
