#include "blocks.hpp"
#include "described.hpp"
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
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
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
annotated<"numpy.ndarray[dtype=float64]"> sum_over_ranks(world& w, const annotated<"ArrayLike">& values) {
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
    return nb::object(nb::cast(to_numpy(std::move(sums))).attr("reshape")(given.attr("shape")));
}

void bind_world_messages(nb::class_<world>& c) {
    using release_gil = nb::call_guard<nb::gil_scoped_release>;
    c.def("flush", nb::overload_cast<>(&world::flush), release_gil(), R"(Starts every message that waits for company.

Not collective; does not block.)")
        .def("poll", &world::poll, release_gil(), R"(Runs the handlers of messages that have arrived; returns how many.

Not collective; does not block.)")
        .def("quiesce", &world::quiesce, release_gil(), R"(Returns when every message ever sent has been executed.

Collective, blocking.)")
        .def("barrier", &world::barrier, release_gil(), R"(Returns when all ranks have called it.

Collective, blocking; polls meanwhile.)")
        .def("sum", &sum_over_ranks, nb::arg("values"), R"(Sums over the ranks, on every rank, in float64.

Collective, blocking. The result has the shape of what is given. UserError on every rank where ranks give different
numbers of values.)")
        .def(
            "agree",
            [](world& w, const std::string& failure) {
                const nb::gil_scoped_release release;
                w.barrier(); // polls, before what does not
                comm::agree(w.communicator(), failure);
            },
            nb::arg("failure") = "", R"(UserError on every rank where any rank gives a failure.

Collective, blocking. Its words are those of the lowest rank that gives any; an empty text means that nothing is wrong.)")
        .def(
            "abort", [](world& w, const std::string& message, int code) { w.abort(message, code); }, nb::arg("message"),
            nb::arg("code") = exit_user_error, R"(Prints one line that names the rank, and ends the job.

Not collective; does not return. code: the job's exit code.)")
        .def(
            "stats",
            [](const world& w) {
                const auto s = w.statistics();
                return std::map<std::string, std::int64_t>{{"messages_sent", s.messages_sent},
                                                           {"messages_executed", s.messages_executed},
                                                           {"bytes_sent", s.bytes_sent},
                                                           {"direct_updates", s.direct_updates},
                                                           {"messages_handed_on", s.messages_handed_on},
                                                           {"peak_bytes_in_flight", s.peak_bytes_in_flight},
                                                           {"transfers_sent", s.transfers_sent}};
            },
            R"(What this rank has done since the world was made.

messages_sent, messages_executed, bytes_sent, direct_updates (made in place in a neighbour's memory),
peak_bytes_in_flight (at most, with rows), transfers_sent (MPI messages: small ones travel together) and
messages_handed_on (of other ranks, on their way in two hops). Not collective.)");
}

void bind_world(nb::module_& m) {
    nb::class_<world> c(m, "World", "Ranks that share one address space.");
    c.def(
         "__init__",
         [](world* self, const annotated<"mpi4py.MPI.Comm">& comm, int ranks_per_node, std::size_t max_bytes_in_flight,
            const std::variant<int, std::string>& ranks_per_row) {
             if (ranks_per_node < 0) {
                 throw user_error("World: ranks_per_node is " + std::to_string(ranks_per_node) +
                                  "; allowed: 0 (the machine's nodes) or more");
             }
             const auto* const word = std::get_if<std::string>(&ranks_per_row);
             const int row = word != nullptr ? craton::runtime::world_options::row_is_node : std::get<int>(ranks_per_row);
             if (word != nullptr ? *word != "node" : row < 0) {
                 throw user_error("World: ranks_per_row is " + (word != nullptr ? "'" + *word + "'" : std::to_string(row)) +
                                  "; allowed: 'node', 0 or more");
             }
             const auto native = native_communicator(comm);
             const nb::gil_scoped_release release;
             new (self) world(craton::comm::communicator::duplicate(native), {ranks_per_node, max_bytes_in_flight, row});
         },
         nb::arg("comm"), nb::arg("ranks_per_node") = 0, nb::arg("max_bytes_in_flight").sig("64 << 20") = std::size_t{64} << 20,
         nb::arg("ranks_per_row") = 0,
         R"(Collective over the ranks of comm, which is duplicated.

ranks_per_node: k > 0 makes virtual nodes of k consecutive ranks; 0 takes the machine's real nodes, or
CRATON_RANKS_PER_NODE where that is set. max_bytes_in_flight: see the property.

ranks_per_row: k > 1 makes rows of k consecutive ranks, "node" rows as long as the largest node. Small updates then
travel in two hops, along a row and along a column: sooner where many ranks have a little for many others. All ranks
have to poll then until the next commit. 1 lets them go straight; 0 takes CRATON_RANKS_PER_ROW where that is set, else 1.

UserError for anything else, and where MPI does not grant MPI_THREAD_MULTIPLE.)")
        .def(
            "__repr__",
            [](const world& w) {
                return "<World: rank " + std::to_string(w.rank()) + " of " + std::to_string(w.size()) + " on " +
                       std::to_string(w.node().count) + (w.node().count == 1 ? " node>" : " nodes>");
            },
            "The rank, and how many ranks and nodes there are.")
        .def_prop_ro("rank", &world::rank, "The number of this rank, 0 to size - 1.")
        .def_prop_ro("size", &world::size, "How many ranks there are.")
        .def_prop_ro(
            "node_count", [](const world& w) { return w.node().count; }, "How many nodes the ranks are on, virtual ones too.")
        .def_prop_ro(
            "node_size", [](const world& w) { return w.node().communicator.size(); }, "Ranks on this rank's node, itself included.")
        .def_prop_ro("ranks_per_row", &world::ranks_per_row,
                     "Consecutive ranks of a row, for small updates in two hops; 1: they go straight.")
        .def(
            "shares_memory_with",
            [](const world& w, int rank) { return rank >= 0 && rank < w.size() && w.shares_memory_with(rank); }, nb::arg("rank"),
            R"(True when that rank is on this rank's node.

Its memory is mapped here then, and updates are made in place. Not collective.)")
        .def_prop_rw(
            "max_bytes_in_flight", &world::max_bytes_in_flight,
            [](world& w, std::int64_t bytes) {
                if (bytes < 1) throw user_error("max_bytes_in_flight is " + std::to_string(bytes) + "; allowed: 1 or more");
                w.set_max_bytes_in_flight(static_cast<std::size_t>(bytes));
            },
            nb::for_setter(nb::arg("bytes")),
            R"(Bytes of messages that this rank may have under way: whole buffers, and 256 bytes for each transfer.

An update waits for room beyond them. May be set at any time and differ per rank. UserError below 1.)")
        .def_prop_ro("bytes_in_flight", &world::bytes_in_flight, "Bytes of messages that this rank has under way.");
    bind_world_messages(c);
}

void bind_counter(nb::module_& m) {
    using held = ends_without_gil<counter>;
    using release_gil = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<held>(m, "Counter", R"(A 64-bit integer at one rank that any thread of any rank may increment.

Ozog et al. 2016, III-C.)")
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
            nb::arg("world"), nb::arg("owner") = 0, nb::keep_alive<1, 2>(), R"(Collective. It starts at zero, at rank `owner`.

UserError for a rank that does not exist.)")
        .def(
            "fetch_add", [](held& c, std::int64_t increment) { return c.fetch_add(increment); }, nb::arg("increment") = 1,
            release_gil(), R"(Adds, and returns the value before.

Any thread; blocking: polls while a reply travels. The owner must poll for ranks off its node.)")
        .def(
            "read", [](held& c) { return c.read(); }, release_gil(), R"(The value now.

Any thread; blocks as fetch_add.)")
        .def(
            "reset", [](held& c) { c.reset(); }, release_gil(), "Back to zero. Collective, blocking.")
        .def(
            "__repr__", [](const held& c) { return "<Counter at rank " + std::to_string(c.owner()) + ">"; },
            "The rank that holds it.");
}

void bind_progress_thread(nb::module_& m) {
    using held = ends_without_gil<progress_thread>;
    using release_gil = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<held>(m, "ProgressThread", R"(A thread that runs the handlers of arriving messages while the others compute.

Between `with ProgressThread(world):` and its end nobody needs to poll. It sleeps when nothing happens. Not collective;
any thread; it stops by itself when MPI is finalised (Ozog et al. 2016, III-D).)")
        .def(nb::init<world&>(), nb::arg("world"), nb::keep_alive<1, 2>(), "Does not start it. Not collective.")
        .def(
            "start", [](held& t) { t.start(); }, release_gil(), R"(Makes the thread, or wakes it after pause().

Not blocking. UserError after MPI has been finalised.)")
        .def(
            "pause", [](held& t) { t.pause(); }, release_gil(), R"(It looks no more until resume().

Blocks until a handler that it is running has ended.)")
        .def(
            "resume", [](held& t) { t.resume(); }, release_gil(), "The same as start().")
        .def(
            "stop", [](held& t) { t.stop(); }, release_gil(), R"(Ends the thread; start() makes another.

Blocks as pause().)")
        .def_prop_ro(
            "running", [](const held& t) { return t.running(); }, "True between start() and pause() or stop().")
        .def(
            "__repr__",
            [](const held& t) { return std::string(t.running() ? "<ProgressThread, running>" : "<ProgressThread, at rest>"); },
            "Whether it runs.")
        .def(
            "__enter__", [](nb::handle self) -> annotated<"ProgressThread"> {
                auto& t = nb::cast<held&>(self);
                without_gil([&] { t.start(); });
                return nb::borrow(self);
            },
            "Starts it.")
        .def(
            "__exit__", [](held& t, const raised_type&, const raised&, const raised_trace&) { without_gil([&] { t.stop(); }); },
            nb::arg("kind").none(), nb::arg("error").none(), nb::arg("trace").none(), "Stops it.");
}

void bind_work_queue(nb::module_& m) {
    using held = ends_without_gil<work_queue>;
    using release_gil = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<held>(m, "WorkQueue", R"(Hands out task numbers 0 to n - 1, each to exactly one caller on one rank.

First every rank's own share of about equal predicted cost, then what it can steal from others:
`for task in queue:` on any number of threads.)")
        .def(
            "__init__",
            [](held* self, world& ranks, const annotated<"int | ArrayLike">& tasks) {
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
            nb::arg("world"), nb::arg("tasks"), nb::keep_alive<1, 2>(), R"(Collective.

tasks: how many, or the predicted cost of each (any unit), the same on every rank. UserError on every rank for a cost
that is negative or not finite, 2^32 tasks or more, and numbers of tasks that differ between ranks.)")
        .def(
            "next", [](held& q) { return q.next(); }, release_gil(), R"(The next task; None when there are none left.

Any thread. Blocks, and polls, while it steals; the victim must poll or have a ProgressThread if it is on another node.)")
        .def(
            "__iter__", [](nb::handle self) -> annotated<"WorkQueue"> { return nb::borrow(self); }, "The queue itself.")
        .def(
            "__repr__",
            [](const held& q) {
                const auto [first, last] = q.own();
                return "<WorkQueue of " + std::to_string(q.count()) + " tasks, " + std::to_string(last - first) +
                       " of them this rank's>";
            },
            "How many tasks there are, and how many are this rank's before anything is stolen.")
        .def(
            "__next__",
            [](held& q) {
                const auto task = without_gil([&] { return q.next(); });
                if (!task) throw nb::stop_iteration();
                return *task;
            },
            "As next(), but ends the loop where there is no task left.")
        .def(
            "reset", [](held& q) { q.reset(); }, release_gil(), "All tasks are to be done again. Collective, blocking.")
        .def_prop_ro(
            "own", [](const held& q) { return q.own(); },
            "Tasks (first, second): those from first to second - 1 are this rank's before anything is stolen.")
        .def_prop_ro(
            "stolen", [](const held& q) { return q.stolen(); }, "How many of the tasks that this rank was given it had stolen.");
}

void bind_neighbour_sync(nb::module_& m) {
    using held = ends_without_gil<neighbour_sync>;
    using ranks_list = std::vector<int>;
    nb::class_<held>(m, "NeighbourSync", R"(Synchronises a rank with the ranks that it names, and nobody else.

The n-th wait for a rank is met by its n-th signal. UserError, before any signal, for a rank that does not exist.)")
        .def(nb::init<world&>(), nb::arg("world"), nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(), "Collective.")
        .def("__repr__",
             bindings::described<held>([](const held&) { return std::string("signals between ranks that name each other"); }),
             "What it is, in a line.")
        .def(
            "signal", [](held& s, const ranks_list& ranks) { without_gil([&] { s.signal(ranks); }); }, nb::arg("ranks"),
            "Tells each of the ranks that this one has come so far. Not blocking.")
        .def(
            "wait", [](held& s, const ranks_list& ranks) { without_gil([&] { s.wait(ranks); }); }, nb::arg("ranks"),
            R"(Returns when each of the ranks has signalled this one once more than it has waited for it.

Blocking, polls. What a rank wrote to shared memory, or copied to the end, before its signal is there. One thread at a
time.)")
        .def(
            "synchronise", [](held& s, const ranks_list& ranks) { without_gil([&] { s.synchronise(ranks); }); }, nb::arg("ranks"),
            "Signals and waits for the same list. Blocking, polls.");
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
