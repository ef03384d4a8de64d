#include <craton/apps/tomography/assembly.hpp>

#include "path_team.hpp"

#include <craton/base/error.hpp>
#include <craton/base/timer.hpp>
#include <craton/linalg/blas.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

namespace craton::tomography {

namespace {

void check(const forward_problem& forward, const path_set& paths, std::span<const double> observed, std::span<const double> sigma,
           std::span<const double> model, const team_options& options) {
    if (static_cast<std::int64_t>(model.size()) != forward.basis().size()) {
        throw user_error(
            fmt::format("assemble: the model has {} parameters; allowed: {}, the basis's", model.size(), forward.basis().size()));
    }
    const std::int64_t samples = paths.offset(paths.size());
    if (static_cast<std::int64_t>(observed.size()) != samples) {
        throw user_error(fmt::format("assemble: {} observed samples for paths with {}; allowed: one per sample of every path",
                                     observed.size(), samples));
    }
    if (static_cast<std::int64_t>(sigma.size()) != paths.size()) {
        throw user_error(
            fmt::format("assemble: {} noise standard deviations for {} paths; allowed: one per path", sigma.size(), paths.size()));
    }
    for (std::size_t i = 0; i < sigma.size(); ++i) {
        if (!(sigma[i] > 0) || !std::isfinite(sigma[i])) {
            throw user_error(
                fmt::format("assemble: noise standard deviation of path {} is {} m; allowed: positive and finite", i, sigma[i]));
        }
    }
    if (options.threads < 1) throw user_error(fmt::format("assemble: threads is {}; allowed: 1 or more", options.threads));
    if (options.subset < 1) throw user_error(fmt::format("assemble: subset is {}; allowed: 1 or more paths", options.subset));
}

// r = (d - g) / sigma, and this path's share of the misfit.
void weigh_residual(std::int64_t path, std::span<const double> observed, std::span<const double> g, double sigma,
                    std::vector<double>& residual, data_misfit& misfit) {
    residual.resize(g.size());
    for (std::size_t t = 0; t < g.size(); ++t) {
        if (!std::isfinite(observed[t])) {
            throw user_error(
                fmt::format("observed data: sample {} of path {} is {}; allowed: finite numbers (metres)", t, path, observed[t]));
        }
        residual[t] = (observed[t] - g[t]) / sigma;
        misfit.chi_data += 0.5 * residual[t] * residual[t];
        misfit.data_norm += 0.5 * (observed[t] / sigma) * (observed[t] / sigma);
    }
    misfit.samples += static_cast<std::int64_t>(g.size());
}

// Everything one computing thread needs and counts.
template <class T> struct worker {
    std::vector<double> g, residual, gradient;
    std::vector<float> panel;
    std::vector<T> weighted, product;
    std::vector<std::int64_t> parameters;
    data_misfit misfit;
    team_times times;
};

template <class Worker> assembly_result sum_over_team(const runtime::world& ranks, const std::vector<Worker>& team) {
    assembly_result result;
    for (const auto& w : team) {
        result.misfit.chi_data += w.misfit.chi_data;
        result.misfit.data_norm += w.misfit.data_norm;
        result.misfit.samples += w.misfit.samples;
        result.times.panel_s += w.times.panel_s;
        result.times.product_s += w.times.product_s;
        result.times.update_s += w.times.update_s;
        result.times.paths += w.times.paths;
    }
    std::array<double, 2> sums{result.misfit.chi_data, result.misfit.data_norm};
    ranks.communicator().sum_in_place(std::span<double>(sums));
    result.misfit.chi_data = sums[0];
    result.misfit.data_norm = sums[1];
    result.misfit.samples = ranks.communicator().sum(result.misfit.samples);
    return result;
}

// G^T r in double: k n multiply-adds, 4 k n bytes read.
void transpose_apply(std::span<const float> panel, std::span<const double> residual, double sigma, std::vector<double>& gradient) {
    const std::size_t n = panel.size() / residual.size();
    gradient.assign(n, 0.0);
    for (std::size_t t = 0; t < residual.size(); ++t) {
        const double weight = residual[t] / sigma;
        const float* const row = panel.data() + t * n;
        for (std::size_t j = 0; j < n; ++j) gradient[j] += weight * static_cast<double>(row[j]);
    }
}

} // namespace

template <class T>
assembly_result assemble(runtime::world& ranks, const forward_problem& forward, const path_set& paths,
                         std::span<const double> observed, std::span<const double> sigma, std::span<const double> model,
                         array::convergent_matrix<T>& hessian, array::convergent_vector<double>& gradient,
                         const team_options& options) {
    check(forward, paths, observed, sigma, model, options);
    if (hessian.layout().rows.extent != forward.basis().size() || hessian.layout().cols.extent != forward.basis().size() ||
        gradient.layout().extent != forward.basis().size()) {
        throw user_error(fmt::format(
            "assemble: Hessian {} x {} and gradient {} for {} parameters; allowed: one row, column and element per "
            "parameter",
            hessian.layout().rows.extent, hessian.layout().cols.extent, gradient.layout().extent, forward.basis().size()));
    }
    const linalg::blas_threads_scope one_thread_per_call(1); // the team itself is the parallelism
    const base::timer wall;
    std::vector<worker<T>> team(static_cast<std::size_t>(options.threads));
    path_team hand_out(ranks, paths.size(), options);
    const double poll_s = hand_out.run([&](int thread, std::int64_t index) {
        auto& w = team[static_cast<std::size_t>(thread)];
        const path& p = paths[index];
        const auto k = static_cast<std::size_t>(p.samples());
        const auto n = static_cast<std::size_t>(p.touched());
        const double noise = sigma[static_cast<std::size_t>(index)];

        base::timer clock;
        w.g.resize(k);
        w.panel.resize(k * n);
        w.parameters.resize(n);
        p.parameters(w.parameters);
        forward.panel(p, model, w.g, w.panel);
        weigh_residual(index, observed.subspan(static_cast<std::size_t>(paths.offset(index)), k), w.g, noise, w.residual, w.misfit);
        w.times.panel_s += clock.seconds();

        clock.restart();
        transpose_apply(w.panel, w.residual, noise, w.gradient);
        w.weighted.resize(k * n);
        for (std::size_t e = 0; e < k * n; ++e) w.weighted[e] = static_cast<T>(static_cast<double>(w.panel[e]) / noise);
        w.product.resize(n * n);
        linalg::gram_upper(p.touched(), p.samples(), w.weighted.data(), w.product.data());
        w.times.product_s += clock.seconds();

        clock.restart();
        // Column major, upper triangle: with ascending indices update_symmetric reads no other element.
        hessian.update_symmetric(base::column_major<const T>(w.product.data(), p.touched(), p.touched(), p.touched()),
                                 w.parameters);
        gradient.update(w.gradient, w.parameters);
        w.times.update_s += clock.seconds();
        ++w.times.paths;
    });
    const base::timer commit_clock;
    hessian.commit();
    gradient.commit();
    auto result = sum_over_team(ranks, team);
    result.times.commit_s = commit_clock.seconds();
    result.times.poll_s = poll_s;
    result.times.wall_s = wall.seconds();
    return result;
}

template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                  std::span<const double>, std::span<const double>, array::convergent_matrix<float>&,
                                  array::convergent_vector<double>&, const team_options&);
template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                  std::span<const double>, std::span<const double>, array::convergent_matrix<double>&,
                                  array::convergent_vector<double>&, const team_options&);

assembly_result evaluate_misfit(runtime::world& ranks, const forward_problem& forward, const path_set& paths,
                                std::span<const double> observed, std::span<const double> sigma, std::span<const double> model,
                                const team_options& options) {
    check(forward, paths, observed, sigma, model, options);
    const base::timer wall;
    std::vector<worker<float>> team(static_cast<std::size_t>(options.threads));
    path_team hand_out(ranks, paths.size(), options);
    const double poll_s = hand_out.run([&](int thread, std::int64_t index) {
        auto& w = team[static_cast<std::size_t>(thread)];
        const base::timer clock;
        w.g.resize(static_cast<std::size_t>(paths[index].samples()));
        forward.seismogram(paths[index], model, w.g);
        weigh_residual(index, observed.subspan(static_cast<std::size_t>(paths.offset(index)), w.g.size()), w.g,
                       sigma[static_cast<std::size_t>(index)], w.residual, w.misfit);
        w.times.panel_s += clock.seconds();
        ++w.times.paths;
    });
    auto result = sum_over_team(ranks, team);
    result.times.poll_s = poll_s;
    result.times.wall_s = wall.seconds();
    return result;
}

} // namespace craton::tomography
