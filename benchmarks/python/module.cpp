// The compiled extension craton_studies._studies: what `craton bench` measures with. It uses the objects of craton._craton, which
// must be loaded first (craton_studies/extension.py).

#include "bindings.hpp"
#include "gil.hpp"
#include "native_communicator.hpp"

#include "assembly/comparison.hpp"
#include "counters/flood.hpp"
#include "factor/factor.hpp"
#include "gram/gram.hpp"
#include "memory/memory.hpp"
#include "overlap/overlap.hpp"
#include "scaling/scaling.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/base/matrix_view.hpp>
#include <craton/runtime/world.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <iterator>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace craton::bindings {

namespace {

using communicator = annotated<"mpi4py.MPI.Comm">;
using findings = nb::typed<nb::dict, nb::str, annotated<"typing.Any">>;

findings to_dict(const bench::comparison& found) {
    findings result;
    result["mean_run"] = found.mean_run;
    result["least_bytes"] = found.least_bytes;
    result["in_place_gb_s"] = found.in_place_gb_s;
    result["memcpy_gb_s"] = std::vector{found.one_thread.memcpy_gb_s, found.two_threads.memcpy_gb_s};
    result["triad_gb_s"] = std::vector{found.one_thread.triad_gb_s, found.two_threads.triad_gb_s};
    nb::list contenders;
    for (const auto& each : found.contenders) {
        nb::dict one;
        one["name"] = each.name;
        one["ranks"] = each.ranks;
        one["rates"] = each.rates;
        one["processor_rates"] = each.processor_rates;
        one["note"] = each.note;
        contenders.append(one);
    }
    result["contenders"] = contenders;
    return result;
}

void add_updates(runtime::world& ranks, array::convergent_matrix<float>& matrix, std::int64_t update_side, int order,
                 std::int64_t updates) {
    bench::update_pool pool({matrix.layout().rows.extent, update_side, static_cast<bench::unknown_order>(order), updates});
    for (const auto* each : pool.share(ranks.rank(), ranks.size())) {
        const auto side = std::ssize(each->indices);
        matrix.update_symmetric(base::column_major(each->block.data(), side, side, side), each->indices);
    }
    matrix.commit();
}

void bind_workload(nb::module_& m) {
    m.def(
        "update",
        [](std::int64_t matrix_side, std::int64_t update_side, int order, std::int64_t number) {
            auto update =
                bench::make_update({matrix_side, update_side, static_cast<bench::unknown_order>(order), number + 1}, number);
            const auto side = update.indices.size();
            return std::make_pair(to_numpy(std::move(update.indices)), to_numpy(std::move(update.block), {side, side}));
        },
        nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("order"), nb::arg("number"),
        R"(One update of the assembly workload: its indices, ascending, and its symmetric block.

The cells that a random great circle crosses on a latitude-longitude grid, in all layers; values are whole numbers from -4
to 4. order: 0 numbers lateral cells fastest, 1 layers. UserError for sides that are no multiple of the layers, or an
update larger than half the matrix. Not collective.)");
    m.def(
        "expected_sum",
        [](std::int64_t matrix_side, std::int64_t update_side, int order, std::int64_t updates) {
            bench::update_pool pool({matrix_side, update_side, static_cast<bench::unknown_order>(order), updates});
            return bench::expected_sum(pool.share(0, 1));
        },
        nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("order"), nb::arg("updates"),
        "The weighted sum, modulo 2^64, that every contender's matrix must have. Not collective.");
    m.def(
        "sum_of_matrix",
        [](const input_2d<float>& transposed) {
            if (transposed.shape(0) != transposed.shape(1)) throw user_error("sum_of_matrix: the matrix is not square");
            return bench::sum_of_matrix(transposed.data(), static_cast<std::int64_t>(transposed.shape(0)));
        },
        nb::arg("transposed"), R"(The weighted sum, modulo 2^64, of a whole matrix, given as the C-contiguous transpose.

Not collective. UserError unless it is square.)");
    m.def("add_updates", &add_updates, nb::arg("world"), nb::arg("matrix"), nb::arg("update_side"), nb::arg("order"),
          nb::arg("updates"), nb::call_guard<nb::gil_scoped_release>(),
          R"(Adds the updates of the assembly workload to a float32 matrix, and commits.

Collective, blocking. Each comes from one of the world's ranks.)");
}

void bind_benchmarks(nb::module_& m) {
    m.def(
        "assembly",
        [](const communicator& comm, std::int64_t matrix_side, std::int64_t update_side, int order, std::int64_t updates,
           std::int64_t passes, int repeats, const std::vector<int>& ranks, bool peers) {
            const MPI_Comm native = native_communicator(comm);
            if (order != 0 && order != 1) throw user_error("order is " + std::to_string(order) + "; allowed: 0 or 1");
            bench::comparison found;
            {
                const nb::gil_scoped_release release;
                found = bench::compare_assembly(
                    native,
                    {{matrix_side, update_side, static_cast<bench::unknown_order>(order), updates, passes}, repeats, ranks, peers});
            }
            return to_dict(found);
        },
        nb::arg("comm"), nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("order"), nb::arg("updates"), nb::arg("passes"),
        nb::arg("repeats"), nb::arg("ranks"), nb::arg("peers"),
        R"(The comparison of `craton bench assembly` for one shape: the same updates by all contenders in turn.

Collective over comm, blocking. passes: how often each update is applied. ranks: numbers of ranks to measure, each the
first so many of the job. peers: also MPI-3 RMA and replicated matrices. Returns on rank 0 mean_run; least_bytes, that an
element costs if every cache line that an update touches is read and written once; in_place_gb_s, of two threads; memcpy_gb_s and
triad_gb_s, each on one and two threads; and contenders, each with name, ranks, rates (million elements per second),
processor_rates (per processor second) and note. benchmarks/assembly/comparison.hpp describes the contenders. UserError
for shapes and ranks that make no sense; RuntimeError where a sum is wrong.)");
    m.def(
        "overlap",
        [](const communicator& comm, std::int64_t matrix_side, std::int64_t update_side, int periods, double period_s,
           double computing, int repeats, int ranks_per_node) {
            const MPI_Comm native = native_communicator(comm);
            const nb::gil_scoped_release release;
            return bench::measure_overlap(native,
                                          {matrix_side, update_side, periods, period_s, computing, repeats, ranks_per_node});
        },
        nb::arg("comm"), nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("periods"), nb::arg("period_s"),
        nb::arg("computing"), nb::arg("repeats"), nb::arg("ranks_per_node"),
        R"(Seconds of producers that compute, with updates and without.

Collective over comm, blocking. computing: fraction of a period, of period_s, that a producer computes. Returns on rank 0
lists by name, a value per repeat (benchmarks/overlap/overlap.hpp).)");
    m.def(
        "busy_target",
        [](const communicator& comm, double busy_s, int updates, std::int64_t update_side, int repeats, int ranks_per_node,
           std::size_t max_bytes_in_flight) {
            const MPI_Comm native = native_communicator(comm);
            const nb::gil_scoped_release release;
            return bench::measure_busy_target(native, {busy_s, updates, update_side, repeats, ranks_per_node, max_bytes_in_flight});
        },
        nb::arg("comm"), nb::arg("busy_s"), nb::arg("updates"), nb::arg("update_side"), nb::arg("repeats"),
        nb::arg("ranks_per_node"), nb::arg("max_bytes_in_flight"),
        R"(Milliseconds of update() towards a rank that computes for busy_s and does not poll.

Collective over comm, which has 2 ranks or more; blocking. Returns on rank 0 lists by name, a value per repeat
(benchmarks/overlap/overlap.hpp). UserError when the blocks together exceed max_bytes_in_flight.)");
    m.def(
        "flood",
        [](const communicator& comm, std::int64_t increments, int repeats, int ranks_per_node) {
            const MPI_Comm native = native_communicator(comm);
            const nb::gil_scoped_release release;
            return bench::measure_flood(native, {increments, repeats, ranks_per_node});
        },
        nb::arg("comm"), nb::arg("increments"), nb::arg("repeats"), nb::arg("ranks_per_node"),
        R"(Million increments per second of counters, one call after the other.

Collective over comm, blocking. increments: of each rank and repeat. Returns on rank 0 lists by name, a value per repeat
(benchmarks/counters/flood.hpp). RuntimeError on every rank where a sum is wrong.)");
    m.def("lapack_cholesky_seconds", &bench::lapack_cholesky_seconds, nb::arg("n"), nb::arg("single"), nb::arg("threads"),
          nb::call_guard<nb::gil_scoped_release>(),
          R"(Seconds of LAPACK's potrf for an n x n matrix in this process, BLAS with so many threads.

Takes n^2 elements of memory. Not collective. UserError when LAPACK refuses.)");

    m.def(
        "gram",
        [](const communicator& comm, std::int64_t cells, std::int64_t cells_touched, std::int64_t radial_splines,
           std::int64_t samples, std::int64_t rank, double noise, double tolerance, int updates, int repeats, int ranks_per_node) {
            const MPI_Comm native = native_communicator(comm);
            const nb::gil_scoped_release release;
            return bench::measure_gram(
                native, {cells, cells_touched, radial_splines, samples, rank, noise, tolerance, updates, repeats, ranks_per_node});
        },
        nb::arg("comm"), nb::arg("cells"), nb::arg("cells_touched"), nb::arg("radial_splines"), nb::arg("samples"), nb::arg("rank"),
        nb::arg("noise"), nb::arg("tolerance"), nb::arg("updates"), nb::arg("repeats"), nb::arg("ranks_per_node"),
        R"(Updates per second of update_gram, beside BLAS and update().

Collective over comm, blocking. Panels are samples x (cells_touched x radial_splines) of a numerical rank, with noise
beside it; tolerance: of the compression. Returns on rank 0 lists by name, a value per repeat (benchmarks/gram/gram.hpp).)");
    m.def(
        "memory",
        [](const communicator& comm, std::int64_t matrix_side, std::int64_t update_side, int updates,
           std::size_t max_bytes_in_flight, int ranks_per_node) {
            const MPI_Comm native = native_communicator(comm);
            const nb::gil_scoped_release release;
            return bench::measure_memory_bound(native, {matrix_side, update_side, updates, max_bytes_in_flight, ranks_per_node});
        },
        nb::arg("comm"), nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("updates"), nb::arg("max_bytes_in_flight"),
        nb::arg("ranks_per_node"), R"(Bytes of resident sets while all ranks add to rank 0.

Collective over comm, blocking. updates: of each rank. Returns on rank 0 lists by name, a value per rank, and seconds
(benchmarks/memory/memory.hpp).)");
    m.def(
        "scaling",
        [](const communicator& comm, std::int64_t matrix_side, std::int64_t update_side, std::int64_t updates, int ranks,
           int producers, double making_s, int by) {
            const MPI_Comm native = native_communicator(comm);
            if (by < 0 || by > 2) throw user_error("by is " + std::to_string(by) + "; allowed: 0 direct, 1 messages, 2 MPI-3 RMA");
            const nb::gil_scoped_release release;
            return bench::measure_scaling(
                native, {matrix_side, update_side, updates, ranks, producers, making_s, static_cast<bench::applied_by>(by)});
        },
        nb::arg("comm"), nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("updates"), nb::arg("ranks"), nb::arg("producers"),
        nb::arg("making_s"), nb::arg("by"), R"(The synthetic benchmark of French et al. (2015, IV-A) on the first `ranks` ranks.

Collective over comm, blocking. producers: threads of each rank, each of which makes an update in making_s. by: 0 direct,
1 messages, 2 MPI-3 RMA. Returns on rank 0 lists by name: seconds, and a value per rank of the others
(benchmarks/scaling/scaling.hpp). UserError for another `by`.)");
}

} // namespace

} // namespace craton::bindings

NB_MODULE(_studies, m) {
    m.doc() = R"(What `craton bench` measures with.

Each function is described in benchmarks/*/*.hpp. ranks_per_node: k > 0 makes virtual nodes of k consecutive ranks.)";
    craton::bindings::bind_workload(m);
    craton::bindings::bind_benchmarks(m);
}
