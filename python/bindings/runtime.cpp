#include "bindings.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/runtime/counter.hpp>
#include <craton/runtime/world.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <map>
#include <string>

namespace nb = nanobind;
using craton::runtime::counter;
using craton::runtime::world;

namespace craton::bindings {

namespace {

// mpi4py keeps the handle inside the object; MPI._addressof gives its address. Same MPI on both sides is checked at import.
MPI_Comm native_communicator(const nb::object& comm) {
    const auto address = nb::cast<std::uintptr_t>(nb::module_::import_("mpi4py.MPI").attr("_addressof")(comm));
    return *reinterpret_cast<MPI_Comm*>(address); // NOLINT: that is what _addressof means
}

} // namespace

void bind_runtime(nb::module_& m) {
    nb::class_<world>(m, "World", "Ranks that share one address space.")
        .def(
            "__init__",
            [](world* self, const nb::object& comm, int ranks_per_node, std::size_t max_bytes_in_flight) {
                if (ranks_per_node < 0) {
                    throw user_error("World: ranks_per_node is " + std::to_string(ranks_per_node) +
                                     "; allowed: 0 (the machine's nodes) or more");
                }
                const auto native = native_communicator(comm);
                const nb::gil_scoped_release release;
                new (self) world(craton::comm::communicator::duplicate(native), {ranks_per_node, max_bytes_in_flight});
            },
            nb::arg("comm"), nb::arg("ranks_per_node") = 0, nb::arg("max_bytes_in_flight") = std::size_t{64} << 20,
            "Collective over comm, which is duplicated. ranks_per_node = k > 0 makes virtual nodes of k consecutive ranks.")
        .def_prop_ro("rank", &world::rank)
        .def_prop_ro("size", &world::size)
        .def_prop_ro("node_count", [](const world& w) { return w.node().count; })
        .def_prop_ro("node_size", [](const world& w) { return w.node().communicator.size(); })
        .def("poll", &world::poll, nb::call_guard<nb::gil_scoped_release>(), "Runs handlers of arrived messages; returns how many.")
        .def("quiesce", &world::quiesce, nb::call_guard<nb::gil_scoped_release>(),
             "Collective, blocking: every message ever sent has been executed when it returns.")
        .def("barrier", &world::barrier, nb::call_guard<nb::gil_scoped_release>(), "Collective; polls while it waits.")
        .def(
            "abort", [](world& w, const std::string& message, int code) { w.abort(message, code); }, nb::arg("message"),
            nb::arg("code") = exit_user_error, "Prints one line that names the rank and ends the job.")
        .def("stats", [](const world& w) {
            const auto s = w.statistics();
            return std::map<std::string, std::int64_t>{{"messages_sent", s.messages_sent},
                                                       {"messages_executed", s.messages_executed},
                                                       {"bytes_sent", s.bytes_sent},
                                                       {"direct_updates", s.direct_updates},
                                                       {"peak_bytes_in_flight", s.peak_bytes_in_flight}};
        });

    nb::class_<counter>(m, "Counter", "A 64-bit integer at one rank that any thread of any rank may increment.")
        .def(nb::init<world&, int>(), nb::arg("world"), nb::arg("owner") = 0, nb::keep_alive<1, 2>(),
             nb::call_guard<nb::gil_scoped_release>(), "Collective. Starts at zero.")
        .def("fetch_add", &counter::fetch_add, nb::arg("increment") = 1, nb::call_guard<nb::gil_scoped_release>(),
             "Adds, returns the value before. Blocking, any thread.")
        .def("read", &counter::read, nb::call_guard<nb::gil_scoped_release>())
        .def("reset", &counter::reset, nb::call_guard<nb::gil_scoped_release>(), "Collective.");
}

} // namespace craton::bindings
