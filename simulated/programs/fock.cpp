// A build of J and K on simulated ranks, as scf::distributed_fock divides it and hands it out (Ozog et al. 2016, figure 6). Its
// quartets of shells, blocks of densities, sums and thefts are all there; in place of a quartet's integrals the rank's clock
// advances by what they take.
//
//   CRATON_SHELLS=FILE smpirun -np <2 P> ... fock strategy=2 scale=0.5 spread=0.3       P ranks, of one core each, and their clocks
//
// The file: the number of nuclei, and charge, x, y, z in bohr of each; the number of shells, and of each its atom, l, number of
// primitives, of contractions, exponents, coefficients. Densities are 1 everywhere: quartets are left out for their size alone.

#include "ends.hpp"
#include "options.hpp"
#include "ranks_and_clocks.hpp"

#include <craton/apps/scf/basis.hpp>
#include <craton/apps/scf/distributed_fock.hpp>
#include <craton/apps/scf/hermite_repulsion.hpp>
#include <craton/apps/scf/shell_pairs.hpp>
#include <craton/apps/scf/spatial_order.hpp>
#include <craton/base/error.hpp>
#include <craton/comm/environment.hpp>
#include <craton/comm/wait_for_any.hpp>
#include <craton/comm/work_time.hpp>
#include <craton/runtime/world.hpp>

#include <fmt/format.h>

#include <mpi.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

// SimGrid's own lets every rank send to all later ones, and looks through all of that for each message: minutes for 384 ranks. Here
// it is a sum of integers, as work_queue asks for, of what all have.
extern "C" int MPI_Exscan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    if (count != 1 || type != MPI_INT64_T || op != MPI_SUM) return PMPI_Exscan(send, receive, count, type, op, comm);
    int rank = 0, size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    std::vector<std::int64_t> all(static_cast<std::size_t>(size));
    const int code = MPI_Allgather(send, 1, type, all.data(), 1, type, comm);
    if (rank > 0) *static_cast<std::int64_t*>(receive) = std::accumulate(all.begin(), all.begin() + rank, std::int64_t{0});
    return code;
}

namespace {

using namespace craton;
using simulated::options;

scf::basis read_basis(const char* path) {
    std::ifstream file(path == nullptr ? "" : path);
    std::size_t count = 0;
    file >> count;
    std::vector<scf::nucleus> nuclei(count);
    for (auto& each : nuclei) {
        file >> each.charge;
        for (double& x : each.position_bohr) file >> x;
    }
    file >> count;
    std::vector<scf::shell> shells(file ? count : 0);
    for (auto& each : shells) {
        std::size_t primitives = 0, contractions = 0;
        file >> each.atom >> each.l >> primitives >> contractions;
        if (!file) break;
        each.exponents.resize(primitives);
        each.coefficients.resize(primitives * contractions);
        for (double& x : each.exponents) file >> x;
        for (double& x : each.coefficients) file >> x;
    }
    if (!file) throw user_error("fock: CRATON_SHELLS names no file of nuclei and shells");
    return {std::move(nuclei), std::move(shells)};
}

// Where all quartets would come from that are left to another source: there are none.
class no_others final : public scf::quartet_source {
  public:
    [[nodiscard]] std::size_t scratch_doubles() const override { return 1; }
    bool compute(const scf::shell_quartet&, double*, double*) const override {
        throw user_error("fock: shells beyond g, or of long general contractions; allowed: those of Craton's own kernels");
    }
};

// Bounds are computed; the time of any other quartet passes while the rank answers, as with a progress thread.
class timed_source final : public scf::quartet_source {
  public:
    timed_source(const scf::basis& functions, const scf::quartet_source& real, runtime::world& world, int clock_rank,
                 const options& given)
        : first_(functions.first_function().begin(), functions.first_function().end()), real_(&real), world_(&world),
          clock_(clock_rank), seconds_(1e-9 * given.real("scale")), spread_(given.real("spread")), quantum_(given.real("quantum")) {
    }

    // Ranges of shells, of which a task has some.
    void set_ranges(int functions_per_range) {
        ranges_ = 0;
        for (const scf::shell_range& each : scf::shell_ranges(first_, functions_per_range)) {
            for (int s = each.first; s < each.last; ++s) range_of_.push_back(ranges_);
            ++ranges_;
        }
        bends_.resize(ranges_ * ranges_);
        std::mt19937_64 random(1);
        std::normal_distribution<double> normal;
        for (double& each : bends_) each = std::exp(spread_ * normal(random) - 0.5 * spread_ * spread_);
    }

    [[nodiscard]] std::size_t scratch_doubles() const override { return real_->scratch_doubles(); }
    [[nodiscard]] double work(int i, int j) const override { return real_->work(i, j); }

    bool compute(const scf::shell_quartet& shells, double* integrals, double* scratch) const override {
        const auto [i, j, k, l] = shells;
        if (range_of_.empty()) return real_->compute(shells, integrals, scratch);
        constexpr double per_quartet = 40, per_work = 1.8, per_integral = 1; // as fock_tasks predicts
        const double integrals_there = functions(i) * functions(j) * functions(k) * functions(l);
        const double predicted = per_quartet + per_work * real_->work(i, j) * real_->work(k, l) + per_integral * integrals_there;
        waiting_ += seconds_ * predicted * bends_[at(i) * ranges_ + at(k)];
        if (waiting_ > quantum_) let_pass();
        return false;
    }
    // Of what has been computed and not yet waited for.
    void let_pass() const {
        if (waiting_ == 0.0) return;
        spent_ += waiting_;
        clock_.set(std::exchange(waiting_, 0.0));
        world_->wait_until([this] { return clock_.rang(); });
    }
    [[nodiscard]] double spent() const { return spent_; }

  private:
    [[nodiscard]] double functions(int s) const {
        return first_[static_cast<std::size_t>(s) + 1] - first_[static_cast<std::size_t>(s)];
    }
    [[nodiscard]] std::size_t at(int s) const { return range_of_[static_cast<std::size_t>(s)]; }

    std::vector<int> first_;
    std::vector<std::size_t> range_of_; // of each shell
    std::size_t ranges_ = 0;
    const scf::quartet_source* real_;
    runtime::world* world_;
    mutable comm::alarm_clock clock_;
    double seconds_, spread_, quantum_;
    std::vector<double> bends_; // of ranges: by how much more than predicted their quartets take
    mutable double waiting_ = 0.0, spent_ = 0.0;
};

// Of all ranks, which share one process: each would have its own.
struct molecule {
    scf::basis functions;
    scf::hermite_repulsion kernels;

    explicit molecule(scf::basis made) : functions(std::move(made)), kernels(functions, std::make_shared<const no_others>()) {}
    static const molecule& of_all() {
        static const molecule made([] {
            const scf::basis given = read_basis(std::getenv("CRATON_SHELLS"));
            return scf::reordered(given, scf::spatial_order(given));
        }());
        return made;
    }
};

void run_rank(MPI_Comm ranks, int clock_rank, const options& given) {
    comm::set_time_of(comm::work::pack, given.real("pack_s"));
    comm::set_time_of(comm::work::merge, given.real("merge_s"));
    const molecule& all_have = molecule::of_all();
    runtime::world world(comm::communicator::duplicate(ranks), {.ranks_per_node = 1});
    const auto source = std::make_shared<timed_source>(all_have.functions, all_have.kernels, world, clock_rank, given);
    scf::distributed_fock fock(world, all_have.functions.first_function(), source,
                               {.threshold = given.real("threshold"),
                                .strategy = static_cast<scf::fock_strategy>(given.integer("strategy")),
                                .progress = scf::attention::never});
    source->set_ranges(fock.options().functions_per_range);
    array::dist_array<double, 2> density(world, fock.layout()), coulomb(world, fock.layout()), exchange(world, fock.layout());
    density.fill(1.0);
    world.barrier();
    const double begin = MPI_Wtime();
    const std::array<const array::dist_array<double, 2>*, 1> densities{&density};
    const std::array<array::dist_array<double, 2>*, 1> exchanges{&exchange};
    fock.build(densities, coulomb, exchanges);
    source->let_pass();
    world.barrier();
    const auto& all = world.communicator();
    const double seconds = all.maximum(MPI_Wtime() - begin);
    const auto& told = fock.statistics();
    const auto sum_of = [&all](std::int64_t each) { return all.sum(each); };
    const auto nanoseconds = sum_of(static_cast<std::int64_t>(1e9 * source->spent()));
    const auto own = sum_of(told.own_tasks), stolen = sum_of(told.stolen_tasks), quartets = sum_of(fock.counts().quartets);
    const auto fetched = sum_of(told.fetched_bytes), added = sum_of(told.added_bytes);
    if (world.rank() == 0) {
        fmt::print(
            "{{\"ranks\": {}, \"functions\": {}, \"seconds\": {:.6f}, \"work_seconds\": {:.6f}, \"tasks\": {}, \"done\": {}, "
            "\"stolen\": {}, \"quartets\": {}, \"fetched_bytes\": {}, \"added_bytes\": {}}}\n",
            world.size(), fock.size(), seconds, 1e-9 * static_cast<double>(nanoseconds), fock.tasks(), own + stolen, stolen,
            quartets, fetched, added);
        std::fflush(stdout);
    }
    world.barrier();
}

void run(int argc, char** argv) {
    const options given(argc, argv,
                        {{"threshold", 1e-10},
                         {"strategy", 2},
                         {"scale", 1.0},
                         {"spread", 0.0},
                         {"quantum", 2e-3},
                         {"pack_s", 0.0},
                         {"merge_s", 0.0},
                         {"receives", 1},
                         {"message_s", 0.0}});
    const comm::environment mpi;
    simulated::run_ranks_with_clocks(given, [&](MPI_Comm ranks, int clock_rank) { run_rank(ranks, clock_rank, given); });
}

} // namespace

int main(int argc, char** argv) { return craton::simulated::exit_code_of(run, argc, argv); }
