#include "blocks.hpp"
#include "gil.hpp"
#include "native_communicator.hpp"

#include <craton/comm/agreement.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/runtime/counter.hpp>
#include <craton/runtime/neighbour_sync.hpp>
#include <craton/runtime/progress_thread.hpp>
#include <craton/runtime/work_queue.hpp>
#include <craton/runtime/world.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace nb = nanobind;
using craton::runtime::counter;
using craton::runtime::neighbour_sync;
using craton::runtime::progress_thread;
using craton::runtime::work_queue;
using craton::runtime::world;

namespace craton::bindings {

namespace {

// An array of the shape of the given one. Lengths are compared first: a sum of vectors of other lengths would overwrite memory.
nb::object sum_over_ranks(world& w, const nb::object& values) {
    const nb::object given = nb::module_::import_("numpy").attr("ascontiguousarray")(values, "float64");
    const nb::object flat = given.attr("ravel")();
    const vector_input<double> own(flat, "World.sum: values");
    std::vector<double> sums(own.span().begin(), own.span().end());
    without_gil([&] {
        w.barrier(); // polls, before what does not
        const auto length = std::ssize(sums);
        std::array<std::int64_t, 2> lengths{length, length * length};
        w.communicator().sum_in_place(std::span<std::int64_t>(lengths));
        if (lengths[0] * lengths[0] != w.size() * lengths[1]) // Cauchy and Schwarz
            throw user_error("World.sum: ranks gave different numbers of values; allowed: the same on every rank");
        w.communicator().sum_in_place(std::span<double>(sums));
    });
    return nb::cast(to_numpy(std::move(sums))).attr("reshape")(given.attr("shape"));
}

void bind_world(nb::module_& m) {
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
        .def("__repr__",
             [](const world& w) {
                 return "<World: rank " + std::to_string(w.rank()) + " of " + std::to_string(w.size()) + " on " +
                        std::to_string(w.node().count) + (w.node().count == 1 ? " node>" : " nodes>");
             })
        .def_prop_ro("rank", &world::rank)
        .def_prop_ro("size", &world::size)
        .def_prop_ro("node_count", [](const world& w) { return w.node().count; })
        .def_prop_ro("node_size", [](const world& w) { return w.node().communicator.size(); })
        .def(
            "shares_memory_with",
            [](const world& w, int rank) { return rank >= 0 && rank < w.size() && w.shares_memory_with(rank); }, nb::arg("rank"),
            "True when updates of that rank's memory are made in place.")
        .def_prop_rw(
            "max_bytes_in_flight", &world::max_bytes_in_flight,
            [](world& w, std::int64_t bytes) {
                if (bytes < 1) throw user_error("max_bytes_in_flight is " + std::to_string(bytes) + "; allowed: 1 or more");
                w.set_max_bytes_in_flight(static_cast<std::size_t>(bytes));
            },
            "The bound on bytes of messages that this rank has under way.")
        .def_prop_ro("bytes_in_flight", &world::bytes_in_flight)
        .def("flush", nb::overload_cast<>(&world::flush), nb::call_guard<nb::gil_scoped_release>(),
             "Starts every message that waits for company. Does not block.")
        .def("poll", &world::poll, nb::call_guard<nb::gil_scoped_release>(), "Runs handlers of arrived messages; returns how many.")
        .def("quiesce", &world::quiesce, nb::call_guard<nb::gil_scoped_release>(),
             "Collective, blocking: every message ever sent has been executed when it returns.")
        .def("barrier", &world::barrier, nb::call_guard<nb::gil_scoped_release>(), "Collective; polls while it waits.")
        .def("sum", &sum_over_ranks, nb::arg("values"), "Collective, blocking: sums over the ranks, on every rank, in float64.")
        .def(
            "agree",
            [](world& w, const std::string& failure) {
                const nb::gil_scoped_release release;
                w.barrier(); // polls, before what does not
                comm::agree(w.communicator(), failure);
            },
            nb::arg("failure") = "",
            "Collective, blocking: UserError on every rank with the words of the lowest that gives any; \"\": none.")
        .def(
            "abort", [](world& w, const std::string& message, int code) { w.abort(message, code); }, nb::arg("message"),
            nb::arg("code") = exit_user_error, "Prints one line that names the rank and ends the job.")
        .def("stats", [](const world& w) {
            const auto s = w.statistics();
            return std::map<std::string, std::int64_t>{{"messages_sent", s.messages_sent},
                                                       {"messages_executed", s.messages_executed},
                                                       {"bytes_sent", s.bytes_sent},
                                                       {"direct_updates", s.direct_updates},
                                                       {"peak_bytes_in_flight", s.peak_bytes_in_flight},
                                                       {"transfers_sent", s.transfers_sent}};
        });
}

void bind_counter(nb::module_& m) {
    using held = ends_without_gil<counter>;
    nb::class_<held>(m, "Counter", "A 64-bit integer at one rank that any thread of any rank may increment.")
        .def(
            "__init__",
            [](held* self, world& ranks, int owner) {
                if (owner < 0 || owner >= ranks.size()) {
                    throw user_error("Counter: owner is " + std::to_string(owner) + "; allowed: 0 to " +
                                     std::to_string(ranks.size() - 1));
                }
                const nb::gil_scoped_release release;
                new (self) held(ranks, owner);
            },
            nb::arg("world"), nb::arg("owner") = 0, nb::keep_alive<1, 2>(), "Collective. Starts at zero.")
        .def(
            "fetch_add", [](held& c, std::int64_t increment) { return c.fetch_add(increment); }, nb::arg("increment") = 1,
            nb::call_guard<nb::gil_scoped_release>(), "Adds, returns the value before. Blocking, any thread.")
        .def(
            "read", [](held& c) { return c.read(); }, nb::call_guard<nb::gil_scoped_release>())
        .def("reset", [](held& c) { c.reset(); }, nb::call_guard<nb::gil_scoped_release>(), "Collective.");
}

void bind_progress_thread(nb::module_& m) {
    using held = ends_without_gil<progress_thread>;
    nb::class_<held>(m, "ProgressThread", "A thread that runs the handlers of arriving messages while the others compute.")
        .def(nb::init<world&>(), nb::arg("world"), nb::keep_alive<1, 2>(), "Not collective; does not start it.")
        .def(
            "start", [](held& t) { t.start(); }, nb::call_guard<nb::gil_scoped_release>(),
            "Makes the thread, or wakes it after pause().")
        .def(
            "pause", [](held& t) { t.pause(); }, nb::call_guard<nb::gil_scoped_release>(), "It looks no more until resume().")
        .def(
            "resume", [](held& t) { t.resume(); }, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "stop", [](held& t) { t.stop(); }, nb::call_guard<nb::gil_scoped_release>(), "Ends the thread.")
        .def_prop_ro("running", [](const held& t) { return t.running(); })
        .def("__enter__",
             [](nb::handle self) {
                 auto& t = nb::cast<held&>(self);
                 without_gil([&] { t.start(); });
                 return nb::borrow(self);
             })
        .def(
            "__exit__", [](held& t, const nb::object&, const nb::object&, const nb::object&) { without_gil([&] { t.stop(); }); },
            nb::arg("kind").none(), nb::arg("error").none(), nb::arg("trace").none());
}

void bind_work_queue(nb::module_& m) {
    using held = ends_without_gil<work_queue>;
    nb::class_<held>(m, "WorkQueue", "Hands out task numbers, each to exactly one caller: every rank's own first, then others'.")
        .def(
            "__init__",
            [](held* self, world& ranks, const nb::object& tasks) {
                if (is_one_index(tasks)) {
                    const auto count = one_index(tasks, "WorkQueue: tasks");
                    const nb::gil_scoped_release release;
                    new (self) held(ranks, count);
                    return;
                }
                const nb::object costs = nb::module_::import_("numpy").attr("asarray")(tasks, "float64");
                const vector_input<double> predicted(costs, "WorkQueue: costs");
                const nb::gil_scoped_release release;
                new (self) held(ranks, predicted.span());
            },
            nb::arg("world"), nb::arg("tasks"), nb::keep_alive<1, 2>(),
            "Collective. A number of tasks, or the predicted cost of each.")
        .def(
            "next", [](held& q) { return q.next(); }, nb::call_guard<nb::gil_scoped_release>(), "The next task, or None.")
        .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
        .def("__next__",
             [](held& q) {
                 const auto task = without_gil([&] { return q.next(); });
                 if (!task) throw nb::stop_iteration();
                 return *task;
             })
        .def(
            "reset", [](held& q) { q.reset(); }, nb::call_guard<nb::gil_scoped_release>(),
            "Collective: all tasks are to be done again.")
        .def_prop_ro(
            "own", [](const held& q) { return q.own(); }, "(first, last + 1) of this rank's before anything is stolen.")
        .def_prop_ro("stolen", [](const held& q) { return q.stolen(); });
}

void bind_neighbour_sync(nb::module_& m) {
    using held = ends_without_gil<neighbour_sync>;
    using ranks_list = std::vector<int>;
    nb::class_<held>(m, "NeighbourSync", "Synchronises a rank with the ranks that it names, and nobody else.")
        .def(nb::init<world&>(), nb::arg("world"), nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(), "Collective.")
        .def(
            "signal", [](held& s, const ranks_list& ranks) { without_gil([&] { s.signal(ranks); }); }, nb::arg("ranks"),
            "Not blocking.")
        .def(
            "wait", [](held& s, const ranks_list& ranks) { without_gil([&] { s.wait(ranks); }); }, nb::arg("ranks"),
            "Blocking: until each of the ranks has signalled once more than this one has waited for it.")
        .def(
            "synchronise", [](held& s, const ranks_list& ranks) { without_gil([&] { s.synchronise(ranks); }); }, nb::arg("ranks"),
            "Signals and waits for the same list.");
}

} // namespace

void bind_runtime(nb::module_& m) {
    bind_world(m);
    bind_counter(m);
    bind_progress_thread(m);
    bind_work_queue(m);
    bind_neighbour_sync(m);
    bind_segment(m);
}

} // namespace craton::bindings
