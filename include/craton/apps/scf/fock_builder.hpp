#pragma once

#include <craton/apps/scf/block_digester.hpp>
#include <craton/apps/scf/quartet_source.hpp>
#include <craton/apps/scf/shell_pairs.hpp>
#include <craton/base/thread_team.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace craton::scf {

/// How Fock matrices are built.
struct fock_options {
    /// Integrals are left out where their Schwarz bound times the density that meets them is below this, in hartree.
    double threshold = 1e-12;
    /// Functions per range of shells: a task is the quartets of one pair of ranges with all that come no later.
    int functions_per_range = 16;
    int threads = 1;
};

/// Coulomb and exchange matrices of density matrices, directly from integrals: J_ij = sum_kl (ij|kl) D_kl, K_ik = sum_jl (ij|kl)
/// D_jl.
///
/// Work is cut into tasks: a pair of ranges of shells (the bra) with every pair of ranges that comes no later (the ket). What a bra
/// and a ket touch of densities and sums are six rectangles, and nothing else of the matrices is looked at while they are digested.
class fock_builder {
  public:
    /// first_function: as basis::first_function. Computes the Schwarz bounds, on all threads. Throws user_error for a threshold
    /// that is not positive, less than one function per range, and fewer than 1 thread.
    fock_builder(std::span<const int> first_function, std::shared_ptr<const quartet_source> source, const fock_options& options);

    /// The number of functions n.
    [[nodiscard]] int size() const noexcept { return digester_.size(); }
    [[nodiscard]] const fock_options& options() const noexcept { return options_; }
    [[nodiscard]] std::span<const double> bounds() const noexcept { return bounds_; }

    /// Densities: symmetric, n x n row major, one (restricted) or several (spins). `coulomb`, n x n, gets J of their sum;
    /// exchange[d], n x n, gets K of densities[d]. Each integral is computed once for all. An element of J or K is wrong by what
    /// screening left out, and by the rounding of sums whose order depends on the threads. One call at a time. Throws user_error
    /// for spans of the wrong length.
    void build(std::span<const std::span<const double>> densities, std::span<double> coulomb,
               std::span<const std::span<double>> exchange);

    /// Of the last build.
    [[nodiscard]] const fock_counts& counts() const noexcept { return counts_; }

  private:
    struct job;
    struct workplace;

    void check(const job& what) const;
    /// Largest elements by pairs of shells, and by pairs of ranges.
    void find_largest(job& what) const;
    void run_task(std::size_t bra, const job& what, workplace& place) const;
    void add_up(std::vector<workplace>& places, const job& what);

    fock_options options_;
    base::thread_team team_;
    block_digester digester_;
    std::vector<double> bounds_;
    pair_list pairs_;
    fock_counts counts_;
};

} // namespace craton::scf
