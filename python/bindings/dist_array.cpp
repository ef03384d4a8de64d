#include "dist_array.hpp"

#include "described.hpp"
#include "dist_matrices.hpp"
#include "started.hpp"
#include "strided_array.hpp"

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
using namespace nb::literals;
using craton::runtime::world;

namespace craton::bindings {

namespace {

using operation = started<array::array_handle>;
using numbers = std::vector<std::int64_t>;
using hint_map = std::map<std::string, std::string>;
using any_array = annotated<"numpy.typing.NDArray[typing.Any]">;

std::unique_ptr<any_dist_array> make(world& ranks, const std::string& dtype, const std::vector<numbers>& boundaries,
                                     const std::vector<int>& owners, const std::vector<int>& grid) {
    const tile_plan plan{boundaries, owners, grid};
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

// Dense memory of Python for so many elements.
std::byte* checked_elements(const any_dist_array& a, const nb::object& values, std::size_t count, const char* call) {
    const strided_array memory(values, call);
    const bool dense = memory.extents.size() == 1 && (memory.strides[0] == 1 || memory.extents[0] < 2);
    if (memory.dtype() != a.dtype() || !dense || memory.extents[0] != static_cast<std::int64_t>(count))
        throw user_error(std::string("dist_array ") + call + ": other memory; allowed: " + a.dtype() +
                         ", dense, a number for each of " + std::to_string(count) + " places");
    return memory.bytes;
}

using many_places = input_2d<std::int64_t>;

std::span<const std::int64_t> all_of(const many_places& where) { return {where.data(), where.shape(0) * where.shape(1)}; }

// Memory of Python for a rectangle: an array with as many dimensions, of any strides.
strided_array checked_memory(const any_dist_array& a, const nb::object& array, const numbers& low, const numbers& high,
                             const char* call) {
    strided_array memory(array, call);
    if (memory.dtype() != a.dtype()) {
        const nb::str type(nb::object(array.attr("dtype")));
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

operation start_get(const any_dist_array& a, const numbers& low, const numbers& high, const any_array& out) {
    const auto to = checked_memory(a, out, low, high, "get");
    auto handle = without_gil([&] { return a.start_get({low, high}, {to.bytes, to.strides}); });
    return {std::move(handle), out};
}

operation start_put(any_dist_array& a, const numbers& low, const numbers& high, const any_array& block) {
    const auto from = checked_memory(a, block, low, high, "put");
    auto handle = without_gil([&] { return a.start_put({low, high}, {from.bytes, from.strides}); });
    return {std::move(handle), nb::object()};
}

operation start_accumulate(any_dist_array& a, const numbers& low, const numbers& high, const any_array& block) {
    const auto from = checked_memory(a, block, low, high, "accumulate");
    auto handle = without_gil([&] { return a.start_accumulate({low, high}, {from.bytes, from.strides}); });
    return {std::move(handle), nb::object()};
}

void accumulate(any_dist_array& a, const numbers& low, const numbers& high, const any_array& block) {
    const auto from = checked_memory(a, block, low, high, "accumulate");
    without_gil([&] { a.start_accumulate({low, high}, {from.bytes, from.strides}).wait(); });
}

void post_accumulate(any_dist_array& a, const numbers& low, const numbers& high, const any_array& block) {
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
get_above(const any_dist_array& a, const numbers& low, const numbers& high, double threshold, const any_array& out) {
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

void bind_operations(nb::class_<any_dist_array>& c) {
    using core = any_dist_array;
    c.def("start_get", &start_get, nb::arg("low"), nb::arg("high"), nb::arg("out"), nb::keep_alive<0, 1>(),
          R"(Starts copying a rectangle of the array into memory, which is to be left alone until it is complete.

Any thread; not collective; owners on other nodes must poll.)")
        .def("start_put", &start_put, nb::arg("low"), nb::arg("high"), nb::arg("block"), nb::keep_alive<0, 1>(),
             R"(Starts copying memory into a rectangle of the array; the memory may be reused on return.

Complete when the elements are in the owners' memory. Any thread; not collective; owners on other nodes must poll.)")
        .def("start_accumulate", &start_accumulate, nb::arg("low"), nb::arg("high"), nb::arg("block"), nb::keep_alive<0, 1>(),
             R"(Starts adding memory to a rectangle of the array; the memory may be reused on return.

Complete when all has been added. Any thread; not collective; owners on other nodes must poll.)")
        .def("accumulate", &accumulate, nb::arg("low"), nb::arg("high"), nb::arg("block"),
             R"(Adds memory to a rectangle of the array; all has been added on return.

Blocking, any thread; not collective; owners on other nodes must poll.)")
        .def("post_accumulate", &post_accumulate, nb::arg("low"), nb::arg("high"), nb::arg("block"),
             R"(As start_accumulate without a receipt: all has been added after the next sync().

Any thread; not collective.)")
        .def("get_above", &get_above, nb::arg("low"), nb::arg("high"), nb::arg("threshold"), nb::arg("out"),
             R"(Copies those pieces of a rectangle whose largest |element| is above the threshold.

Memory of the others stays as it is. Returns of each tile's piece (tile, low, high, largest |element|, whether it came).
Blocking, any thread; not collective. UserError for a threshold that is not a number.)")
        .def(
            "register_function",
            [](core& a, const annotated<"collections.abc.Callable[[numpy.typing.NDArray[typing.Any], list[int], bytes], "
                                        "object]">& call) { return a.register_function(call); },
            nb::arg("call"), R"(Names a function for start_apply; returns its number.

Collective, blocking; the same functions in the same order on every rank. It gets a view of a piece of a tile, the
piece's first indices in the array, and the caller's argument. It runs under the tile's lock on any rank that has the
memory, and must not raise, nor keep the array alive.)")
        .def("start_apply", &start_apply, nb::arg("low"), nb::arg("high"), nb::arg("function"), nb::arg("argument"),
             nb::keep_alive<0, 1>(), R"(Starts running a registered function on every piece of a rectangle.

Complete when the function has returned everywhere. Any thread; not collective. UserError for a function that was not
registered and for arguments of 1 GiB or more.)")
        .def(
            "get_elements",
            [](const core& a, const many_places& where, const any_array& out) {
                auto* const to = checked_elements(a, out, where.shape(0), "get_elements");
                without_gil([&] { a.get_elements(all_of(where), to); });
            },
            nb::arg("where"), nb::arg("out"), R"(Fetches elements by their places, a row of `where` each.

Blocking, any thread; not collective. UserError for a place that is not in the array.)")
        .def(
            "put_elements",
            [](core& a, const many_places& where, const any_array& values) {
                const auto* const from = checked_elements(a, values, where.shape(0), "put_elements");
                without_gil([&] { a.put_elements(all_of(where), from); });
            },
            nb::arg("where"), nb::arg("values"), "Sets elements by their places. As get_elements.")
        .def(
            "add_elements",
            [](core& a, const many_places& where, const any_array& values) {
                const auto* const from = checked_elements(a, values, where.shape(0), "add_elements");
                without_gil([&] { a.add_elements(all_of(where), from); });
            },
            nb::arg("where"), nb::arg("values"),
            "Adds to elements by their places, each of which may come more than once. As get_elements.")
        .def(
            "fetch_add", [](core & a, const numbers& where, const annotated<"complex">& by) -> annotated<"complex"> {
                return a.fetch_add(where, by);
            },
            nb::arg("where"), nb::arg("by"), R"(Adds to an element, and returns what it was before.

Blocking, any thread; not collective. Of calls of any threads and ranks each sees another state of the element. UserError
for a place that is not in the array.)")
        .def("own_tiles", &core::own_tiles, "The numbers of this rank's tiles. Not collective.")
        .def(
            "tile_view",
            [](nb::handle self, std::int64_t tile) -> any_array { return nb::cast<core&>(self).tile_view(tile, self); },
            nb::arg("tile"), R"(View (no copy) of a tile of this rank, which keeps the array alive.

Not collective. UserError for a tile that is none of its own.)");
}

void bind_whole_array(nb::class_<any_dist_array>& c) {
    using core = any_dist_array;
    using element = annotated<"complex">;
    c.def("sync", &core::sync, nb::call_guard<nb::gil_scoped_release>(),
          R"(Returns when everything that was started before it on any rank is complete.

Collective, blocking.)")
        .def(
            "fill", [](core& a, const element& value) { a.fill(value); }, nb::arg("value"),
            "Every element becomes the value. Collective, blocking.")
        .def(
            "scale", [](core& a, const element& by) { a.scale(by); }, nb::arg("by"),
            "Multiplies every element. Collective, blocking.")
        .def("copy", &core::copy, nb::arg("source"), R"(This array becomes the other.

Collective, blocking. UserError on every rank for another layout, element type or world.)")
        .def(
            "add",
            [](core& to, const element& alpha, const core& a, const element& beta, const core& b) { to.add(alpha, a, beta, b); },
            nb::arg("alpha"), nb::arg("a"), nb::arg("beta"), nb::arg("b"),
            R"(This array becomes alpha a + beta b; either may be this array.

Collective, blocking. UserError on every rank for another layout, element type or world.)")
        .def("redistribute_to", &core::redistribute_to, nb::arg("to"), R"(Copies the elements to an array of another layout.

Collective, blocking; each owner puts what it owns. UserError on every rank for other extents, element types or another
world.)")
        .def("transpose_to", &core::transpose_to, nb::arg("to"), R"(to[j, i] = this[i, j], whatever the layouts.

Collective, blocking. Throws as redistribute_to; UserError unless both have two dimensions.)")
        .def(
            "trace", [](const core& a) -> annotated<"typing.Any"> { return a.trace(); },
            "The sum of the diagonal, on every rank. Collective, blocking. UserError on every rank unless it is square.")
        .def(
            "dot", [](const core& a, const core& other) -> annotated<"typing.Any"> { return a.dot(other); }, nb::arg("other"),
            R"(The sum over all elements of this one's conjugate times the other's, on every rank.

Collective, blocking. UserError on every rank for another layout, element type or world.)")
        .def("norm", &core::norm, nb::arg("kind"), R"(A norm of the elements as one vector, on every rank.

kind: 'fro', 'max' or 'one'. Collective, blocking. Not a number where any element is none.)")
        .def(
            "save",
            [](const core& a, const std::string& path, const std::string& dataset, bool append, hint_map hints) {
                const nb::gil_scoped_release release;
                a.save(path, dataset, {false, append, with_hints(std::move(hints))});
            },
            nb::arg("path"), nb::arg("dataset"), nb::arg("append"), nb::arg("hints"),
            R"(Writes the array to an HDF5 file, in global order.

Collective, blocking. Arguments are those of ConvergentMatrix.save. UserError on every rank when the file cannot be
written.)")
        .def(
            "load",
            [](core& a, const std::string& path, const std::string& dataset, hint_map hints) {
                const nb::gil_scoped_release release;
                a.load(path, dataset, with_hints(std::move(hints)));
            },
            nb::arg("path"), nb::arg("dataset"), nb::arg("hints"), R"(Reads the array from an HDF5 file.

Collective, blocking. Any number of ranks may load what any other number saved. UserError on every rank: a missing file
or dataset, a file that is cut short, another shape, another precision.)");
}

void bind_core(nb::module_& m) {
    using core = any_dist_array;
    nb::class_<operation>(m, "ArrayOperation", "An operation of a DistArray that was started. Any thread.")
        .def("__repr__", bindings::described<operation>([](const operation&) {
                 return std::string("started; test() says whether it is complete");
             }),
             "What it is, in a line.")
        .def("test", &operation::test, "True when it is complete; polls when it is not.")
        .def("wait", &operation::wait, R"(Returns when it is complete: the array of a get, else None.

Blocking; polls meanwhile.)");
    nb::class_<core> c(m, "DistArrayCore", R"(What craton.DistArray is made of.

Rectangles are low <= i < high, one number per dimension. Memory has the array's own element type and the rectangle's
shape, with any strides. UserError, with nothing done, for a rectangle that leaves the array and for other memory.)");
    c.def_prop_ro(
         "world", [](const core& a) -> annotated<"World"> { return nb::object(nb::cast(&a.ranks(), nb::rv_policy::reference)); },
         "The world that it is spread over.")
        .def_prop_ro(
            "dtype", [](const core& a) -> annotated<"numpy.dtype[typing.Any]"> { return numpy_dtype(a.dtype()); },
            "NumPy's type of the elements.")
        .def_prop_ro(
            "shape", [](const core& a) -> annotated<"tuple[int, ...]"> { return nb::tuple(nb::cast(a.shape())); },
            "The extents of the whole array.")
        .def_prop_ro(
            "boundaries", [](const core& a) { return a.plan().boundaries; },
            "Where the tiles begin along each dimension, and the extent.")
        .def_prop_ro("owners", [](const core& a) { return a.plan().owners; }, "The rank of each tile, in row-major order.");
    bind_operations(c);
    bind_whole_array(c);
    m.def("_dist_array", &make, nb::arg("world"), nb::arg("dtype"), nb::arg("boundaries"), nb::arg("owners"), nb::arg("grid"),
          nb::keep_alive<0, 1>(), R"(A new array of zeros with 1 to 4 dimensions.

Collective, blocking. dtype: float32, float64, complex64, complex128, int32 or int64. boundaries and owners: as the
properties. grid: of ranks to which tiles are dealt in turn; empty: they have owners. UserError on every rank unless
the layout is the same on all, and there is memory.)");
}

linalg::form form_of(bool transposed) { return transposed ? linalg::form::transposed : linalg::form::plain; }

void bind_linear_algebra(nb::module_& m) {
    using core = any_dist_array;
    m.def(
         "_dist_matmul",
         [](double alpha, core& a, bool a_transposed, core& b, bool b_transposed, double beta, core& c) {
             with_matrices(
                 "matmul",
                 [&]<class T>(const array::dist_array<T, 2>& left, const array::dist_array<T, 2>& right,
                              array::dist_array<T, 2>& to) {
                     linalg::product(static_cast<T>(alpha), left, form_of(a_transposed), right, form_of(b_transposed),
                                     static_cast<T>(beta), to);
                 },
                 a, b, c);
         },
         "alpha"_a, "a"_a, "a_transposed"_a, "b"_a, "b_transposed"_a, "beta"_a, "c"_a,
         R"(C = alpha op(A) op(B) + beta C, of arrays in any layouts; with beta = 0 what C holds is not read.

Collective, blocking. Arrays have two dimensions, all float32 or all float64. UserError on every rank when shapes do not
match, the arrays are of different worlds, or C is A or B.)")
        .def(
            "_dist_eigvalsh",
            [](core& a, const std::string& workers) {
                const auto who = workers_from(workers);
                return to_numpy(
                    with_matrices("eigvalsh", [&](const auto& matrix) { return linalg::symmetric_eigenvalues(matrix, who); }, a));
            },
            "matrix"_a, "workers"_a, R"(The eigenvalues of a symmetric matrix, ascending, on every rank.

Collective, blocking. The upper triangle is read, and nothing is overwritten. workers: 'one' (rank 0 alone), 'all' or
'auto'. UserError on every rank when the matrix is not square or an element is not finite.)")
        .def(
            "_dist_eigh",
            [](core& a, core& vectors, const std::string& workers) {
                const auto who = workers_from(workers);
                return to_numpy(with_matrices(
                    "eigh",
                    [&]<class T>(const array::dist_array<T, 2>& matrix, array::dist_array<T, 2>& found) {
                        return linalg::symmetric_eigenproblem(matrix, found, who);
                    },
                    a, vectors));
            },
            "matrix"_a, "vectors"_a, "workers"_a,
            R"(As _dist_eigvalsh; column k of vectors becomes the eigenvector of eigenvalue k, of unit length.

Collective, blocking. UserError also when the iteration does not converge.)")
        .def(
            "_dist_cholesky",
            [](core& a, core& lower, const std::string& workers) {
                const auto who = workers_from(workers);
                with_matrices(
                    "cholesky",
                    [&]<class T>(const array::dist_array<T, 2>& matrix, array::dist_array<T, 2>& factor) {
                        linalg::cholesky_factor(matrix, factor, who);
                    },
                    a, lower);
            },
            "matrix"_a, "lower"_a, "workers"_a,
            R"(lower becomes L of L L^T = A, with zeros above its diagonal, of a symmetric positive-definite matrix.

Collective, blocking. The upper triangle of A is read. workers as of _dist_eigvalsh. UserError also when A is not positive
definite (with the order of the leading minor that is not).)")
        .def(
            "_dist_triangular_inv",
            [](core& lower, core& inverse, const std::string& workers) {
                const auto who = workers_from(workers);
                with_matrices(
                    "triangular_inv",
                    [&]<class T>(const array::dist_array<T, 2>& matrix, array::dist_array<T, 2>& result) {
                        linalg::lower_triangular_inverse(matrix, result, who);
                    },
                    lower, inverse);
            },
            "lower"_a, "inverse"_a, "workers"_a,
            R"(inverse becomes the inverse of a lower triangular matrix, with zeros above its diagonal.

Collective, blocking. What the matrix has above its diagonal is not read. workers as of _dist_eigvalsh. UserError also
when an element of the diagonal is zero.)");
}

} // namespace

void bind_dist_arrays(nb::module_& m) {
    bind_core(m);
    bind_linear_algebra(m);
}

} // namespace craton::bindings
