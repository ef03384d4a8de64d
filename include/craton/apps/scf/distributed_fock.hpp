#pragma once

#include <craton/apps/scf/block_digester.hpp>
#include <craton/apps/scf/fock_tasks.hpp>
#include <craton/apps/scf/quartet_source.hpp>
#include <craton/array/dist_array.hpp>
#include <craton/array/tile_layout.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/progress_thread.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace craton::scf {

/// How tasks come to ranks.
enum class fock_strategy {
    fixed,    ///< each rank does what cost prediction gave it
    counter,  ///< one shared counter hands out all tasks in turn
    stealing, ///< what prediction gave it, then half of what another has left (Ozog et al. 2016, Algorithm 3)
};

/// "static", "counter", "stealing". Throws user_error for any other.
[[nodiscard]] fock_strategy fock_strategy_named(const std::string& name);

/// Whether a thread looks after arriving messages while the others compute.
enum class attention {
    automatic, ///< where some ranks do not share memory
    always,
    never, ///< between tasks only
};

/// How Fock matrices are built.
struct distributed_fock_options {
    /// As of fock_options.
    double threshold = 1e-12;
    /// Functions per range of shells; 0: chosen by the number of functions, ranks and threads.
    int functions_per_range = 0;
    int threads = 1;
    fock_strategy strategy = fock_strategy::stealing;
    attention progress = attention::automatic;
    /// What this rank may keep of densities, of sums, and of what the source prepares of pairs (each), between tasks; 0: twice the
    /// rank's share of the matrices, at least 1 MiB. Less means that more is fetched, added and prepared twice.
    std::int64_t buffer_bytes = 0;
    /// Blocks of densities that would meet less than this part of the threshold do not travel: zeros stand for them. 0: all do.
    double spared = 1e-3;
};

/// One rank's part of the last build. Seconds of wall time; those of the loop over tasks are means over the rank's threads.
struct fock_statistics {
    std::int64_t own_tasks = 0;    // done here, that prediction gave to this rank
    std::int64_t stolen_tasks = 0; // done here, that it gave to another
    double build_s = 0;            // all
    double prepare_s = 0;          // largest densities, prediction, the queue
    double loop_s = 0;             // from a common start to the last rank's end; of which:
    double compute_s = 0;
    double get_s = 0;        // waiting for densities
    double accumulate_s = 0; // adding sums to J and K
    double queue_s = 0;      // asking for tasks
    double idle_s = 0;       // after this rank's last task, until the last rank had done its own
    double finish_s = 0;     // until all sums had arrived, and making them symmetric
    std::int64_t fetched_bytes = 0;
    std::int64_t spared_bytes = 0; // of density blocks that screening would leave out, and that did not travel
    std::int64_t added_bytes = 0;
    std::int64_t peak_buffer_bytes = 0; // of densities and sums together
    std::int64_t source_bytes = 0;      // at most, of what the source of integrals had prepared
    std::int64_t pair_bytes = 0;        // blocks of pairs and own tasks; the pairs themselves are there once for each node
};

class task_book;

/// When a task was done, in seconds since the common start of the loop.
struct task_time {
    std::int64_t task = 0;
    int thread = 0;
    double begin_s = 0;
    double end_s = 0;
    double predicted = 0; // cost, relative
};

/// Coulomb and exchange matrices of density matrices that are distributed over the ranks of a world, directly from integrals, as
/// fock_builder makes them on one rank: J_ij = sum_kl (ij|kl) D_kl, K_ik = sum_jl (ij|kl) D_jl (Ozog et al. 2016, Algorithms 2 and
/// 3; the cutting of GTFock: Liu, Patel and Chow, IPDPS 2014).
///
/// Shells, in the order of the basis (which spatial_order makes compact), are cut into ranges; a task is a pair of ranges with all
/// pairs of ranges that begin in one range. What a task reads of densities is fetched, what it adds is kept by each thread and
/// added block by block, both within a bound, as is what the source prepares of pairs. No rank has a whole matrix: besides its
/// share a rank has its buffers, its own tasks, and a number per pair of ranges; each node has the surviving pairs of shells.
class distributed_fock {
  public:
    /// Densities, J and K.
    using matrix = array::dist_array<double, 2>;

    /// Collective, blocking. first_function: as basis::first_function. Computes Schwarz bounds, each rank a share, and divides the
    /// tasks. Throws user_error on every rank for a threshold that is not positive, negative sizes, fewer than 1 thread, and unless
    /// options (but for threads and buffers) and functions are the same on all.
    distributed_fock(runtime::world& ranks, std::span<const int> first_function, std::shared_ptr<const quartet_source> source,
                     const distributed_fock_options& options);
    ~distributed_fock();
    distributed_fock(const distributed_fock&) = delete;
    distributed_fock& operator=(const distributed_fock&) = delete;

    /// The number of functions n.
    [[nodiscard]] int size() const noexcept { return digester_.size(); }
    [[nodiscard]] runtime::world& ranks() const noexcept { return *world_; }
    [[nodiscard]] const distributed_fock_options& options() const noexcept { return options_; }
    /// Where densities and results lie best: a tile per rank of a grid, with boundaries between shells and about as much predicted
    /// work in each.
    [[nodiscard]] const array::tile_layout<2>& layout() const noexcept { return layout_; }
    /// Tasks that there are.
    [[nodiscard]] std::int64_t tasks() const noexcept;

    /// Collective, blocking; polls. Densities: symmetric, n x n, one (restricted) or several (spins). `coulomb` gets J of their
    /// sum, *exchange[d] K of *densities[d]; each integral is computed once for all. Any layouts; the results are other arrays than
    /// the densities. Throws user_error on every rank for another world, extents that are not n x n, other numbers of densities and
    /// results, and an array given twice.
    void build(std::span<const matrix* const> densities, matrix& coulomb, std::span<matrix* const> exchange);

    /// Of this rank, in the last build.
    [[nodiscard]] const fock_counts& counts() const noexcept { return counts_; }
    [[nodiscard]] const fock_statistics& statistics() const noexcept { return statistics_; }
    /// The tasks that this rank did in the last build, thread by thread.
    [[nodiscard]] const std::vector<task_time>& timeline() const noexcept { return timeline_; }

  private:
    struct job;
    struct worker;

    void check(const job& what) const;
    [[nodiscard]] array::tile_layout<2> divide();
    [[nodiscard]] largest_between_ranges find_largest(std::span<const matrix* const> densities) const;
    void run_tasks(job& what, worker& by) const;
    /// `next`: what this thread is likely to do next, or null.
    void run_task(const fock_task& task, const fock_task* next, job& what, worker& by) const;
    /// Which kets a task meets, and what it reads.
    void plan(const fock_task& task, const job& what, worker& by) const;
    void add_up(const job& what, std::span<const worker> workers);
    void make_symmetric(const job& what) const;

    runtime::world* world_;
    distributed_fock_options options_;
    base::thread_team team_;
    block_digester digester_;
    fock_tasks tasks_;
    array::tile_layout<2> layout_;
    std::unique_ptr<task_book> book_;
    std::unique_ptr<runtime::progress_thread> progress_; // null where it is not wanted
    fock_counts counts_;
    fock_statistics statistics_;
    std::vector<task_time> timeline_;
};

} // namespace craton::scf
