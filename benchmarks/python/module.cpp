// The compiled extension craton_studies._studies: what `craton bench` measures with. It uses the objects of craton._craton, which
// must be loaded first (craton_studies/extension.py).

#include "bindings.hpp"
#include "gil.hpp"
#include "native_communicator.hpp"

#include "assembly/comparison.hpp"
#include "counters/flood.hpp"
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

nb::dict to_dict(const bench::comparison& found) {
    nb::dict result;
    result["mean_run"] = found.mean_run;
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
            return nb::make_tuple(to_numpy(std::move(update.indices)), to_numpy(std::move(update.block), {side, side}));
        },
        nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("order"), nb::arg("number"),
        "One update of the assembly workload: its indices and its symmetric block.");
    m.def(
        "expected_sum",
        [](std::int64_t matrix_side, std::int64_t update_side, int order, std::int64_t updates) {
            bench::update_pool pool({matrix_side, update_side, static_cast<bench::unknown_order>(order), updates});
            return bench::expected_sum(pool.share(0, 1));
        },
        nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("order"), nb::arg("updates"),
        "The weighted sum that every contender's matrix must have.");
    m.def(
        "sum_of_matrix",
        [](const input_2d<float>& transposed) {
            if (transposed.shape(0) != transposed.shape(1)) throw user_error("sum_of_matrix: the matrix is not square");
            return bench::sum_of_matrix(transposed.data(), static_cast<std::int64_t>(transposed.shape(0)));
        },
        nb::arg("transposed"), "The weighted sum of a whole matrix, given as the C-contiguous transpose.");
    m.def("add_updates", &add_updates, nb::arg("world"), nb::arg("matrix"), nb::arg("update_side"), nb::arg("order"),
          nb::arg("updates"), nb::call_guard<nb::gil_scoped_release>(),
          "Collective: adds the updates of the assembly workload to a float32 matrix, each from one of the world's ranks, and "
          "commits.");
}

void bind_benchmarks(nb::module_& m) {
    m.def(
        "assembly",
        [](const nb::object& comm, std::int64_t matrix_side, std::int64_t update_side, int order, std::int64_t updates,
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
        "Collective: the comparison of `craton bench assembly` for one shape.");
    m.def(
        "overlap",
        [](const nb::object& comm, std::int64_t matrix_side, std::int64_t update_side, int periods, double period_s,
           double computing, int repeats, int ranks_per_node) {
            const MPI_Comm native = native_communicator(comm);
            const nb::gil_scoped_release release;
            return bench::measure_overlap(native,
                                          {matrix_side, update_side, periods, period_s, computing, repeats, ranks_per_node});
        },
        nb::arg("comm"), nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("periods"), nb::arg("period_s"),
        nb::arg("computing"), nb::arg("repeats"), nb::arg("ranks_per_node"), "Collective: producers with and without updates.");
    m.def(
        "busy_target",
        [](const nb::object& comm, double busy_s, int updates, std::int64_t update_side, int repeats, int ranks_per_node,
           std::size_t max_bytes_in_flight) {
            const MPI_Comm native = native_communicator(comm);
            const nb::gil_scoped_release release;
            return bench::measure_busy_target(native, {busy_s, updates, update_side, repeats, ranks_per_node, max_bytes_in_flight});
        },
        nb::arg("comm"), nb::arg("busy_s"), nb::arg("updates"), nb::arg("update_side"), nb::arg("repeats"),
        nb::arg("ranks_per_node"), nb::arg("max_bytes_in_flight"),
        "Collective: update() towards a rank that computes and does not poll.");
    m.def(
        "flood",
        [](const nb::object& comm, std::int64_t increments, int repeats, int ranks_per_node) {
            const MPI_Comm native = native_communicator(comm);
            const nb::gil_scoped_release release;
            return bench::measure_flood(native, {increments, repeats, ranks_per_node});
        },
        nb::arg("comm"), nb::arg("increments"), nb::arg("repeats"), nb::arg("ranks_per_node"),
        "Collective: counters that are fetched and added to as fast as one call after the other goes.");
    m.def(
        "gram",
        [](const nb::object& comm, std::int64_t cells, std::int64_t cells_touched, std::int64_t radial_splines,
           std::int64_t samples, std::int64_t rank, double noise, double tolerance, int updates, int repeats, int ranks_per_node) {
            const MPI_Comm native = native_communicator(comm);
            const nb::gil_scoped_release release;
            return bench::measure_gram(
                native, {cells, cells_touched, radial_splines, samples, rank, noise, tolerance, updates, repeats, ranks_per_node});
        },
        nb::arg("comm"), nb::arg("cells"), nb::arg("cells_touched"), nb::arg("radial_splines"), nb::arg("samples"), nb::arg("rank"),
        nb::arg("noise"), nb::arg("tolerance"), nb::arg("updates"), nb::arg("repeats"), nb::arg("ranks_per_node"),
        "Collective: update_gram beside BLAS and update().");
    m.def(
        "memory",
        [](const nb::object& comm, std::int64_t matrix_side, std::int64_t update_side, int updates, std::size_t max_bytes_in_flight,
           int ranks_per_node) {
            const MPI_Comm native = native_communicator(comm);
            const nb::gil_scoped_release release;
            return bench::measure_memory_bound(native, {matrix_side, update_side, updates, max_bytes_in_flight, ranks_per_node});
        },
        nb::arg("comm"), nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("updates"), nb::arg("max_bytes_in_flight"),
        nb::arg("ranks_per_node"), "Collective: resident sets while all ranks add to rank 0.");
    m.def(
        "scaling",
        [](const nb::object& comm, std::int64_t matrix_side, std::int64_t update_side, std::int64_t updates, int ranks,
           int producers, double making_s, int by) {
            const MPI_Comm native = native_communicator(comm);
            if (by < 0 || by > 2) throw user_error("by is " + std::to_string(by) + "; allowed: 0 direct, 1 messages, 2 MPI-3 RMA");
            const nb::gil_scoped_release release;
            return bench::measure_scaling(
                native, {matrix_side, update_side, updates, ranks, producers, making_s, static_cast<bench::applied_by>(by)});
        },
        nb::arg("comm"), nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("updates"), nb::arg("ranks"), nb::arg("producers"),
        nb::arg("making_s"), nb::arg("by"), "Collective: the paper's synthetic benchmark on the first `ranks` ranks.");
}

} // namespace

} // namespace craton::bindings

NB_MODULE(_studies, m) {
    m.doc() = "What Craton's benchmarks measure with.";
    craton::bindings::bind_workload(m);
    craton::bindings::bind_benchmarks(m);
}
