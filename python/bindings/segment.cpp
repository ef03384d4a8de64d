#include "blocks.hpp"
#include "described.hpp"
#include "gil.hpp"
#include "started.hpp"
#include "strided_array.hpp"

#include <craton/runtime/copy.hpp>
#include <craton/runtime/segment.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace nb = nanobind;
using craton::runtime::copy_end;
using craton::runtime::copy_handle;
using craton::runtime::segment;
using craton::runtime::world;

namespace craton::bindings {

namespace {

using held_segment = ends_without_gil<segment>;

using python_copy = started<copy_handle>;
using any_array = annotated<"numpy.typing.NDArray[typing.Any]">;

copy_end place(const segment& in, int rank, std::int64_t offset_bytes, const char* call) {
    if (rank < 0 || rank >= in.ranks().size()) {
        throw user_error(std::string(call) + ": rank " + std::to_string(rank) + "; allowed: 0 to " +
                         std::to_string(in.ranks().size() - 1));
    }
    if (offset_bytes < 0)
        throw user_error(std::string(call) + ": offset is " + std::to_string(offset_bytes) + " bytes; allowed: 0 or more");
    return {&in, rank, static_cast<std::size_t>(offset_bytes), nullptr};
}

void require_as_many(std::size_t given, std::size_t dimensions, const char* call) {
    if (given != dimensions) {
        throw user_error(std::string(call) + ": " + std::to_string(given) + " strides for " + std::to_string(dimensions) +
                         " dimensions; allowed: as many");
    }
}

python_copy start_put(const held_segment& to, int rank, std::int64_t offset_bytes, const any_array& array,
                      const std::vector<std::int64_t>& strides) {
    const strided_array from(array, "rput");
    require_as_many(strides.size(), from.extents.size(), "rput");
    const auto target = place(to, rank, offset_bytes, "rput");
    auto handle = without_gil([&] {
        return runtime::start_copy({nullptr, -1, 0, from.bytes}, target, {from.extents, from.strides, strides},
                                   static_cast<std::size_t>(from.element_bytes));
    });
    return {std::move(handle), nb::object()};
}

python_copy start_get(const held_segment& from, int rank, std::int64_t offset_bytes, const any_array& array,
                      const std::vector<std::int64_t>& strides) {
    const strided_array to(array, "rget");
    require_as_many(strides.size(), to.extents.size(), "rget");
    const auto source = place(from, rank, offset_bytes, "rget");
    auto handle = without_gil([&] {
        return runtime::start_copy(source, {nullptr, -1, 0, to.bytes}, {to.extents, strides, to.strides},
                                   static_cast<std::size_t>(to.element_bytes));
    });
    return {std::move(handle), array};
}

python_copy start_copy(const held_segment& from, int from_rank, std::int64_t from_offset_bytes, const held_segment& to, int to_rank,
                       std::int64_t to_offset_bytes, const std::vector<std::int64_t>& extents,
                       const std::vector<std::int64_t>& from_strides, const std::vector<std::int64_t>& to_strides,
                       std::size_t element_bytes) {
    require_as_many(from_strides.size(), extents.size(), "copy_to");
    require_as_many(to_strides.size(), extents.size(), "copy_to");
    const auto source = place(from, from_rank, from_offset_bytes, "copy_to");
    const auto target = place(to, to_rank, to_offset_bytes, "copy_to");
    auto handle =
        without_gil([&] { return runtime::start_copy(source, target, {extents, from_strides, to_strides}, element_bytes); });
    return {std::move(handle), nb::object()};
}

/// The bytes of a rank's part, which keep the segment alive; None where they are not mapped here.
annotated<"numpy.ndarray[dtype=uint8] | None"> bytes_of(nb::handle self, int rank) {
    auto& s = nb::cast<held_segment&>(self);
    const auto where = place(s, rank, 0, "view");
    std::byte* const base = s.base(rank);
    if (base == nullptr) return nb::object(nb::none());
    return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(base, {s.bytes(where.rank)}, self), nb::rv_policy::reference);
}

} // namespace

void bind_segment(nb::module_& m) {
    nb::class_<python_copy>(m, "Copy", R"(A copy between memories that was started.

Segment.start_rput, start_rget and copy_to make them. Any thread.)")
        .def("__repr__", bindings::described<python_copy>([](const python_copy&) {
                 return std::string("started; test() says whether it is complete");
             }),
             "What it is, in a line.")
        .def("test", &python_copy::test, "True when it is complete; polls once when it is not.")
        .def("wait", &python_copy::wait, R"(Returns when it is complete: the array of a get, else None.

Blocking; polls meanwhile.)");
    nb::class_<held_segment>(m, "SegmentBytes", R"(Memory that any rank can name, in bytes: what craton.Segment is made of.

Offsets are bytes, strides elements. Members other than the constructor are not collective; any thread.)")
        .def(nb::init<world&, std::size_t>(), nb::arg("world"), nb::arg("bytes"), nb::keep_alive<1, 2>(),
             nb::call_guard<nb::gil_scoped_release>(), R"(Collective, blocking.

bytes: of this rank's part; may differ between ranks.)")
        .def("bytes_of", &bytes_of, nb::arg("rank"), R"(A view of a rank's part, which keeps the segment alive.

None where that rank is on another node. UserError for a rank that does not exist.)")
        .def(
            "size_of", [](const held_segment& s, int rank) { return s.bytes(place(s, rank, 0, "size_of").rank); }, nb::arg("rank"),
            "How many bytes a rank's part has.")
        .def("start_put", &start_put, nb::arg("rank"), nb::arg("offset_bytes"), nb::arg("array"), nb::arg("strides"),
             nb::keep_alive<0, 1>(), R"(Starts copying an array into a rank's part.

strides: of the elements there, one per dimension. The array may be reused when it returns. UserError for what does not
lie within the part.)")
        .def("start_get", &start_get, nb::arg("rank"), nb::arg("offset_bytes"), nb::arg("array"), nb::arg("strides"),
             nb::keep_alive<0, 1>(), R"(Starts copying from a rank's part into an array.

strides: of the elements there, one per dimension. The array is to be left alone until the copy is complete. UserError
for what does not lie within the part.)")
        .def("start_copy", &start_copy, nb::arg("rank"), nb::arg("offset_bytes"), nb::arg("to"), nb::arg("to_rank"),
             nb::arg("to_offset_bytes"), nb::arg("extents"), nb::arg("strides"), nb::arg("to_strides"), nb::arg("element_bytes"),
             nb::keep_alive<0, 1>(), nb::keep_alive<0, 4>(),
             R"(Starts copying from a rank's part to that of another rank, or segment.

extents: elements along each dimension, of element_bytes each. UserError for what does not lie within both parts.)");
}

} // namespace craton::bindings
