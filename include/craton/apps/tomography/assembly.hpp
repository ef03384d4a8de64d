#pragma once

#include <craton/apps/tomography/forward_problem.hpp>
#include <craton/apps/tomography/path_set.hpp>
#include <craton/array/convergent_matrix.hpp>
#include <craton/array/convergent_vector.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <functional>
#include <span>

namespace craton::tomography {

/// Called on rank 0, a few times per second, by the thread that called assemble: paths handed out so far, paths in all.
using progress_function = std::function<void(std::int64_t done, std::int64_t total)>;

struct team_options {
    int threads = 1; ///< computing threads per rank, besides the calling thread, which polls
    int subset = 16; ///< paths that a rank takes at a time
    progress_function progress;
};

/// What the data say of a model, summed over all ranks.
struct data_misfit {
    double chi_data = 0;  ///< 1/2 ||d - g(m)||^2 in C_d^-1: the first term of equation 1 of French et al. 2015
    double data_norm = 0; ///< 1/2 ||d||^2 in C_d^-1
    std::int64_t samples = 0;
};

/// Seconds of this rank, summed over its computing threads except wall and poll.
struct team_times {
    double panel_s = 0;   ///< g and G
    double product_s = 0; ///< G^T G and G^T r
    double update_s = 0;  ///< handing both to the convergent arrays
    double poll_s = 0;    ///< the calling thread running handlers
    double commit_s = 0;
    double wall_s = 0;
    std::int64_t paths = 0; ///< done by this rank
};

struct assembly_result {
    data_misfit misfit;
    team_times times;
};

/// Adds the upper triangle of G^T C_d^-1 G to `hessian` and G^T C_d^-1 (d - g(m)) to `gradient`, then commits both.
///
/// Collective, blocking. Subsets of paths are handed out dynamically by a counter; on each rank a team of threads computes panels and
/// updates while the calling thread polls. `observed`: the samples of all paths, one after the other, in metres; `sigma`: noise standard
/// deviation per path, metres; `model`: all the same on every rank. Throws user_error for lengths that do not match, a sigma that is not positive,
/// a thread or subset number below 1 (on every rank), or a sample that is not finite (on the rank that meets it, naming path and
/// sample; the caller must then end the job).
template <class T>
assembly_result assemble(runtime::world& ranks, const forward_problem& forward, const path_set& paths,
                         std::span<const double> observed, std::span<const double> sigma, std::span<const double> model,
                         array::convergent_matrix<T>& hessian, array::convergent_vector<double>& gradient,
                         const team_options& options);

extern template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                         std::span<const double>, std::span<const double>, array::convergent_matrix<float>&,
                                         array::convergent_vector<double>&, const team_options&);
extern template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                         std::span<const double>, std::span<const double>, array::convergent_matrix<double>&,
                                         array::convergent_vector<double>&, const team_options&);

/// The data misfit of a model, without the Jacobian. Otherwise as assemble().
assembly_result evaluate_misfit(runtime::world& ranks, const forward_problem& forward, const path_set& paths,
                                std::span<const double> observed, std::span<const double> sigma, std::span<const double> model,
                                const team_options& options);

} // namespace craton::tomography
