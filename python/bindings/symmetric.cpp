#include "real_matrix.hpp"

#include <craton/array/symmetric_matrix.hpp>

#include <string>

namespace nb = nanobind;
using craton::array::convergent_matrix;
using craton::array::symmetric_matrix;
using craton::runtime::world;

namespace craton::bindings {

namespace {

template <class T> void bind_symmetric_updates(nb::class_<symmetric_matrix<T>>& c) {
    bind_update<T>(c, R"(Merges block[a, b] into element (rows[a], cols[b]) wherever rows[a] <= cols[b].

What lies below the diagonal is left out. Any thread; not collective. Otherwise as ConvergentMatrix.update.)");
    bind_update_symmetric<T>(c, R"(Merges a symmetric block: element (indices[a], indices[b]) where row <= column.

Any thread; not collective. UserError for a block in C order of which some elements, which are compared, differ from their mirror
images. Otherwise as update.)");
    bind_commit_and_reset(c, R"(Commits, then makes all elements the merge's identity (zero for sums).

Collective, blocking.)");
    bind_scale<T>(c);
}

template <class T> void bind_symmetric_reads(nb::class_<symmetric_matrix<T>>& c) {
    using matrix = symmetric_matrix<T>;
    bind_read(c, R"(One element of either triangle from its owner, after a commit.

Blocking, not collective; the owner must poll if it is on another node.)");
    bind_read_slice(c, R"(The block at (rows, cols) of either triangle, a new array.

Blocks as read. UserError for an index out of range.)");
    c.def(
         "diagonal", [](const matrix& a) { return to_numpy(without_gil([&] { return a.diagonal(); })); },
         "The whole diagonal on every rank. Collective, blocking.")
        .def(
            "expand",
            [](const matrix& a, convergent_matrix<T>& full, bool fill_lower) { without_gil([&] { a.expand(full, fill_lower); }); },
            nb::arg("full"), nb::arg("fill_lower") = false, R"(Replaces a full matrix of the same order by this committed one.

Collective, blocking. Its lower triangle becomes the merge's identity or, with fill_lower, the mirror image.)")
        .def(
            "compress", [](matrix& a, const convergent_matrix<T>& full) { without_gil([&] { a.compress(full); }); },
            nb::arg("full"), R"(Replaces this matrix by the upper triangle of a full one.

Collective, blocking. The full matrix is committed and of the same order.)")
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
            nb::arg("fill_lower") = false, nb::keep_alive<0, 1>(), R"(A new full matrix of the same elements.

Collective, blocking. The lower triangle is as expand makes it.)");
}

template <class T> void bind_symmetric_files(nb::class_<symmetric_matrix<T>>& c) {
    using matrix = symmetric_matrix<T>;
    bind_load<matrix>(c.def(
        "save",
        [](const matrix& a, const std::string& path, const std::string& dataset, bool append, hint_map hints) {
            io::transfer_options transfer;
            transfer.hints = std::move(hints);
            const nb::gil_scoped_release release;
            io::save_matrix(a, path, dataset, {.append = append, .transfer = transfer});
        },
        nb::arg("path"), nb::arg("dataset"), nb::arg("append") = false, nb::arg("hints") = hint_map{},
        R"(Writes the packed array to an HDF5 file, with attributes storage = "packed", order and block.

Collective, blocking. Otherwise as ConvergentMatrix.save.)"));
}

template <class T> void bind_symmetric(nb::module_& m) {
    using matrix = symmetric_matrix<T>;
    using held = python_symmetric<T>;
    const std::string suffix = dtype_suffix<T>();
    nb::class_<matrix> c(m, ("_SymmetricMatrix" + suffix).c_str(), R"(The base of SymmetricMatrix, without a constructor.

A symmetric matrix that keeps its upper triangle only, in half the memory, where Cholesky factors it. Its contract and
arguments are those of ConvergentMatrix.)");
    bind_world(c);
    bind_dtype<T>(c);
    c.def_prop_ro(
         "shape", [](const matrix& a) { return std::pair(a.order(), a.order()); }, "Rows and columns of the whole matrix.")
        .def_prop_ro("order", &matrix::order, "Rows, and columns, of the whole matrix.")
        .def_prop_ro(
            "block", [](const matrix& a) { return a.packing().block; }, "Rows, and columns, of a block.")
        .def_prop_ro(
            "packed", [](matrix& a) -> convergent_matrix<T>& { return a.packed(); }, nb::rv_policy::reference_internal,
            R"(The packed array itself (no copy), for files.

A block version of the rectangular full packed format; include/craton/array/symmetric_matrix.hpp describes it.)");
    bind_symmetric_updates<T>(c);
    bind_symmetric_reads<T>(c);
    bind_symmetric_files<T>(c);
    nb::class_<held, matrix> face(m, ("SymmetricMatrix" + suffix).c_str(), nb::type_slots(merge_slots<held, T>::slots),
                                  R"(Symmetric matrix that keeps its upper triangle only, in half the memory.

craton.SymmetricMatrix is its face.)");
    face.def(
        "__init__",
        [](held* self, world& ranks, std::int64_t order, std::int64_t block, std::pair<int, int> grid, const merge_name& merge,
           const object_of<number_of<T>>& identity) {
            auto operation = merge_from<T>(merge, identity);
            const nb::gil_scoped_release release;
            new (self) held(ranks, order, block, grid, std::move(operation));
        },
        nb::arg("world"), nb::arg("order"), nb::arg("block") = 64, nb::arg("grid") = std::pair<int, int>{0, 0},
        nb::arg("merge") = "add", nb::arg("identity") = nb::none(), nb::keep_alive<1, 2>(),
        R"(Collective. All elements are the merge's identity at first: zero for sums.

block: rows, and columns, of a block. grid, merge and identity: as of ConvergentMatrix.)");
    if constexpr (std::floating_point<T>) {
        bind_gram<T>(face);
        face.def(
            "add_kronecker",
            [](matrix& a, const symmetric_matrix<double>& lateral, const object_of<block_of<double>>& radial, double scale,
               std::int64_t offset) {
                const block_input<double> inner(radial, "add_kronecker: radial");
                const nb::gil_scoped_release release;
                linalg::add_kronecker(a, lateral, inner.view(), scale, offset);
            },
            nb::arg("lateral"), nb::arg("radial"), nb::arg("scale") = 1.0, nb::arg("offset") = 0,
            R"(Adds scale * kron(lateral, radial) to the upper triangle of a diagonal block.

lateral: a float64 SymmetricMatrix of the same world, committed; each rank reads the elements that its own part takes.
Collective, blocking; commit() again before the next update or read. UserError where the product does not lie within the
matrix.)");
        bind_kronecker(face);
    }
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
