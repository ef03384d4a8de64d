#pragma once

#include <craton/apps/tomography/corrections.hpp>
#include <craton/apps/tomography/forward_problem.hpp>
#include <craton/apps/tomography/kernels/window_misfit.hpp>
#include <craton/apps/tomography/path_set.hpp>
#include <craton/array/convergent_matrix.hpp>
#include <craton/array/convergent_vector.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/io/checkpoint.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <functional>
#include <span>

namespace craton::tomography {

/// Called on rank 0, a few times per second, by the thread that called assemble: paths handed out so far, paths in all.
using progress_function = std::function<void(std::int64_t done, std::int64_t total)>;

/// What a misfit 1/2 |e|^2 compares, F W d and F W g: W of noise_filter divides by the noise, F of low_pass keeps long periods. Of
/// waveforms it is 1/2 |F W (d - g)|^2.
struct data_weights {
    std::span<const double> sigma;            ///< standard deviation of the noise per path, m
    std::span<const double> correlation = {}; ///< of neighbouring samples' noise per path, in [0, 1); empty: none
    std::span<const double> low_pass = {};    ///< taps of F, the same for all paths; empty: all periods
    misfit_kind kind = misfit_kind::waveform;
    std::int64_t furthest = 0; ///< of arrival times: the longest shift that is tried, samples
};

/// How the threads of a rank share windows.
struct team_options {
    int threads = 1; ///< computing threads per rank, besides the calling thread, which polls
    int subset = 16; ///< paths that a rank takes at a time; by assemble() rounded to whole stacks of windows
    progress_function progress;
    /// assemble() only, the same on every rank: after so many seconds no more paths are handed out, and it returns when those that
    /// were are done. 0: never.
    double pause_after_s = 0;
    /// assemble() only: above zero, panels of samples x parameters may first be replaced by fewer rows with nearly the same product
    /// G^T G, where that is expected to pay: the trace norm of what the product loses is at most compress^2 times its trace, so
    /// that singular values of a panel that are below `compress` times the root of its sum of squares may be lost.
    double compress = 0;
    /// assemble() only, with a Hessian of double: what its elements and the gradient's are rounded to multiples of before they are
    /// added, powers of two (gram_updater::round_to): sums below 2^52 of that do not depend on their order. 0: nothing is rounded.
    double hessian_quantum = 0, gradient_quantum = 0;
};

/// What the data say of a model, summed over all ranks.
struct data_misfit {
    double chi_data =
        0; ///< 1/2 |e|^2; of waveforms 1/2 ||d - g(m)||^2 in C_d^-1, the first term of equation 1 of French et al. 2015
    double data_norm = 0; ///< 1/2 ||d||^2 in C_d^-1
    std::int64_t samples = 0;
};

/// Seconds of this rank, summed over its computing threads except wall and poll.
struct team_times {
    double panel_s = 0;   ///< g and G
    double product_s = 0; ///< G^T G and G^T r, with compression
    double update_s = 0;  ///< handing both to the convergent arrays
    double poll_s = 0;    ///< the calling thread running handlers
    double commit_s = 0;
    double wall_s = 0;
    std::int64_t paths = 0;   ///< done by this rank
    std::int64_t updates = 0; ///< of the Hessian that they made
    std::int64_t rows = 0;    ///< of panels, that were multiplied: their samples, or fewer after compression
    std::int64_t samples = 0; ///< of the same panels
};

/// What an assembly has found.
struct assembly_result {
    data_misfit misfit; ///< of the paths done in this call
    team_times times;
    std::int64_t left = 0; ///< paths that a pause has left to do; the same on every rank
};

/// Adds the upper triangle of G^T C_d^-1 G to `hessian` and G^T C_d^-1 (d - g(m)) to `gradient`, then commits both. Of a misfit of
/// arrival times or envelopes these are J^T J and J^T e, with J = R F W G and R of window_misfit.
///
/// All windows of one event, station and arc, which touch the same parameters, make one update: their whitened panels are stacked.
/// A separable Jacobian (forward_problem::separable) is never expanded: its Kronecker product costs one multiplication per element
/// of the Hessian.
///
/// Collective, blocking. Subsets of paths are handed out dynamically by a counter; on each rank a team of threads computes panels
/// and updates while the calling thread polls. `observed`: the samples of all paths, one after the other, in metres; `observed`,
/// `weights` and `model` are the same on every rank. Matrix: convergent_matrix or symmetric_matrix of float or double. Throws
/// user_error for lengths that do not match, a sigma that is not positive, a correlation out of range, a tap that is not finite, a
/// thread or subset number below 1, a compress out of [0, 1) (on every rank), or a sample that is not finite (on the rank that
/// meets it, naming path and sample; the caller must then end the job).
///
/// saved: null, or a checkpoint of hessian and gradient, resumed, whose subsets are the paths' numbers: paths counted in it are
/// left out, and the others are in it after its next save(). With options.pause_after_s a pause between two calls is the moment for
/// that.
///
/// unknown: null, or corrections of events and stations, unknowns that follow the model's coefficients: Hessian and gradient have
/// basis.size + unknown->size() rows. `model` has the coefficients alone; `paths` has the corrections found so far.
///
/// predicted: g(m) of another theory than the panels', as long as `observed`, whose residuals and R are taken; empty: the panels'.
template <class Matrix>
assembly_result assemble(runtime::world& ranks, const forward_problem& forward, const path_set& paths,
                         std::span<const double> observed, const data_weights& weights, std::span<const double> model,
                         Matrix& hessian, array::convergent_vector<double>& gradient, const team_options& options,
                         io::checkpoint* saved = nullptr, const corrections* unknown = nullptr,
                         std::span<const double> predicted = {});

extern template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                         const data_weights&, std::span<const double>, array::convergent_matrix<float>&,
                                         array::convergent_vector<double>&, const team_options&, io::checkpoint*,
                                         const corrections*, std::span<const double>);
extern template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                         const data_weights&, std::span<const double>, array::convergent_matrix<double>&,
                                         array::convergent_vector<double>&, const team_options&, io::checkpoint*,
                                         const corrections*, std::span<const double>);
extern template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                         const data_weights&, std::span<const double>, array::symmetric_matrix<float>&,
                                         array::convergent_vector<double>&, const team_options&, io::checkpoint*,
                                         const corrections*, std::span<const double>);
extern template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                         const data_weights&, std::span<const double>, array::symmetric_matrix<double>&,
                                         array::convergent_vector<double>&, const team_options&, io::checkpoint*,
                                         const corrections*, std::span<const double>);

/// The data misfit of a model, without the Jacobian. Otherwise as assemble().
assembly_result evaluate_misfit(runtime::world& ranks, const forward_problem& forward, const path_set& paths,
                                std::span<const double> observed, const data_weights& weights, std::span<const double> model,
                                const team_options& options);

} // namespace craton::tomography
