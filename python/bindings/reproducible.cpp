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
    bind_update<T>(c, R"(Adds block[a, b] to element (rows[a], cols[b]); repeated indices add repeatedly.

As ConvergentMatrix.update. UserError also for an element that is not finite or larger than `largest`.)");
    bind_update_symmetric<T>(c, R"(Adds a symmetric block to the upper triangle.

As ConvergentMatrix.update_symmetric. UserError also for an element that is not finite or larger than `largest`.)");
    c.def("commit", &matrix::commit, nb::call_guard<nb::gil_scoped_release>(),
          R"(Returns when every update made before it on any rank has been applied exactly once.

Collective, blocking. UserError on every rank when the updates together may have exceeded `largest`.)")
        .def("reset", &matrix::reset, nb::call_guard<nb::gil_scoped_release>(), "All elements become zero. Collective, blocking.");
    bind_read(c, R"(One element from its owner, after a commit.

Blocking, not collective; the owner must poll if it is on another node.)");
    bind_read_slice(c, R"(The block at (rows, cols), a new array of shape (len(rows), len(cols)).

Blocks as read. UserError for an index out of range.)");
    c.def(
        "to_matrix",
        [](const matrix& a) {
            const nb::gil_scoped_release release;
            auto copy = std::make_unique<python_matrix<T>>(a.ranks(), a.layout());
            a.copy_to(*copy);
            return copy;
        },
        nb::keep_alive<0, 1>(), R"(The sums, rounded once more, in a new ConvergentMatrix of the same layout: for linear algebra.

Collective, blocking.)");
}

template <class T> void bind_reproducible(nb::module_& m) {
    using matrix = reproducible_matrix<T>;
    using held = ends_without_gil<matrix>;
    const std::string suffix = dtype_suffix<T>();
    nb::class_<matrix> c(m, ("_ReproducibleMatrix" + suffix).c_str(), R"(The base of ReproducibleMatrix, without a constructor.

Sums whose bits depend neither on the number of ranks and threads nor on the order of updates. Arguments are those of
ConvergentMatrix.)");
    bind_world(c);
    bind_shape_and_layout(c);
    bind_dtype<T>(c);
    c.def_prop_ro(
         "largest", [](const matrix& a) { return a.encoding().largest(); },
         "The bound on the sum over all updates of their largest magnitudes.")
        .def_prop_ro(
            "resolution", [](const matrix& a) { return a.encoding().resolution(); },
            "Every contribution is rounded once to a whole multiple of it.")
        .def_prop_ro(
            "sums", [](matrix& a) -> convergent_matrix<std::int64_t>& { return a.sums(); }, nb::rv_policy::reference_internal,
            "The sums as multiples of `resolution` (no copy): what a checkpoint keeps.");
    bind_reproducible_members<T>(c);
    nb::class_<held, matrix>(m, ("ReproducibleMatrix" + suffix).c_str(),
                             R"(Sums whose bits depend neither on ranks and threads nor on the order of updates.

craton.ReproducibleMatrix is its face.)")
        .def(
            "__init__",
            [](held* self, world& ranks, std::int64_t rows, std::int64_t cols, double largest, const block_sizes& block,
               std::pair<int, int> grid) {
                const auto both = block_pair(block);
                const nb::gil_scoped_release release;
                new (self) held(ranks, rows, cols, largest, both.first, both.second, array::process_grid{grid.first, grid.second});
            },
            nb::arg("world"), nb::arg("rows"), nb::arg("cols"), nb::arg("largest"), nb::arg("block") = 64,
            nb::arg("grid") = std::pair<int, int>{0, 0}, nb::keep_alive<1, 2>(), R"(Collective. All elements are zero at first.

largest: see the property; above 0. block and grid: as of ConvergentMatrix.)");
}

} // namespace

void bind_reproducible_matrices(nb::module_& m) {
    bind_reproducible<float>(m);
    bind_reproducible<double>(m);
}

} // namespace craton::bindings
