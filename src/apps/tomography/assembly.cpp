#include <craton/apps/tomography/assembly.hpp>

#include "path_stacks.hpp"
#include "path_team.hpp"

#include <craton/apps/tomography/kernels/low_pass.hpp>
#include <craton/apps/tomography/kernels/noise_filter.hpp>
#include <craton/apps/tomography/kernels/window_misfit.hpp>
#include <craton/base/error.hpp>
#include <craton/base/exact_sums.hpp>
#include <craton/base/timer.hpp>
#include <craton/linalg/blas.hpp>
#include <craton/linalg/gram_updater.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

namespace craton::tomography {

namespace {

void check(const forward_problem& forward, const path_set& paths, std::span<const double> observed, const data_weights& weights,
           std::span<const double> model, const team_options& options) {
    const auto& [sigma, correlation, taps, kind, furthest] = weights;
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
    if (!correlation.empty() && static_cast<std::int64_t>(correlation.size()) != paths.size()) {
        throw user_error(fmt::format("assemble: {} noise correlations for {} paths; allowed: none, or one per path",
                                     correlation.size(), paths.size()));
    }
    for (std::size_t i = 0; i < correlation.size(); ++i) {
        if (!(correlation[i] >= 0 && correlation[i] < 1)) {
            throw user_error(
                fmt::format("assemble: noise correlation of path {} is {}; allowed: at least 0 and below 1", i, correlation[i]));
        }
    }
    for (std::size_t s = 0; s < taps.size(); ++s) {
        if (!std::isfinite(taps[s]))
            throw user_error(fmt::format("assemble: tap {} of the low-pass filter is {}; allowed: finite numbers", s, taps[s]));
    }
    if (kind == misfit_kind::arrival_time && furthest < 1) {
        throw user_error(
            fmt::format("assemble: arrival times are sought among shifts of up to {} samples; allowed: 1 or more", furthest));
    }
    for (const double quantum : {options.hessian_quantum, options.gradient_quantum}) {
        if (quantum != 0 && options.compress != 0)
            throw user_error("assemble: sums in any order with compressed panels; allowed: compress = 0, which follows no history");
    }
    if (options.threads < 1) throw user_error(fmt::format("assemble: threads is {}; allowed: 1 or more", options.threads));
    if (options.subset < 1) throw user_error(fmt::format("assemble: subset is {}; allowed: 1 or more paths", options.subset));
    if (!(options.pause_after_s >= 0)) {
        throw user_error(
            fmt::format("assemble: pause_after_s is {}; allowed: 0 (no pause) or more seconds", options.pause_after_s));
    }
    if (!(options.compress >= 0 && options.compress < 1)) {
        throw user_error(fmt::format("assemble: compress is {}; allowed: 0 (none) to below 1", options.compress));
    }
}

// What weighs one window, and what its misfit compares: F W d and F W g, a noise_filter and then a low_pass.
struct window_weights {
    noise_filter noise;
    std::span<const double> taps;
    misfit_kind kind;
    std::int64_t furthest; // of shifts, samples
};

window_weights weights_of(std::int64_t index, const data_weights& all) {
    const auto i = static_cast<std::size_t>(index);
    return {{all.sigma[i], all.correlation.empty() ? 0.0 : all.correlation[i]}, all.low_pass, all.kind, all.furthest};
}

// x = F W x. scratch: for what F is applied to.
void weigh(const window_weights& weights, std::vector<double>& x, std::vector<double>& scratch) {
    whiten(weights.noise, x, x);
    if (weights.taps.empty()) return;
    scratch = x;
    low_pass(weights.taps, scratch, x);
}

// Everything one computing thread needs and counts.
template <class T> struct worker {
    std::vector<double> g, residual, observed, predicted, more, gradient;
    std::optional<window_misfit> compared; // of one window, whose misfit is not of waveforms
    std::vector<float> panel, joined;      // of one window
    std::vector<double> corrections;       // of one window
    std::vector<T> white, filtered;        // of one window, before its low-pass and before R
    std::vector<T> weighted, lateral;      // of all windows of a stack; a block of its update
    std::vector<std::int64_t> parameters;
    data_misfit misfit;
    team_times times;
};

// The residuals e of a window and its share of the misfit. w.residual becomes R^T e, of the gradient; w.compared has R where it is
// not the identity.
template <class Worker>
void weigh_residual(std::int64_t path, std::span<const double> observed, std::span<const double> g, const window_weights& weights,
                    Worker& w) {
    const std::size_t samples = g.size();
    w.residual.resize(samples);
    for (std::size_t t = 0; t < samples; ++t) {
        if (!std::isfinite(observed[t])) {
            throw user_error(
                fmt::format("observed data: sample {} of path {} is {}; allowed: finite numbers (metres)", t, path, observed[t]));
        }
        w.residual[t] = observed[t] - g[t];
    }
    w.observed.assign(observed.begin(), observed.end());
    weigh(weights, w.observed, w.more);
    if (weights.kind == misfit_kind::waveform) {
        weigh(weights, w.residual, w.more);
        for (const double e : w.residual) w.misfit.chi_data += 0.5 * e * e;
    } else {
        w.predicted.assign(g.begin(), g.end());
        weigh(weights, w.predicted, w.more);
        w.compared.emplace(weights.kind, w.predicted);
        w.more.resize(static_cast<std::size_t>(window_misfit::residuals(weights.kind, static_cast<std::int64_t>(samples))));
        w.compared->residual(w.observed, weights.furthest, w.more);
        for (const double e : w.more) w.misfit.chi_data += 0.5 * e * e;
        w.compared->derivative_transposed(w.more, w.residual);
    }
    for (const double d : w.observed) w.misfit.data_norm += 0.5 * d * d;
    w.misfit.samples += static_cast<std::int64_t>(samples);
}

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
        result.times.updates += w.times.updates;
        result.times.rows += w.times.rows;
        result.times.samples += w.times.samples;
    }
    std::array<double, 2> sums{result.misfit.chi_data, result.misfit.data_norm};
    ranks.communicator().sum_in_place(std::span<double>(sums));
    result.misfit.chi_data = sums[0];
    result.misfit.data_norm = sums[1];
    result.misfit.samples = ranks.communicator().sum(result.misfit.samples);
    return result;
}

// What is left to do, ascending.
std::vector<std::int64_t> not_counted(std::int64_t paths, const io::checkpoint* saved) {
    if (saved != nullptr) return saved->missing(paths);
    std::vector<std::int64_t> all(static_cast<std::size_t>(paths));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
}

// For a team that is handed stacks: as many in a subset as hold the paths that are asked for, and progress in paths that counts
// what was done before.
team_options for_stacks(const path_stacks& stacks, std::int64_t total, team_options options) {
    const std::int64_t left = stacks.before(stacks.size());
    if (left > 0) {
        const double share = static_cast<double>(options.subset) / static_cast<double>(left);
        options.subset = static_cast<int>(
            std::clamp(std::round(share * static_cast<double>(stacks.size())), 1.0, static_cast<double>(options.subset)));
    }
    if (options.progress) {
        options.progress = [told = std::move(options.progress), &stacks, before = total - left,
                            total](std::int64_t done, std::int64_t) { told(before + stacks.before(done), total); };
    }
    return options;
}

// gradient += G^T W^T F r in double, r = R^T e: k n multiply-adds, 4 k n bytes read. scratch: for W^T F r.
void transpose_apply(std::span<const float> panel, std::span<const double> residual, const window_weights& weights,
                     std::vector<double>& scratch, std::vector<double>& gradient) {
    scratch.resize(residual.size());
    low_pass(weights.taps, residual, scratch);
    whiten_transposed(weights.noise, scratch, scratch);
    const std::size_t n = gradient.size();
    for (std::size_t t = 0; t < residual.size(); ++t) {
        const double weight = scratch[t];
        const float* const row = panel.data() + t * n;
        for (std::size_t j = 0; j < n; ++j) gradient[j] += weight * static_cast<double>(row[j]);
    }
}

// Parameters whose separable Jacobians have h_a in common: all of them where their splines are the same, or each by itself.
struct separable_group {
    std::int64_t parameter, parameters; // the first, and how many
    std::int64_t first, columns;        // of the factor
    std::int64_t begin, size;           // among the touched coefficients
};

std::vector<separable_group> groups_of(const model_basis& basis, const path& p) {
    if (basis.same_splines()) return {{0, basis.parameters(), 0, basis.columns(), 0, p.touched()}};
    std::vector<separable_group> out;
    std::int64_t begin = 0;
    for (std::int64_t q = 0; q < basis.parameters(); ++q) {
        out.push_back({q, 1, basis.first_column(q), basis.n_radial(q), begin, p.touched(q)});
        begin += p.touched(q);
    }
    return out;
}

// The columns of a separable Jacobian in the order of Kronecker products, one for each group: the knot slowest, then the parameter,
// then the radial spline.
void kronecker_order(const path& p, std::span<const separable_group> groups, std::vector<std::int64_t>& parameters) {
    parameters.clear();
    for (const separable_group& group : groups) {
        for (const std::int32_t knot : p.lateral(group.parameter).knot) {
            for (std::int64_t q = group.parameter; q < group.parameter + group.parameters; ++q) {
                const basis_shape::part& of = p.shape().of[static_cast<std::size_t>(q)];
                for (std::int64_t i = 0; i < of.n_radial; ++i) parameters.push_back(of.first + knot * of.n_radial + i);
            }
        }
    }
}

// Each row of `left`, and then that of `right`.
void join_rows(std::span<const float> left, std::span<const double> right, std::size_t rows, std::vector<float>& out) {
    const std::size_t wide = left.size() / rows;
    const std::size_t more = right.size() / rows;
    out.resize(left.size() + right.size());
    for (std::size_t t = 0; t < rows; ++t) {
        float* const row = out.data() + t * (wide + more);
        std::ranges::copy(left.subspan(t * wide, wide), row);
        std::ranges::transform(right.subspan(t * more, more), row + wide, [](double value) { return static_cast<float>(value); });
    }
}

// Elements of a block that are written out at a time.
constexpr std::size_t most_spread = std::size_t{1} << 18;

// What a stack adds: its panels, or their factors, one under the other, and its gradient. The columns of corrections stand beside
// the others.
template <class T> class stacked_update {
  public:
    stacked_update(const forward_problem& forward, const path_set& paths, const corrections* unknown, misfit_kind kind,
                   std::span<const std::int64_t> stack, worker<T>& w)
        : forward_(forward), paths_(paths), unknown_(unknown), first_(paths[stack.front()]), w_(w),
          separable_(forward.separable()) {
        structure_ = separable_ ? forward.basis().columns() : first_.touched();
        if (separable_) groups_ = groups_of(forward.basis(), first_);
        columns_ = structure_ + of_corrections();
        for (const std::int64_t index : stack) rows_ += window_misfit::residuals(kind, paths[index].samples());
        w_.weighted.resize(static_cast<std::size_t>(rows_ * columns_));
        w_.gradient.assign(static_cast<std::size_t>(columns_), 0.0);
    }

    /// g and the panel, or its factor, of the next window.
    void linearise(std::int64_t index, std::span<const double> model) {
        const path& p = paths_[index];
        const auto samples = static_cast<std::size_t>(p.samples());
        w_.g.resize(samples);
        w_.panel.resize(samples * static_cast<std::size_t>(structure_));
        if (separable_) {
            forward_.factor(p, model, w_.g, w_.panel);
        } else {
            forward_.panel(p, model, w_.g, w_.panel);
        }
        if (of_corrections() == 0) return;
        w_.corrections.resize(samples * static_cast<std::size_t>(of_corrections()));
        unknown_->derivatives(forward_, paths_, index, model, w_.g, w_.corrections);
        join_rows(w_.panel, w_.corrections, samples, w_.joined);
        std::swap(w_.panel, w_.joined);
    }

    /// Puts it, R F W G, under those before.
    void add(const window_weights& weights) {
        transpose_apply(w_.panel, w_.residual, weights, w_.more, w_.gradient);
        const auto samples = static_cast<std::int64_t>(w_.residual.size());
        const std::int64_t rows = window_misfit::residuals(weights.kind, samples);
        const auto mine = std::span(w_.weighted).subspan(filled_, static_cast<std::size_t>(rows * columns_));
        if (weights.kind == misfit_kind::waveform) {
            filter(weights, mine);
        } else {
            w_.filtered.resize(w_.panel.size());
            filter(weights, w_.filtered);
            w_.compared->derivative(std::span<const T>(w_.filtered), columns_, mine);
        }
        windows_.push_back({base::row_major<const T>(mine.data(), rows, columns_), {}});
        filled_ += mine.size();
    }

    /// The indices that the update goes to, and the gradient at them.
    void complete() {
        const auto more = static_cast<std::size_t>(of_corrections());
        if (separable_) {
            kronecker_order(first_, groups_, w_.parameters);
            const std::vector<double> profile(w_.gradient);
            w_.gradient.clear();
            for (const separable_group& group : groups_) {
                const auto of_group =
                    std::span(profile).subspan(static_cast<std::size_t>(group.first), static_cast<std::size_t>(group.columns));
                for (const double value : first_.lateral(group.parameter).value) {
                    for (const double of_column : of_group) w_.gradient.push_back(value * of_column);
                }
            }
            w_.gradient.insert(w_.gradient.end(), profile.end() - static_cast<std::ptrdiff_t>(more), profile.end());
        } else {
            w_.parameters.resize(static_cast<std::size_t>(structure_));
            first_.parameters(w_.parameters);
        }
        w_.parameters.resize(w_.parameters.size() + more);
        if (more > 0) unknown_->unknowns(first_, forward_.basis().size(), std::span(w_.parameters).last(more));
    }

    /// quantum: as gram_updater::round_to has it.
    template <class Matrix>
    linalg::gram_report add_to(Matrix& matrix, linalg::gram_updater<T>& hessian, double compress, double quantum) const {
        if (!separable_) return hessian.update(windows_, w_.parameters, {.tolerance = compress * compress});
        linalg::gram_report report;
        for (const separable_group& group : groups_) {
            const base::matrix_view<const T> factor{w_.weighted.data() + group.first, rows_, group.columns, columns_, 1};
            const std::span<const double> h = first_.lateral(group.parameter).value;
            w_.lateral.assign(h.begin(), h.end());
            const auto of_group = hessian.update_kronecker(w_.lateral, factor, indices_of(group));
            report.samples = of_group.samples;
            report.rank = of_group.rank;
            report.multiply_s += of_group.multiply_s;
        }
        add_between_groups(matrix, quantum);
        return report;
    }

  private:
    /// F W G.
    void filter(const window_weights& weights, std::span<T> to) {
        if (weights.taps.empty()) {
            whiten_panel<T>(weights.noise, w_.panel, columns_, to);
            return;
        }
        w_.white.resize(w_.panel.size());
        whiten_panel<T>(weights.noise, w_.panel, columns_, w_.white);
        low_pass_panel<T>(weights.taps, w_.white, columns_, to);
    }

    [[nodiscard]] std::int64_t of_corrections() const { return unknown_ == nullptr ? 0 : unknown_->touched(); }

    [[nodiscard]] std::span<const std::int64_t> indices_of(const separable_group& group) const {
        return std::span<const std::int64_t>(w_.parameters)
            .subspan(static_cast<std::size_t>(group.begin), static_cast<std::size_t>(group.size));
    }

    /// What the Kronecker products do not have: (h (x) T)^T (h' (x) T') of different groups, and (h (x) T)^T D and D^T D, of
    /// corrections' columns D. Written out for a few knots at a time.
    template <class Matrix> void add_between_groups(Matrix& matrix, double quantum) const {
        const std::array<double, 1> one{1.0};
        const auto structure = static_cast<std::int64_t>(w_.parameters.size()) - of_corrections();
        const separable_group beside{-1, 0, structure_, of_corrections(), structure, of_corrections()};
        const auto weights = [&](const separable_group& group) -> std::span<const double> {
            return group.parameter < 0 ? std::span<const double>(one) : first_.lateral(group.parameter).value;
        };
        std::vector<separable_group> all = groups_;
        if (of_corrections() > 0) all.push_back(beside);
        std::vector<T> products;
        for (std::size_t right = 0; right < all.size(); ++right) {
            for (std::size_t left = 0; left < right; ++left) {
                multiply(all[left], all[right], products);
                const std::span<const double> h = weights(all[left]);
                const auto rows = static_cast<std::size_t>(all[left].columns);
                const std::size_t at_a_time =
                    std::max<std::size_t>(1, most_spread / (rows * static_cast<std::size_t>(all[right].size)));
                for (std::size_t knot = 0; knot < h.size(); knot += at_a_time) {
                    const auto some = h.subspan(knot, std::min(at_a_time, h.size() - knot));
                    spread(products, all[left], some, all[right], weights(all[right]), quantum, w_.lateral);
                    const auto begin = indices_of(all[left]).subspan(knot * rows, some.size() * rows);
                    matrix.update(
                        base::row_major<const T>(w_.lateral.data(), static_cast<std::int64_t>(begin.size()), all[right].size),
                        begin, indices_of(all[right]));
                }
            }
        }
        if (of_corrections() == 0) return;
        multiply(beside, beside, products);
        spread(products, beside, one, beside, one, quantum, w_.lateral);
        matrix.update_symmetric(base::row_major<const T>(w_.lateral.data(), beside.size, beside.size), indices_of(beside));
    }

    /// T^T T' of the columns of two groups.
    void multiply(const separable_group& left, const separable_group& right, std::vector<T>& out) const {
        const auto wide = static_cast<std::size_t>(right.columns);
        out.assign(static_cast<std::size_t>(left.columns) * wide, T{0});
        for (std::int64_t t = 0; t < rows_; ++t) {
            const T* const row = w_.weighted.data() + t * columns_;
            for (std::size_t i = 0; i < static_cast<std::size_t>(left.columns); ++i) {
                const T value = row[static_cast<std::size_t>(left.first) + i];
                for (std::size_t j = 0; j < wide; ++j) {
                    out[i * wide + j] += value * row[static_cast<std::size_t>(right.first) + j];
                }
            }
        }
    }

    /// The Kronecker product of h h'^T and such products.
    static void spread(std::span<const T> products, const separable_group& left, std::span<const double> h_left,
                       const separable_group& right, std::span<const double> h_right, double quantum, std::vector<T>& out) {
        const auto wide = static_cast<std::size_t>(right.columns);
        out.resize(h_left.size() * static_cast<std::size_t>(left.columns * right.size));
        auto next = out.begin();
        for (const double h : h_left) {
            for (std::size_t i = 0; i < static_cast<std::size_t>(left.columns); ++i) {
                const T* const row = products.data() + i * wide;
                for (const double other : h_right) {
                    const auto scale = static_cast<T>(h * other);
                    next = std::transform(row, row + wide, next, [scale](T value) { return scale * value; });
                }
            }
        }
        if (quantum != 0) base::round_to_multiples(std::span(out), static_cast<T>(quantum));
    }

    const forward_problem& forward_;
    const path_set& paths_;
    const corrections* unknown_;
    const path& first_;
    worker<T>& w_;
    bool separable_;
    std::vector<separable_group> groups_; // of a separable Jacobian
    std::int64_t rows_ = 0, structure_ = 0, columns_ = 0;
    std::size_t filled_ = 0;
    std::vector<linalg::weighted_panel<T>> windows_;
};

template <class T> std::pair<std::int64_t, std::int64_t> shape_of(const array::convergent_matrix<T>& matrix) {
    return {matrix.layout().rows.extent, matrix.layout().cols.extent};
}
template <class T> std::pair<std::int64_t, std::int64_t> shape_of(const array::symmetric_matrix<T>& matrix) {
    return {matrix.order(), matrix.order()};
}

} // namespace

template <class Matrix>
assembly_result assemble(runtime::world& ranks, const forward_problem& forward, const path_set& paths,
                         std::span<const double> observed, const data_weights& weights, std::span<const double> model,
                         Matrix& hessian, array::convergent_vector<double>& gradient, const team_options& options,
                         io::checkpoint* saved, const corrections* unknown, std::span<const double> predicted) {
    using T = typename Matrix::value_type;
    check(forward, paths, observed, weights, model, options);
    if (!predicted.empty() && predicted.size() != observed.size()) {
        throw user_error(fmt::format("assemble: {} predicted samples beside {} observed ones; allowed: none, or as many",
                                     predicted.size(), observed.size()));
    }
    const auto [rows, cols] = shape_of(hessian);
    const std::int64_t size = forward.basis().size() + (unknown == nullptr ? 0 : unknown->size());
    if (rows != size || cols != size || gradient.layout().extent != size) {
        throw user_error(fmt::format("assemble: Hessian {} x {} and gradient {} for {} parameters; allowed: one row, column and "
                                     "element per parameter",
                                     rows, cols, gradient.layout().extent, size));
    }
    const linalg::blas_threads_scope one_thread_per_call(1); // the team itself is the parallelism
    linalg::gram_updater<T> products(hessian);
    products.round_to(options.hessian_quantum);
    const base::timer wall;
    std::vector<worker<T>> team(static_cast<std::size_t>(options.threads));
    const auto left = not_counted(paths.size(), saved);
    const path_stacks stacks(paths, left);
    const auto team_does = for_stacks(stacks, paths.size(), options);
    path_team hand_out(ranks, stacks.size(), team_does);
    const double poll_s = hand_out.run([&](int thread, std::int64_t place) {
        const auto stack = stacks[place];
        auto& w = team[static_cast<std::size_t>(thread)];
        stacked_update<T> update(forward, paths, unknown, weights.kind, stack, w);
        base::timer clock;
        for (const std::int64_t index : stack) {
            const auto of_window = weights_of(index, weights);
            clock.restart();
            update.linearise(index, model);
            const auto begin = static_cast<std::size_t>(paths.offset(index));
            const std::span<const double> g = predicted.empty() ? w.g : predicted.subspan(begin, w.g.size());
            weigh_residual(index, observed.subspan(begin, w.g.size()), g, of_window, w);
            w.times.panel_s += clock.seconds();
            clock.restart();
            update.add(of_window);
            w.times.product_s += clock.seconds();
        }
        clock.restart();
        update.complete();
        w.times.product_s += clock.seconds();

        clock.restart();
        std::vector<io::checkpoint::open_subset> open;
        // Opened late, all of them: what throws before has updated nothing, and a checkpoint waits until all are finished.
        for (std::size_t i = 0; saved != nullptr && i < stack.size(); ++i) open.push_back(saved->begin(stack[i]));
        const auto report = update.add_to(hessian, products, options.compress, options.hessian_quantum);
        if (options.gradient_quantum != 0) base::round_to_multiples(std::span(w.gradient), options.gradient_quantum);
        gradient.update(w.gradient, w.parameters);
        for (auto& subset : open) subset.finish();
        w.times.product_s += report.multiply_s;
        w.times.update_s += clock.seconds() - report.multiply_s;
        w.times.paths += static_cast<std::int64_t>(stack.size());
        w.times.rows += report.rank;
        w.times.samples += report.samples;
        ++w.times.updates;
    });
    const base::timer commit_clock;
    hessian.commit();
    gradient.commit();
    auto result = sum_over_team(ranks, team);
    result.left = stacks.before(stacks.size()) - ranks.communicator().sum(result.times.paths);
    result.times.commit_s = commit_clock.seconds();
    result.times.poll_s = poll_s;
    result.times.wall_s = wall.seconds();
    return result;
}

template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                  const data_weights&, std::span<const double>, array::convergent_matrix<float>&,
                                  array::convergent_vector<double>&, const team_options&, io::checkpoint*, const corrections*,
                                  std::span<const double>);
template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                  const data_weights&, std::span<const double>, array::convergent_matrix<double>&,
                                  array::convergent_vector<double>&, const team_options&, io::checkpoint*, const corrections*,
                                  std::span<const double>);
template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                  const data_weights&, std::span<const double>, array::symmetric_matrix<float>&,
                                  array::convergent_vector<double>&, const team_options&, io::checkpoint*, const corrections*,
                                  std::span<const double>);
template assembly_result assemble(runtime::world&, const forward_problem&, const path_set&, std::span<const double>,
                                  const data_weights&, std::span<const double>, array::symmetric_matrix<double>&,
                                  array::convergent_vector<double>&, const team_options&, io::checkpoint*, const corrections*,
                                  std::span<const double>);

assembly_result evaluate_misfit(runtime::world& ranks, const forward_problem& forward, const path_set& paths,
                                std::span<const double> observed, const data_weights& weights, std::span<const double> model,
                                const team_options& options) {
    check(forward, paths, observed, weights, model, options);
    const linalg::blas_threads_scope one_thread_per_call(1); // the team itself is the parallelism
    const base::timer wall;
    std::vector<worker<float>> team(static_cast<std::size_t>(options.threads));
    team_options to_the_end = options;
    to_the_end.pause_after_s = 0;
    path_team hand_out(ranks, paths.size(), to_the_end);
    const double poll_s = hand_out.run([&](int thread, std::int64_t index) {
        auto& w = team[static_cast<std::size_t>(thread)];
        const base::timer clock;
        w.g.resize(static_cast<std::size_t>(paths[index].samples()));
        forward.seismogram(paths[index], model, w.g);
        weigh_residual(index, observed.subspan(static_cast<std::size_t>(paths.offset(index)), w.g.size()), w.g,
                       weights_of(index, weights), w);
        w.times.panel_s += clock.seconds();
        ++w.times.paths;
    });
    auto result = sum_over_team(ranks, team);
    result.times.poll_s = poll_s;
    result.times.wall_s = wall.seconds();
    return result;
}

} // namespace craton::tomography
