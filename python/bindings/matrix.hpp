#pragma once

#include "methods.hpp"
#include "python_merge.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/array/trapezoid.hpp>
#include <craton/io/matrix_file.hpp>
#include <craton/linalg/gram_updater.hpp>
#include <craton/linalg/kronecker.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace craton::bindings {

template <class T> struct no_gram_updater {};

template <class T> [[nodiscard]] std::string shape_text(const array::convergent_matrix<T>& a) {
    return std::to_string(a.layout().rows.extent) + " x " + std::to_string(a.layout().cols.extent);
}
template <class T> [[nodiscard]] std::string shape_text(const array::symmetric_matrix<T>& a) {
    return std::to_string(a.order()) + " x " + std::to_string(a.order());
}

/// A matrix and, for square sums of real numbers, what adds products to it. Making either is collective, so both are made at once.
template <class T, class Matrix> class with_gram : public takes_gil_back, public Matrix {
  public:
    using matrix = Matrix;
    static constexpr bool is_real = std::floating_point<T>;

    template <class... Arguments>
    explicit with_gram(bool square_sums, Arguments&&... arguments) : Matrix(std::forward<Arguments>(arguments)...) {
        if constexpr (is_real) {
            if (square_sums) gram_.emplace(*this);
        }
    }
    with_gram(const with_gram&) = delete;
    with_gram& operator=(const with_gram&) = delete;
    ~with_gram() { this->give_up_gil(); }

    [[nodiscard]] auto& gram()
        requires is_real
    {
        if (!gram_)
            throw user_error("update_gram: the matrix is " + shape_text(*this) + "; allowed: square matrices with merge 'add'");
        return *gram_;
    }

  private:
    std::optional<std::conditional_t<is_real, linalg::gram_updater<T>, no_gram_updater<T>>> gram_;
};

/// What ConvergentMatrix_* of Python is.
template <class T> class python_matrix : public with_gram<T, array::convergent_matrix<T>> {
  public:
    python_matrix(runtime::world& ranks, std::int64_t rows, std::int64_t cols, std::pair<std::int64_t, std::int64_t> block,
                  std::pair<int, int> grid, array::merge<T> operation)
        : with_gram<T, array::convergent_matrix<T>>(rows == cols && operation.kind() == array::merge_kind::add, ranks, rows, cols,
                                                    block.first, block.second, array::process_grid{grid.first, grid.second},
                                                    std::move(operation)) {}
    /// The same layout; sums.
    explicit python_matrix(runtime::world& ranks, const array::block_cyclic& like)
        : python_matrix(ranks, like.rows.extent, like.cols.extent, {like.rows.block, like.cols.block},
                        {static_cast<int>(like.rows.processes), static_cast<int>(like.cols.processes)}, {}) {}
};

/// What SymmetricMatrix_* of Python is.
template <class T> class python_symmetric : public with_gram<T, array::symmetric_matrix<T>> {
  public:
    python_symmetric(runtime::world& ranks, std::int64_t order, std::int64_t block, std::pair<int, int> grid,
                     array::merge<T> operation)
        : with_gram<T, array::symmetric_matrix<T>>(operation.kind() == array::merge_kind::add, ranks, order, block,
                                                   array::process_grid{grid.first, grid.second}, std::move(operation)) {}
};

template <class T> [[nodiscard]] const array::merge<T>& merge_operation(const python_symmetric<T>& a) {
    return a.packed().operation();
}
template <class T> [[nodiscard]] const array::merge<T>& merge_operation(const python_matrix<T>& a) { return a.operation(); }

using block_sizes = std::variant<std::int64_t, std::pair<std::int64_t, std::int64_t>>;

[[nodiscard]] inline std::pair<std::int64_t, std::int64_t> block_pair(const block_sizes& block) {
    if (const auto* both = std::get_if<std::int64_t>(&block)) return {*both, *both};
    return std::get<1>(block);
}

[[nodiscard]] inline std::vector<std::int64_t> global_indices(const array::cyclic_dimension& d, std::int64_t process) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(d.local_extent(process)));
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = d.global(process, static_cast<std::int64_t>(i));
    return indices;
}

/// A view of a rank's part that keeps the owner alive.
template <class T> [[nodiscard]] object_of<array_of<T>> local_view(nanobind::handle owner) {
    auto& a = nanobind::cast<array::convergent_matrix<T>&>(owner);
    const int me = a.ranks().rank();
    const auto rows = static_cast<std::size_t>(a.layout().local_rows(me));
    const auto cols = static_cast<std::size_t>(a.layout().local_cols(me));
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>>(a.local().data(), {rows, cols}, owner,
                                                                                   {1, a.layout().leading_dimension(me)}),
                          nanobind::rv_policy::reference);
}

[[nodiscard]] inline array::trapezoid trapezoid_from(const std::string& side, std::int64_t offset) {
    if (side == "upper") return array::trapezoid::upper(offset);
    if (side == "lower") return array::trapezoid::lower(offset);
    throw user_error("update_trapezoid: side is '" + side + "'; allowed: 'upper' or 'lower'");
}

using hint_map = std::map<std::string, std::string>;

template <class Matrix, class Class> void bind_load(Class& c) {
    namespace nb = nanobind;
    c.def(
        "load",
        [](Matrix& a, const std::string& path, const std::string& dataset, hint_map hints) {
            io::transfer_options transfer;
            transfer.hints = std::move(hints);
            const nb::gil_scoped_release release;
            io::load_matrix(a, path, dataset, transfer);
        },
        nb::arg("path"), nb::arg("dataset"), nb::arg("hints") = hint_map{},
        R"(Reads the matrix from an HDF5 file.

Collective, blocking. Any number of ranks may load what any other number saved. UserError on every rank: a missing file
or dataset, a file that is cut short, another shape, another precision (both are named); and, with the matrix
overwritten, elements that are not those of the dataset's craton_checksum.)");
}

template <class T> void bind_matrix_shape(nanobind::class_<array::convergent_matrix<T>>& c) {
    using matrix = array::convergent_matrix<T>;
    bind_world(c);
    bind_shape_and_layout(c);
    bind_dtype<T>(c);
    c.def_prop_ro(
         "block", [](const matrix& a) { return std::pair(a.layout().rows.block, a.layout().cols.block); },
         "Rows and columns of a block.")
        .def_prop_ro(
            "grid", [](const matrix& a) { return std::pair(a.layout().rows.processes, a.layout().cols.processes); },
            "Rows and columns of the process grid.")
        .def_prop_ro(
            "local", [](nanobind::handle self) { return local_view<T>(self); },
            R"(View (no copy) of this rank's storage, shape (local rows, local columns), Fortran order.

It keeps the matrix alive. Read and write it between a commit() and the next update.)")
        .def_prop_ro(
            "local_rows_global",
            [](const matrix& a) { return to_numpy(global_indices(a.layout().rows, a.layout().process_row(a.ranks().rank()))); },
            nanobind::rv_policy::move, "The row in the whole matrix of each row of `local`.")
        .def_prop_ro(
            "local_cols_global",
            [](const matrix& a) { return to_numpy(global_indices(a.layout().cols, a.layout().process_col(a.ranks().rank()))); },
            nanobind::rv_policy::move, "The column in the whole matrix of each column of `local`.");
}

template <class T> void bind_matrix_updates(nanobind::class_<array::convergent_matrix<T>>& c) {
    using matrix = array::convergent_matrix<T>;
    namespace nb = nanobind;
    bind_update_symmetric<T>(c, R"(Merges a symmetric block into the upper triangle.

Element (indices[a], indices[b]) is taken only where row <= column. The matrix must be square. UserError for a block in C order of
which some elements, which are compared, differ from their mirror images. Otherwise as update.)");
    bind_commit_and_reset(c, R"(Commits, then makes all elements the merge's identity (zero for sums).

Collective, blocking.)");
    bind_scale<T>(c);
    c.def(
        "update",
        [](matrix& a, const object_of<number_of<T>>& block, const row_number& rows, const annotated<"int">& cols) {
            const T value = number<T>(block, "update: value");
            const std::int64_t row = one_index(rows, "update: row"), col = one_index(cols, "update: col");
            const nb::gil_scoped_release release;
            a.update(value, row, col);
        },
        nb::arg("block"), nb::arg("rows"), nb::arg("cols"), R"(Merges one number into the element (rows, cols).

Any thread; not collective. UserError for an index out of range.)");
    bind_update<T>(c, R"(Merges block[a, b] into element (rows[a], cols[b]); repeated indices merge repeatedly.

block: of the matrix's own element type, with any strides; it is read where it lies. Any thread; not collective. Blocks
only while the bound on bytes in flight is reached. `block` may be reused on return. UserError, with nothing of the
update applied: an index out of range, a shape that does not match, another element type.)");
    c.def(
         "update_trapezoid",
         [](matrix& a, const object_of<block_of<T>>& block, const index_list& rows, const index_list& cols,
            const one_of<"typing.Literal['upper', 'lower']">& side, std::int64_t offset) {
             const auto taken = trapezoid_from(side, offset);
             const block_input<T> elements(block, "update_trapezoid: block");
             const index_array row_indices(rows, "update_trapezoid: rows");
             const index_array col_indices(cols, "update_trapezoid: cols");
             const nb::gil_scoped_release release;
             a.update_trapezoid(elements.view(), row_indices.span(), col_indices.span(), taken);
         },
         nb::arg("block"), nb::arg("rows"), nb::arg("cols"), nb::arg("side") = "upper", nb::arg("offset") = 0,
         R"(As update, but takes only a part of the elements.

side: 'upper' takes element (i, j) where i <= j + offset, 'lower' where i >= j + offset.)")
        .def("fill_lower", &matrix::fill_lower, nb::call_guard<nb::gil_scoped_release>(),
             R"(Commits, then makes the strict lower triangle the transpose of the upper one.

Collective, blocking. The matrix must be square.)");
}

template <class T> void bind_matrix_reads(nanobind::class_<array::convergent_matrix<T>>& c) {
    using matrix = array::convergent_matrix<T>;
    namespace nb = nanobind;
    bind_read(c, R"(One element from its owner, after a commit.

Blocking, not collective; the owner must poll if it is on another node.)");
    bind_read_slice(c, R"(The block at (rows, cols), a new array of shape (len(rows), len(cols)).

Blocks as read. UserError for an index out of range.)");
    c.def(
         "read_block",
         [](const matrix& a, std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols) {
             auto values = without_gil([&] { return a.read_block(row, col, rows, cols); });
             return to_numpy(std::move(values), {static_cast<std::size_t>(rows), static_cast<std::size_t>(cols)});
         },
         nb::arg("row"), nb::arg("col"), nb::arg("rows"), nb::arg("cols"),
         R"(The rectangle of rows x cols elements that begins at (row, col), a new array.

Blocks as read. UserError where it leaves the matrix.)")
        .def(
            "diagonal",
            [](const matrix& a) {
                auto values = without_gil([&] { return a.diagonal(); });
                using wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
                return to_numpy(std::vector<wide>(values.begin(), values.end()));
            },
            R"(The whole diagonal on every rank; float64 of a float32 matrix.

Collective, blocking. The matrix must be square.)");
    bind_load<matrix>(c.def(
        "save",
        [](const matrix& a, const std::string& path, const std::string& dataset, bool symmetric, bool append, hint_map hints) {
            io::transfer_options transfer;
            transfer.hints = std::move(hints);
            const nb::gil_scoped_release release;
            io::save_matrix(a, path, dataset, {symmetric, append, transfer});
        },
        nb::arg("path"), nb::arg("dataset"), nb::arg("symmetric") = false, nb::arg("append") = false, nb::arg("hints") = hint_map{},
        R"(Writes the matrix to an HDF5 file, in global order.

Collective, blocking. A new file is written aside and renamed; append adds the dataset to an existing file in place.
symmetric: records that only the upper triangle is meaningful. hints go to MPI-IO (striping_factor, ...), over those of
CRATON_IO_HINTS; the same on every rank. UserError on every rank when the file cannot be written.)"));
}

/// Everything but the constructor and what real numbers have beyond. The base class is what matrices inside other objects are
/// (sums).
template <class T> [[nodiscard]] nanobind::class_<python_matrix<T>, array::convergent_matrix<T>> bind_matrix(nanobind::module_& m) {
    using matrix = array::convergent_matrix<T>;
    namespace nb = nanobind;
    const std::string suffix = dtype_suffix<T>();
    nb::class_<matrix> base(m, ("_ConvergentMatrix" + suffix).c_str(), R"(The base of ConvergentMatrix, without a constructor.

An update is applied exactly once between its call and the return of the next commit(); concurrent updates leave what
some serial order of them would. Read elements after a commit() and before the next update. Blocks are NumPy arrays of
the matrix's own element type with any strides (Fortran order, slices, transposes); another type is refused rather than
converted. Indices are array-likes of integers. Every method releases the GIL, and any thread may call those that are
not collective.)");
    bind_matrix_shape<T>(base);
    bind_matrix_updates<T>(base);
    bind_matrix_reads<T>(base);
    nb::class_<python_matrix<T>, matrix> derived(
        m, ("ConvergentMatrix" + suffix).c_str(), nb::type_slots(merge_slots<python_matrix<T>, T>::slots),
        R"(Dense block-cyclic matrix to which any thread of any rank adds blocks at any time.

craton.ConvergentMatrix is its face.)");
    derived.def(
        "__init__",
        [](python_matrix<T>* self, runtime::world& ranks, std::int64_t rows, std::int64_t cols, const block_sizes& block,
           std::pair<int, int> grid, const merge_name& merge, const object_of<number_of<T>>& identity) {
            auto operation = merge_from<T>(merge, identity);
            const nb::gil_scoped_release release;
            new (self) python_matrix<T>(ranks, rows, cols, block_pair(block), grid, std::move(operation));
        },
        nb::arg("world"), nb::arg("rows"), nb::arg("cols"), nb::arg("block") = 64, nb::arg("grid") = std::pair<int, int>{0, 0},
        nb::arg("merge") = "add", nb::arg("identity") = nb::none(), nb::keep_alive<1, 2>(),
        R"(Collective. All elements are the merge's identity at first: zero for sums.

block: rows and columns of a block, or both as one number. grid: process rows and columns; (0, 0) chooses the most
square grid. merge: 'add', 'min', 'max', a NumPy ufunc, or a function of (into, arriving) with an identity. UserError if
the grid does not match the number of ranks, if a rank would own nothing (more ranks than blocks), or where there is not
enough memory.)");
    return derived;
}

} // namespace craton::bindings
