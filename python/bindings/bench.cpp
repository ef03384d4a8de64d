#include "bindings.hpp"

#include "assembly/comparison.hpp"
#include "memory/memory.hpp"
#include "overlap/overlap.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace craton::bindings {

namespace {

// mpi4py keeps the handle inside the object; MPI._addressof gives its address. Same MPI on both sides is checked at import.
MPI_Comm communicator_of(const nb::object& comm) {
    const auto address = nb::cast<std::uintptr_t>(nb::module_::import_("mpi4py.MPI").attr("_addressof")(comm));
    return *reinterpret_cast<MPI_Comm*>(address); // NOLINT: that is what _addressof means
}

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

} // namespace

void bind_bench(nb::module_& m) {
    m.def(
        "bench_assembly",
        [](const nb::object& comm, std::int64_t matrix_side, std::int64_t update_side, int order, std::int64_t updates, int repeats,
           const std::vector<int>& ranks, bool peers) {
            const MPI_Comm native = communicator_of(comm);
            if (order != 0 && order != 1) throw user_error("order is " + std::to_string(order) + "; allowed: 0 or 1");
            bench::comparison found;
            {
                const nb::gil_scoped_release release;
                found = bench::compare_assembly(
                    native, {{matrix_side, update_side, static_cast<bench::unknown_order>(order), updates}, repeats, ranks, peers});
            }
            return to_dict(found);
        },
        nb::arg("comm"), nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("order"), nb::arg("updates"), nb::arg("repeats"),
        nb::arg("ranks"), nb::arg("peers"), "Collective: the comparison of `craton bench assembly` for one shape.");
    m.def(
        "bench_overlap",
        [](const nb::object& comm, std::int64_t matrix_side, std::int64_t update_side, int periods, double period_s,
           double computing, int repeats, int ranks_per_node) {
            const MPI_Comm native = communicator_of(comm);
            const nb::gil_scoped_release release;
            return bench::measure_overlap(native,
                                          {matrix_side, update_side, periods, period_s, computing, repeats, ranks_per_node});
        },
        nb::arg("comm"), nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("periods"), nb::arg("period_s"),
        nb::arg("computing"), nb::arg("repeats"), nb::arg("ranks_per_node"), "Collective: producers with and without updates.");
    m.def(
        "bench_busy_target",
        [](const nb::object& comm, double busy_s, int updates, std::int64_t update_side, int repeats, int ranks_per_node,
           std::size_t max_bytes_in_flight) {
            const MPI_Comm native = communicator_of(comm);
            const nb::gil_scoped_release release;
            return bench::measure_busy_target(native, {busy_s, updates, update_side, repeats, ranks_per_node, max_bytes_in_flight});
        },
        nb::arg("comm"), nb::arg("busy_s"), nb::arg("updates"), nb::arg("update_side"), nb::arg("repeats"),
        nb::arg("ranks_per_node"), nb::arg("max_bytes_in_flight"),
        "Collective: update() towards a rank that computes and does not poll.");
    m.def(
        "bench_memory",
        [](const nb::object& comm, std::int64_t matrix_side, std::int64_t update_side, int updates, std::size_t max_bytes_in_flight,
           int ranks_per_node) {
            const MPI_Comm native = communicator_of(comm);
            const nb::gil_scoped_release release;
            return bench::measure_memory_bound(native, {matrix_side, update_side, updates, max_bytes_in_flight, ranks_per_node});
        },
        nb::arg("comm"), nb::arg("matrix_side"), nb::arg("update_side"), nb::arg("updates"), nb::arg("max_bytes_in_flight"),
        nb::arg("ranks_per_node"), "Collective: resident sets while all ranks add to rank 0.");
}

} // namespace craton::bindings
