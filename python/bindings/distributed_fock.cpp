#include "bindings.hpp"
#include "described.hpp"
#include "dist_array.hpp"
#include "fock_counts.hpp"
#include "gil.hpp"

#include <craton/apps/scf/basis.hpp>
#include <craton/apps/scf/distributed_fock.hpp>
#include <craton/apps/scf/hermite_repulsion.hpp>
#include <craton/apps/scf/integral_library.hpp>
#include <craton/apps/scf/stored_quartets.hpp>
#include <craton/comm/agreement.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace craton::bindings {

namespace {

using scf::distributed_fock;
using fock_matrix = distributed_fock::matrix;

// Every rank has the integral library's table: of large molecules it would grow as their matrices do, which are shared.
constexpr std::int64_t most_table_bytes = std::int64_t{16} << 20;

scf::attention attention_from(std::optional<bool> progress) {
    if (!progress) return scf::attention::automatic;
    return *progress ? scf::attention::always : scf::attention::never;
}

// Keeps what the C++ object only refers to.
class python_distributed_fock {
  public:
    python_distributed_fock(runtime::world& ranks, const scf::integral_library& library,
                            const std::shared_ptr<scf::basis>& functions, double threshold, int threads,
                            const std::string& strategy, bool own_kernels, int functions_per_range, std::optional<bool> progress,
                            std::int64_t buffer_bytes, std::int64_t integral_bytes, double spared)
        : builder_(without_gil([&] {
              std::shared_ptr<const scf::quartet_source> source =
                  library.electron_repulsion(functions, buffer_bytes > 0 ? buffer_bytes : most_table_bytes);
              if (own_kernels) source = std::make_shared<const scf::hermite_repulsion>(*functions, source);
              source = scf::stored_in(integral_bytes, functions->first_function(), std::move(source));
              return std::make_unique<distributed_fock>(ranks, functions->first_function(), source,
                                                        scf::distributed_fock_options{
                                                            .threshold = threshold,
                                                            .functions_per_range = functions_per_range,
                                                            .threads = threads,
                                                            .strategy = scf::fock_strategy_named(strategy),
                                                            .progress = attention_from(progress),
                                                            .buffer_bytes = buffer_bytes,
                                                            .spared = spared,
                                                        });
          })) {}

    // Every rank gives the whole densities and gets whole results; each puts what it owns.
    std::pair<nb::ndarray<nb::numpy, double>, nb::ndarray<nb::numpy, double>> build(const input_3d<double>& densities) {
        const std::size_t spins = densities.shape(0), n = static_cast<std::size_t>(builder_->size());
        const bool fits = densities.shape(1) == n && densities.shape(2) == n;
        const std::string failure = fits ? ""
                                         : "densities are " + std::to_string(densities.shape(1)) + " x " +
                                               std::to_string(densities.shape(2)) + "; allowed: " + std::to_string(n) + " x " +
                                               std::to_string(n);
        std::vector<double> coulomb(n * n), exchange(spins * n * n);
        without_gil([&] {
            runtime::world& ranks = builder_->ranks();
            ranks.barrier();
            comm::agree(ranks.communicator(), failure);
            build_whole(densities.data(), spins, coulomb, exchange);
        });
        return {to_numpy(std::move(coulomb), {n, n}), to_numpy(std::move(exchange), {spins, n, n})};
    }

    void build_into(const std::vector<any_dist_array*>& densities, any_dist_array& coulomb,
                    const std::vector<any_dist_array*>& exchange) {
        std::string failure;
        const auto matrix = [&](any_dist_array& given) {
            auto* const found = matrix_in<double>(given);
            if (found == nullptr && failure.empty())
                failure = std::string("distributed Fock: an array of ") + std::to_string(given.shape().size()) + " dimensions of " +
                          given.dtype() + "; allowed: 2 dimensions of float64";
            return found;
        };
        std::vector<const fock_matrix*> from;
        for (any_dist_array* each : densities) from.push_back(matrix(*each));
        std::vector<fock_matrix*> to;
        for (any_dist_array* each : exchange) to.push_back(matrix(*each));
        fock_matrix* const sum = matrix(coulomb);
        without_gil([&] {
            runtime::world& ranks = builder_->ranks();
            ranks.barrier();
            comm::agree(ranks.communicator(), failure);
            builder_->build(from, *sum, to);
        });
    }

    [[nodiscard]] auto counts() const { return to_dict(builder_->counts()); }

    [[nodiscard]] nb::typed<nb::dict, nb::str, double> statistics() const {
        const scf::fock_statistics& s = builder_->statistics();
        nb::typed<nb::dict, nb::str, double> found;
        found["own_tasks"] = s.own_tasks;
        found["stolen_tasks"] = s.stolen_tasks;
        found["build_s"] = s.build_s;
        found["prepare_s"] = s.prepare_s;
        found["loop_s"] = s.loop_s;
        found["compute_s"] = s.compute_s;
        found["get_s"] = s.get_s;
        found["accumulate_s"] = s.accumulate_s;
        found["queue_s"] = s.queue_s;
        found["idle_s"] = s.idle_s;
        found["finish_s"] = s.finish_s;
        found["fetched_bytes"] = s.fetched_bytes;
        found["spared_bytes"] = s.spared_bytes;
        found["added_bytes"] = s.added_bytes;
        found["peak_buffer_bytes"] = s.peak_buffer_bytes;
        found["source_bytes"] = s.source_bytes;
        found["pair_bytes"] = s.pair_bytes;
        return found;
    }

    // Columns: task, thread, begin, end, predicted cost.
    [[nodiscard]] nb::ndarray<nb::numpy, double> timeline() const {
        std::vector<double> rows;
        for (const scf::task_time& each : builder_->timeline())
            rows.insert(rows.end(), {static_cast<double>(each.task), static_cast<double>(each.thread), each.begin_s, each.end_s,
                                     each.predicted});
        const std::size_t count = builder_->timeline().size();
        return to_numpy(std::move(rows), {count, 5});
    }

    [[nodiscard]] std::vector<std::vector<std::int64_t>> boundaries() const {
        const auto& cuts = builder_->layout().cuts();
        return {cuts.begin(), cuts.end()};
    }
    [[nodiscard]] std::vector<int> owners() const {
        const auto& layout = builder_->layout();
        std::vector<int> found;
        for (std::int64_t tile = 0; tile < layout.tiles(); ++tile) found.push_back(layout.owner(tile));
        return found;
    }
    [[nodiscard]] std::int64_t tasks() const { return builder_->tasks(); }
    [[nodiscard]] int size() const { return builder_->size(); }

  private:
    void build_whole(const double* densities, std::size_t spins, std::vector<double>& coulomb, std::vector<double>& exchange) {
        const std::size_t n = static_cast<std::size_t>(builder_->size());
        std::vector<std::unique_ptr<fock_matrix>> held;
        const auto make = [&] {
            held.push_back(std::make_unique<fock_matrix>(builder_->ranks(), builder_->layout()));
            return held.back().get();
        };
        std::vector<const fock_matrix*> from;
        std::vector<fock_matrix*> to;
        for (std::size_t s = 0; s < spins; ++s) {
            fock_matrix* const density = make();
            density->for_each_local([&](double& element, const array::place<2>& at) {
                element = densities[(s * n + static_cast<std::size_t>(at[0])) * n + static_cast<std::size_t>(at[1])];
            });
            from.push_back(density);
            to.push_back(make());
        }
        fock_matrix* const sum = make();
        builder_->build(from, *sum, to);
        const auto whole = sum->layout().whole();
        sum->get(whole, coulomb);
        for (std::size_t s = 0; s < spins; ++s) to[s]->get(whole, std::span(exchange).subspan(s * n * n, n * n));
        builder_->ranks().quiesce(); // nobody's arrays go while another reads them
    }

    std::unique_ptr<distributed_fock> builder_;
};

} // namespace

void bind_distributed_fock(nb::module_& m) {
    nb::class_<python_distributed_fock>(m, "DistributedFock",
                                        R"(Coulomb and exchange matrices J and K directly from integrals, by all ranks of a world.

Arrays are in the order of the basis: that of basis.spatial_order() makes what a task touches compact
(craton.scf.DistributedFock sees to it).)")
        .def(nb::init<runtime::world&, const scf::integral_library&, const std::shared_ptr<scf::basis>&, double, int,
                      const std::string&, bool, int, std::optional<bool>, std::int64_t, std::int64_t, double>(),
             "world"_a, "library"_a, "basis"_a, "threshold"_a = scf::distributed_fock_options{}.threshold, "threads"_a = 1,
             "strategy"_a = "stealing", "own_kernels"_a = true, "functions_per_range"_a = 0, "progress"_a = nb::none(),
             "buffer_bytes"_a = 0, "integral_bytes"_a = 0, "spared"_a = scf::distributed_fock_options{}.spared,
             nb::keep_alive<1, 2>(), R"(Collective, blocking.

threshold: integrals that matter less, in hartree, are left out. threads: of each rank. strategy: 'static' (each rank
does what was predicted to be its part), 'counter' (one shared counter) or 'stealing' (its part, then half of what
another has left). own_kernels: quartets of s to g shells by kernels of Craton's own. functions_per_range: of a task's
ranges; 0: chosen. progress: a thread answers other ranks meanwhile; None: where messages travel.

buffer_bytes: what a rank may keep of densities, of sums, of expansions of pairs (0: twice its share, at least 1 MiB), and
of libcint's table of primitive pairs (0: 16 MiB; it goes without where that might be more). integral_bytes: in which each
rank keeps integrals that it has computed from build to build; what finds no room is computed by each. spared: blocks of
densities that would meet less than this part of the threshold do not travel; 0: all do. UserError on every rank for what is
out of range.)")
        .def("build", &python_distributed_fock::build, "densities"_a,
             R"(J of the sum of the densities, (n, n), and K of each, (spins, n, n), on every rank.

Collective, blocking; releases the GIL. densities: (spins, n, n), each symmetric, the same on every rank. UserError on
every rank for another shape.)")
        .def("build_into", &python_distributed_fock::build_into, "densities"_a, "coulomb"_a, "exchange"_a,
             R"(The same with arrays over the ranks, of any layouts.

Collective, blocking; releases the GIL. UserError on every rank unless they have two dimensions of float64.)")
        .def("__repr__", bindings::described<python_distributed_fock>([](const python_distributed_fock& f) {
                 return fmt::format("{} functions, {} tasks", f.size(), f.tasks());
             }),
             "What it is, in a line.")
        .def_prop_ro("size", &python_distributed_fock::size, "The number of functions n.")
        .def_prop_ro("tasks", &python_distributed_fock::tasks, "The number of tasks that a build has.")
        .def_prop_ro("boundaries", &python_distributed_fock::boundaries,
                     "Of the tiles that matrices lie best in, one per rank: first functions along rows and along columns, and n.")
        .def_prop_ro("owners", &python_distributed_fock::owners, "The rank of each of those tiles, row by row.")
        .def_prop_ro("counts", &python_distributed_fock::counts, R"(What the last build computed.

This rank's quartets, coulomb_quartets and exchange_quartets; batches, of up to eight quartets each, and batched_quartets, how
many they had; unique_quartets of all, without screening.)")
        .def_prop_ro("statistics", &python_distributed_fock::statistics, R"(This rank's part of the last build.

own_tasks and stolen_tasks. build_s = prepare_s + loop_s + finish_s. Of the loop, as means of the threads: compute_s,
get_s, accumulate_s, queue_s and idle_s (after its last task, until the last rank had ended). fetched_bytes,
spared_bytes (density blocks that screening leaves out do not travel), added_bytes. Memory: peak_buffer_bytes,
source_bytes (expansions of pairs, at most), pair_bytes (blocks of pairs and own tasks).)")
        .def_prop_ro("timeline", &python_distributed_fock::timeline, nb::rv_policy::move,
                     R"(A row for each task that this rank did in the last build, thread by thread.

Columns: number, thread, begin and end in seconds since the common start, predicted cost.)");
}

} // namespace craton::bindings
