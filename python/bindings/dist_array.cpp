#include "dist_array.hpp"

#include "started.hpp"
#include "strided_array.hpp"

#include <craton/linalg/dist_array_factor.hpp>
#include <craton/linalg/dist_array_product.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <tuple>

namespace nb = nanobind;
using craton::runtime::world;

namespace craton::bindings {

namespace {

using operation = started<array::array_handle>;
using numbers = std::vector<std::int64_t>;
using hint_map = std::map<std::string, std::string>;

std::unique_ptr<any_dist_array> make(world& ranks, const std::string& dtype, const std::vector<numbers>& boundaries,
                                     const std::vector<int>& owners) {
    const tile_plan plan{boundaries, owners};
    const nb::gil_scoped_release release;
    if (dtype == "float32") return make_dist_array_of<float>(ranks, plan);
    if (dtype == "float64") return make_dist_array_of<double>(ranks, plan);
    if (dtype == "complex64") return make_dist_array_of<std::complex<float>>(ranks, plan);
    if (dtype == "complex128") return make_dist_array_of<std::complex<double>>(ranks, plan);
    if (dtype == "int32") return make_dist_array_of<std::int32_t>(ranks, plan);
    if (dtype == "int64") return make_dist_array_of<std::int64_t>(ranks, plan);
    throw user_error("DistArray: dtype = '" + dtype +
                     "'; allowed: 'float32', 'float64', 'complex64', 'complex128', 'int32' or 'int64'");
}

// Memory of Python for a rectangle: an array with as many dimensions, of any strides.
strided_array checked_memory(const any_dist_array& a, const nb::object& array, const numbers& low, const numbers& high,
                             const char* call) {
    strided_array memory(array, call);
    const nb::str type(nb::object(array.attr("dtype")));
    if (type.c_str() != std::string(a.dtype())) {
        throw user_error(std::string("dist_array ") + call + ": " + type.c_str() + " memory; allowed: " + a.dtype());
    }
    bool fits = memory.extents.size() == low.size() && low.size() == high.size();
    for (std::size_t d = 0; fits && d < low.size(); ++d) fits = memory.extents[d] == high[d] - low[d];
    if (!fits) {
        const nb::str shape(nb::object(array.attr("shape")));
        throw user_error(std::string("dist_array ") + call + ": memory of shape " + shape.c_str() +
                         " for another rectangle; allowed: the rectangle's own");
    }
    return memory;
}

operation start_get(const any_dist_array& a, const numbers& low, const numbers& high, const nb::object& out) {
    const auto to = checked_memory(a, out, low, high, "get");
    auto handle = without_gil([&] { return a.start_get({low, high}, {to.bytes, to.strides}); });
    return {std::move(handle), out};
}

operation start_put(any_dist_array& a, const numbers& low, const numbers& high, const nb::object& block) {
    const auto from = checked_memory(a, block, low, high, "put");
    auto handle = without_gil([&] { return a.start_put({low, high}, {from.bytes, from.strides}); });
    return {std::move(handle), nb::object()};
}

operation start_accumulate(any_dist_array& a, const numbers& low, const numbers& high, const nb::object& block) {
    const auto from = checked_memory(a, block, low, high, "accumulate");
    auto handle = without_gil([&] { return a.start_accumulate({low, high}, {from.bytes, from.strides}); });
    return {std::move(handle), nb::object()};
}

void post_accumulate(any_dist_array& a, const numbers& low, const numbers& high, const nb::object& block) {
    const auto from = checked_memory(a, block, low, high, "accumulate");
    without_gil([&] { a.post_accumulate({low, high}, {from.bytes, from.strides}); });
}

operation start_apply(any_dist_array& a, const numbers& low, const numbers& high, std::uint32_t function,
                      const nb::bytes& argument) {
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(argument.data()), argument.size());
    auto handle = without_gil([&] { return a.start_apply({low, high}, function, bytes); });
    return {std::move(handle), nb::object()};
}

std::vector<std::tuple<std::int64_t, numbers, numbers, double, bool>>
get_above(const any_dist_array& a, const numbers& low, const numbers& high, double threshold, const nb::object& out) {
    const auto to = checked_memory(a, out, low, high, "get_above");
    const auto pieces = without_gil([&] { return a.get_above({low, high}, threshold, {to.bytes, to.strides}); });
    std::vector<std::tuple<std::int64_t, numbers, numbers, double, bool>> result;
    for (const auto& p : pieces) result.emplace_back(p.tile, p.low, p.high, p.norm, p.came);
    return result;
}

io::transfer_options with_hints(hint_map hints) {
    io::transfer_options options;
    options.hints = std::move(hints);
    return options;
}

void bind_core(nb::module_& m) {
    using core = any_dist_array;
    using release_gil = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<operation>(m, "ArrayOperation", "An operation of a DistArray that was started.")
        .def("test", &operation::test, "True when it is complete; polls when it is not. Any thread.")
        .def("wait", &operation::wait, "Blocking; polls meanwhile. The array of a get, else None.");
    nb::class_<core>(m, "DistArrayCore", "What craton.DistArray is made of.")
        .def_prop_ro("world", [](const core& a) { return nb::cast(&a.ranks(), nb::rv_policy::reference); })
        .def_prop_ro("dtype", [](const core& a) { return numpy_dtype(a.dtype()); })
        .def_prop_ro("shape", [](const core& a) { return nb::tuple(nb::cast(a.shape())); })
        .def_prop_ro("boundaries", [](const core& a) { return a.plan().boundaries; })
        .def_prop_ro("owners", [](const core& a) { return a.plan().owners; })
        .def("start_get", &start_get, nb::arg("low"), nb::arg("high"), nb::arg("out"), nb::keep_alive<0, 1>())
        .def("start_put", &start_put, nb::arg("low"), nb::arg("high"), nb::arg("block"), nb::keep_alive<0, 1>())
        .def("start_accumulate", &start_accumulate, nb::arg("low"), nb::arg("high"), nb::arg("block"), nb::keep_alive<0, 1>())
        .def("post_accumulate", &post_accumulate, nb::arg("low"), nb::arg("high"), nb::arg("block"))
        .def("get_above", &get_above, nb::arg("low"), nb::arg("high"), nb::arg("threshold"), nb::arg("out"))
        .def("register_function", &core::register_function, nb::arg("call"))
        .def("start_apply", &start_apply, nb::arg("low"), nb::arg("high"), nb::arg("function"), nb::arg("argument"),
             nb::keep_alive<0, 1>())
        .def("own_tiles", &core::own_tiles)
        .def(
            "tile_view", [](nb::handle self, std::int64_t tile) { return nb::cast<core&>(self).tile_view(tile, self); },
            nb::arg("tile"))
        .def("sync", &core::sync, release_gil())
        .def("fill", &core::fill, nb::arg("value"))
        .def("scale", &core::scale, nb::arg("by"))
        .def("copy", &core::copy, nb::arg("source"))
        .def("add", &core::add, nb::arg("alpha"), nb::arg("a"), nb::arg("beta"), nb::arg("b"))
        .def("redistribute_to", &core::redistribute_to, nb::arg("to"))
        .def("transpose_to", &core::transpose_to, nb::arg("to"))
        .def("trace", &core::trace)
        .def("dot", &core::dot, nb::arg("other"))
        .def("norm", &core::norm, nb::arg("kind"))
        .def(
            "save",
            [](const core& a, const std::string& path, const std::string& dataset, bool append, hint_map hints) {
                const nb::gil_scoped_release release;
                a.save(path, dataset, {false, append, with_hints(std::move(hints))});
            },
            nb::arg("path"), nb::arg("dataset"), nb::arg("append"), nb::arg("hints"))
        .def(
            "load",
            [](core& a, const std::string& path, const std::string& dataset, hint_map hints) {
                const nb::gil_scoped_release release;
                a.load(path, dataset, with_hints(std::move(hints)));
            },
            nb::arg("path"), nb::arg("dataset"), nb::arg("hints"));
    m.def("_dist_array", &make, nb::arg("world"), nb::arg("dtype"), nb::arg("boundaries"), nb::arg("owners"),
          nb::keep_alive<0, 1>(), "Collective.");
}

linalg::form form_of(bool transposed) { return transposed ? linalg::form::transposed : linalg::form::plain; }

linalg::workers workers_from(const std::string& text) {
    if (text == "auto") return linalg::workers::automatic;
    if (text == "one") return linalg::workers::one_rank;
    if (text == "all") return linalg::workers::all_ranks;
    throw user_error("linalg: workers = '" + text + "'; allowed: 'auto', 'one' or 'all'");
}

// Calls use(array...) with the arrays inside, all of float or all of double.
template <class Use, class... Arrays> auto with_matrices(const char* call, Use use, Arrays&... arrays) {
    const nb::gil_scoped_release release;
    if ((... && (matrix_in<double>(arrays) != nullptr))) return use(*matrix_in<double>(arrays)...);
    if ((... && (matrix_in<float>(arrays) != nullptr))) return use(*matrix_in<float>(arrays)...);
    std::string given;
    ((given +=
      std::string(given.empty() ? "" : ", ") + arrays.dtype() + " of " + std::to_string(arrays.shape().size()) + " dimensions"),
     ...);
    throw user_error(std::string(call) + ": " + given + "; allowed: DistArrays of two dimensions, all float32 or all float64");
}

void bind_linear_algebra(nb::module_& m) {
    using core = any_dist_array;
    m.def("_dist_matmul",
          [](double alpha, core& a, bool a_transposed, core& b, bool b_transposed, double beta, core& c) {
              with_matrices(
                  "matmul",
                  [&]<class T>(const array::dist_array<T, 2>& left, const array::dist_array<T, 2>& right,
                               array::dist_array<T, 2>& to) {
                      linalg::product(static_cast<T>(alpha), left, form_of(a_transposed), right, form_of(b_transposed),
                                      static_cast<T>(beta), to);
                  },
                  a, b, c);
          })
        .def("_dist_eigvalsh",
             [](core& a, const std::string& workers) {
                 const auto who = workers_from(workers);
                 return to_numpy(
                     with_matrices("eigvalsh", [&](const auto& matrix) { return linalg::symmetric_eigenvalues(matrix, who); }, a));
             })
        .def("_dist_eigh",
             [](core& a, core& vectors, const std::string& workers) {
                 const auto who = workers_from(workers);
                 return to_numpy(with_matrices(
                     "eigh",
                     [&]<class T>(const array::dist_array<T, 2>& matrix, array::dist_array<T, 2>& found) {
                         return linalg::symmetric_eigenproblem(matrix, found, who);
                     },
                     a, vectors));
             })
        .def("_dist_cholesky",
             [](core& a, core& lower, const std::string& workers) {
                 const auto who = workers_from(workers);
                 with_matrices(
                     "cholesky",
                     [&]<class T>(const array::dist_array<T, 2>& matrix, array::dist_array<T, 2>& factor) {
                         linalg::cholesky_factor(matrix, factor, who);
                     },
                     a, lower);
             })
        .def("_dist_triangular_inv", [](core& lower, core& inverse, const std::string& workers) {
            const auto who = workers_from(workers);
            with_matrices(
                "triangular_inv",
                [&]<class T>(const array::dist_array<T, 2>& matrix, array::dist_array<T, 2>& result) {
                    linalg::lower_triangular_inverse(matrix, result, who);
                },
                lower, inverse);
        });
}

} // namespace

void bind_dist_arrays(nb::module_& m) {
    bind_core(m);
    bind_linear_algebra(m);
}

} // namespace craton::bindings
