#pragma once

#include "methods.hpp"
#include "python_merge.hpp"

#include <craton/array/convergent_matrix.hpp>
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

/// What ConvergentMatrix_* of Python is: the matrix and, for square sums of real numbers, what adds products to it. Making either
/// is collective, so both are made at once.
template <class T> class python_matrix : public takes_gil_back, public array::convergent_matrix<T> {
  public:
    using matrix = array::convergent_matrix<T>;
    static constexpr bool is_real = std::floating_point<T>;

    python_matrix(runtime::world& ranks, std::int64_t rows, std::int64_t cols, std::pair<std::int64_t, std::int64_t> block,
                  std::pair<int, int> grid, array::merge<T> operation)
        : matrix(ranks, rows, cols, block.first, block.second, {grid.first, grid.second}, std::move(operation)) {
        if constexpr (is_real) {
            if (rows == cols && this->operation().kind() == array::merge_kind::add) gram_.emplace(*this);
        }
    }
    /// The same layout; sums.
    explicit python_matrix(runtime::world& ranks, const array::block_cyclic& like)
        : python_matrix(ranks, like.rows.extent, like.cols.extent, {like.rows.block, like.cols.block},
                        {static_cast<int>(like.rows.processes), static_cast<int>(like.cols.processes)}, {}) {}
    python_matrix(const python_matrix&) = delete;
    python_matrix& operator=(const python_matrix&) = delete;
    ~python_matrix() { this->give_up_gil(); }

    [[nodiscard]] auto& gram()
        requires is_real
    {
        if (!gram_) {
            throw user_error(std::string("update_gram: the matrix is ") + std::to_string(this->layout().rows.extent) + " x " +
                             std::to_string(this->layout().cols.extent) + "; allowed: square matrices with merge 'add'");
        }
        return *gram_;
    }

  private:
    std::optional<std::conditional_t<is_real, linalg::gram_updater<T>, no_gram_updater<T>>> gram_;
};

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
template <class T> [[nodiscard]] nanobind::object local_view(nanobind::handle owner) {
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

template <class T> void bind_matrix_shape(nanobind::class_<array::convergent_matrix<T>>& c) {
    using matrix = array::convergent_matrix<T>;
    bind_world(c);
    bind_shape_and_layout(c);
    bind_dtype<T>(c);
    c.def_prop_ro("block", [](const matrix& a) { return std::pair(a.layout().rows.block, a.layout().cols.block); })
        .def_prop_ro("grid", [](const matrix& a) { return std::pair(a.layout().rows.processes, a.layout().cols.processes); })
        .def_prop_ro(
            "local", [](nanobind::handle self) { return local_view<T>(self); },
            "View (no copy) of this rank's storage, shape (local rows, local columns), Fortran order.")
        .def_prop_ro(
            "local_rows_global",
            [](const matrix& a) { return to_numpy(global_indices(a.layout().rows, a.layout().process_row(a.ranks().rank()))); },
            nanobind::rv_policy::move)
        .def_prop_ro(
            "local_cols_global",
            [](const matrix& a) { return to_numpy(global_indices(a.layout().cols, a.layout().process_col(a.ranks().rank()))); },
            nanobind::rv_policy::move);
}

template <class T> void bind_matrix_updates(nanobind::class_<array::convergent_matrix<T>>& c) {
    using matrix = array::convergent_matrix<T>;
    namespace nb = nanobind;
    bind_update_symmetric<T>(c, "Merges a symmetric block into the upper triangle (elements i <= j). Any thread.");
    bind_commit_and_reset(c, "Collective: all elements become the identity.");
    bind_scale<T>(c);
    c.def(
         "update",
         [](matrix& a, const nb::object& block, const nb::object& rows, const nb::object& cols) {
             if (is_one_index(rows)) {
                 const T value = number<T>(block, "update: value");
                 const std::int64_t row = one_index(rows, "update: row"), col = one_index(cols, "update: col");
                 const nb::gil_scoped_release release;
                 return a.update(value, row, col);
             }
             update_block<T>(a, block, rows, cols);
         },
         nb::arg("block"), nb::arg("rows"), nb::arg("cols"), "Merges block[a, b] into element (rows[a], cols[b]). Any thread.")
        .def(
            "update_trapezoid",
            [](matrix& a, const nb::object& block, const nb::object& rows, const nb::object& cols, const std::string& side,
               std::int64_t offset) {
                const auto taken = trapezoid_from(side, offset);
                const block_input<T> elements(block, "update_trapezoid: block");
                const index_array row_indices(rows, "update_trapezoid: rows");
                const index_array col_indices(cols, "update_trapezoid: cols");
                const nb::gil_scoped_release release;
                a.update_trapezoid(elements.view(), row_indices.span(), col_indices.span(), taken);
            },
            nb::arg("block"), nb::arg("rows"), nb::arg("cols"), nb::arg("side") = "upper", nb::arg("offset") = 0,
            "As update, but takes only elements with i <= j + offset (upper) or i >= j + offset (lower).")
        .def("fill_lower", &matrix::fill_lower, nb::call_guard<nb::gil_scoped_release>(),
             "Collective: commits, then makes the lower triangle the mirror image of the upper one.");
}

template <class T> void bind_matrix_reads(nanobind::class_<array::convergent_matrix<T>>& c) {
    using matrix = array::convergent_matrix<T>;
    namespace nb = nanobind;
    bind_read(c, "One element.");
    bind_read_slice(c, "The block at (rows, cols), shape (len(rows), len(cols)).");
    c.def(
         "read_block",
         [](const matrix& a, std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols) {
             auto values = without_gil([&] { return a.read_block(row, col, rows, cols); });
             return to_numpy(std::move(values), {static_cast<std::size_t>(rows), static_cast<std::size_t>(cols)});
         },
         nb::arg("row"), nb::arg("col"), nb::arg("rows"), nb::arg("cols"), "The rectangle that begins at (row, col).")
        .def(
            "diagonal",
            [](const matrix& a) {
                auto values = without_gil([&] { return a.diagonal(); });
                using wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
                return to_numpy(std::vector<wide>(values.begin(), values.end()));
            },
            "Collective: the whole diagonal on every rank; float64 of float32 matrices.")
        .def(
            "save",
            [](const matrix& a, const std::string& path, const std::string& dataset, bool symmetric, bool append, hint_map hints) {
                io::transfer_options transfer;
                transfer.hints = std::move(hints);
                const nb::gil_scoped_release release;
                io::save_matrix(a, path, dataset, {symmetric, append, transfer});
            },
            nb::arg("path"), nb::arg("dataset"), nb::arg("symmetric") = false, nb::arg("append") = false,
            nb::arg("hints") = hint_map{}, "Collective HDF5 in global order; a new file is written aside and renamed.")
        .def(
            "load",
            [](matrix& a, const std::string& path, const std::string& dataset, hint_map hints) {
                io::transfer_options transfer;
                transfer.hints = std::move(hints);
                const nb::gil_scoped_release release;
                io::load_matrix(a, path, dataset, transfer);
            },
            nb::arg("path"), nb::arg("dataset"), nb::arg("hints") = hint_map{},
            "Collective; any number of ranks may load what any other number saved.");
}

/// Everything but the constructor and what real numbers have beyond. The base class is what matrices inside other objects are
/// (sums).
template <class T> [[nodiscard]] nanobind::class_<python_matrix<T>, array::convergent_matrix<T>> bind_matrix(nanobind::module_& m) {
    using matrix = array::convergent_matrix<T>;
    namespace nb = nanobind;
    const std::string suffix = dtype_suffix<T>();
    nb::class_<matrix> base(m, ("_ConvergentMatrix" + suffix).c_str());
    bind_matrix_shape<T>(base);
    bind_matrix_updates<T>(base);
    bind_matrix_reads<T>(base);
    nb::class_<python_matrix<T>, matrix> derived(
        m, ("ConvergentMatrix" + suffix).c_str(), nb::type_slots(merge_slots<python_matrix<T>, T>::slots),
        "Dense block-cyclic matrix to which any thread of any rank adds blocks at any time.");
    derived.def(
        "__init__",
        [](python_matrix<T>* self, runtime::world& ranks, std::int64_t rows, std::int64_t cols, const block_sizes& block,
           std::pair<int, int> grid, const nb::object& merge, const nb::object& identity) {
            auto operation = merge_from<T>(merge, identity);
            const nb::gil_scoped_release release;
            new (self) python_matrix<T>(ranks, rows, cols, block_pair(block), grid, std::move(operation));
        },
        nb::arg("world"), nb::arg("rows"), nb::arg("cols"), nb::arg("block") = 64, nb::arg("grid") = std::pair<int, int>{0, 0},
        nb::arg("merge") = "add", nb::arg("identity") = nb::none(), nb::keep_alive<1, 2>(),
        "Collective. grid (0, 0) chooses the most square grid.");
    return derived;
}

} // namespace craton::bindings
