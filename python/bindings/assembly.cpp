#include "bindings.hpp"
#include "gil.hpp"
#include "python_checkpoint.hpp"
#include "unwrapped.hpp"

#include <craton/apps/tomography/assembly.hpp>
#include <craton/apps/tomography/kernels/window_misfit.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace craton::bindings {

namespace {

tomography::team_options options_from(int threads, int subset, const nb::object& progress, double pause_after_s = 0,
                                      double compress = 0) {
    tomography::team_options options{threads, subset, {}, pause_after_s, compress};
    if (!progress.is_none()) {
        options.progress = [progress](std::int64_t done, std::int64_t total) {
            const nb::gil_scoped_acquire acquire;
            progress(done, total);
        };
    }
    return options;
}

std::span<const double> span_or_none(const std::optional<input_1d<double>>& values) {
    return values ? as_span(*values) : std::span<const double>{};
}

using optional_values = std::optional<input_1d<double>>;

tomography::misfit_kind kind_of(const std::string& name) {
    if (name == "waveform") return tomography::misfit_kind::waveform;
    if (name == "arrival_time") return tomography::misfit_kind::arrival_time;
    if (name == "envelope") return tomography::misfit_kind::envelope;
    throw user_error(fmt::format("misfit is \"{}\"; allowed: \"waveform\", \"arrival_time\" or \"envelope\"", name));
}

tomography::data_weights weights_of(const input_1d<double>& sigma, const optional_values& correlation,
                                    const optional_values& low_pass, const std::string& misfit, std::int64_t furthest) {
    return {as_span(sigma), span_or_none(correlation), span_or_none(low_pass), kind_of(misfit), furthest};
}

std::map<std::string, double> as_dictionary(const tomography::assembly_result& r) {
    return {{"chi_data", r.misfit.chi_data},
            {"data_norm", r.misfit.data_norm},
            {"samples", static_cast<double>(r.misfit.samples)},
            {"panel_s", r.times.panel_s},
            {"product_s", r.times.product_s},
            {"update_s", r.times.update_s},
            {"poll_s", r.times.poll_s},
            {"commit_s", r.times.commit_s},
            {"wall_s", r.times.wall_s},
            {"left", static_cast<double>(r.left)},
            {"paths", static_cast<double>(r.times.paths)},
            {"updates", static_cast<double>(r.times.updates)},
            {"rows", static_cast<double>(r.times.rows)},
            {"row_samples", static_cast<double>(r.times.samples)}};
}

using progress_call = annotated<"collections.abc.Callable[[int, int], object]">;

// What all of it sums up, in one precision of the Hessian.
struct assembly_inputs {
    runtime::world& ranks;
    const tomography::forward_problem& forward;
    const tomography::path_set& paths;
    const input_1d<double>&observed, &model;
    const tomography::data_weights& weights;
    array::convergent_vector<double>& gradient;
    const tomography::team_options& options;
    io::checkpoint* checkpoint;
    const tomography::corrections* unknown;
    std::span<const double> predicted;
};

// False where `hessian` is of another kind.
template <class Matrix> bool assembled(const assembly_inputs& in, const nb::object& hessian, tomography::assembly_result& result) {
    unwrapped<Matrix> matrix;
    if (!nb::try_cast(hessian, matrix, false)) return false;
    const nb::gil_scoped_release release;
    result = tomography::assemble(in.ranks, in.forward, in.paths, as_span(in.observed), in.weights, as_span(in.model), matrix.get(),
                                  in.gradient, in.options, in.checkpoint, in.unknown, in.predicted);
    return true;
}

std::map<std::string, double>
assemble(runtime::world& ranks, const tomography::forward_problem& forward, const tomography::path_set& paths,
         const input_1d<double>& observed, const input_1d<double>& sigma, const input_1d<double>& model,
         const annotated<"_SymmetricMatrix_f32 | _SymmetricMatrix_f64 | "
                         "_ConvergentMatrix_f32 | _ConvergentMatrix_f64 | _HasCore">& hessian,
         const unwrapped<array::convergent_vector<double>>& gradient, int threads, int subset, const progress_call& progress,
         const optional_values& correlation, const python_checkpoint* checkpoint, double pause_after_s, double compress,
         const optional_values& low_pass, std::pair<double, double> quanta, const tomography::corrections* unknown,
         const optional_values& predicted, const std::string& misfit, std::int64_t furthest) {
    auto options = options_from(threads, subset, progress, pause_after_s, compress);
    std::tie(options.hessian_quantum, options.gradient_quantum) = quanta;
    const auto saved = checkpoint == nullptr ? nullptr : checkpoint->get();
    const auto weights = weights_of(sigma, correlation, low_pass, misfit, furthest);
    const assembly_inputs in{
        ranks, forward, paths, observed, model, weights, gradient.get(), options, saved.get(), unknown, span_or_none(predicted)};
    tomography::assembly_result result;
    if (assembled<array::symmetric_matrix<float>>(in, hessian, result) ||
        assembled<array::symmetric_matrix<double>>(in, hessian, result) ||
        assembled<array::convergent_matrix<float>>(in, hessian, result) ||
        assembled<array::convergent_matrix<double>>(in, hessian, result))
        return as_dictionary(result);
    throw nb::next_overload(); // there is none: a TypeError
}

std::vector<double> residuals_of_windows(const input_1d<double>& observed, const input_1d<double>& predicted,
                                         const input_1d<std::int64_t>& offsets, const std::string& misfit, std::int64_t furthest) {
    const auto kind = kind_of(misfit);
    if (kind == tomography::misfit_kind::arrival_time && furthest < 1) {
        throw user_error(fmt::format(
            "window_residuals: arrival times are sought among shifts of up to {} samples; allowed: 1 or more", furthest));
    }
    const nb::gil_scoped_release release;
    const auto d = as_span(observed);
    const auto g = as_span(predicted);
    const auto begin = as_span(offsets);
    std::vector<double> all;
    for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
        if (begin[i] < 0 || begin[i + 1] < begin[i] || static_cast<std::size_t>(begin[i + 1]) > std::min(d.size(), g.size())) {
            throw user_error(fmt::format("window_residuals: window {} is samples {} to {} of {} observed and {} predicted ones; "
                                         "allowed: ascending offsets within both",
                                         i, begin[i], begin[i + 1], d.size(), g.size()));
        }
        const auto first = static_cast<std::size_t>(begin[i]);
        const auto samples = static_cast<std::size_t>(begin[i + 1]) - first;
        if (samples == 0) continue;
        const std::size_t before = all.size();
        all.resize(before +
                   static_cast<std::size_t>(tomography::window_misfit::residuals(kind, static_cast<std::int64_t>(samples))));
        const tomography::window_misfit compared(kind, g.subspan(first, samples));
        compared.residual(d.subspan(first, samples), furthest, std::span(all).subspan(before));
    }
    return all;
}

} // namespace

void bind_assembly(nb::module_& m) {
    m.def(
        "window_residuals",
        [](const input_1d<double>& observed, const input_1d<double>& predicted, const input_1d<std::int64_t>& offsets,
           const std::string& misfit,
           std::int64_t furthest) { return to_numpy(residuals_of_windows(observed, predicted, offsets, misfit, furthest)); },
        nb::arg("observed"), nb::arg("predicted"), nb::arg("offsets"), nb::arg("misfit"), nb::arg("furthest") = 0,
        R"(Residuals e of all windows, of the misfit |e|^2 / 2: not collective, thread-safe.

observed, predicted: weighted samples, whose noise is 1, concatenated; offsets: where each window begins, and the end.
misfit: "waveform": the differences; "arrival_time": one per window, -t |g'|, where the window's data are later by t, the
shift of at most `furthest` samples with the largest cross-correlation, and g' is its prediction's derivative (Luo &
Schuster 1991); "envelope": differences of sqrt(x^2 + (H x)^2 + 1), H the Hilbert transform (Bozdag et al. 2011).)");
    m.def("assemble", &assemble, nb::arg("world"), nb::arg("forward"), nb::arg("paths"), nb::arg("observed"), nb::arg("sigma"),
          nb::arg("model"), nb::arg("hessian"), nb::arg("gradient"), nb::arg("threads") = 1, nb::arg("subset") = 16,
          nb::arg("progress") = nb::none(), nb::arg("correlation") = nb::none(), nb::arg("checkpoint").none() = nb::none(),
          nb::arg("pause_after_s") = 0.0, nb::arg("compress") = 0.0, nb::arg("low_pass") = nb::none(),
          nb::arg("quanta") = std::pair(0.0, 0.0), nb::arg("corrections").none() = nb::none(), nb::arg("predicted") = nb::none(),
          nb::arg("misfit") = "waveform", nb::arg("furthest") = 0,
          R"(Adds G^T C_d^-1 G to hessian and G^T C_d^-1 (d - g(m)) to gradient, then commits both.

Collective, blocking. hessian: a SymmetricMatrix or ConvergentMatrix of float32 or float64; gradient: a
ConvergentVector of float64. observed: d, all samples in m, concatenated in path order, the same on every rank. sigma:
standard deviation of the noise of each path, m. correlation: of neighbouring samples' noise, of each path, in [0, 1):
C_d[t, u] = sigma^2 correlation^|t - u| within a path; None: 0 for all. low_pass: taps of a symmetric filter F, from
the middle one on, by which weighted residuals and panels are filtered: the misfit is |F C_d^-1/2 (d - g)|^2 / 2;
None: F = 1. threads: of this rank; subset: paths that one takes at a time. progress(done, total) is called on rank 0
a few times per second. All windows of one event, station and arc are one update of the Hessian.

checkpoint: one of hessian and gradient, resumed, whose subsets are the paths' numbers; paths counted in it are left out.
pause_after_s: after so many seconds no more paths are handed out, and it returns when those that were are done: the
moment for checkpoint.save(); 0: no pause. compress: in [0, 1); where it pays, what each panel G of a coupled theory has
below `compress` times its Frobenius norm may be left out of G^T G, whose trace falls by compress^2 at most; 0: nothing.
quanta: powers of two that elements of a float64 hessian and of the gradient are rounded to multiples of before they are
added. Sums below 2^52 of these are the same in any order, on any ranks and threads; compress must be 0. (0, 0): none.
corrections: unknowns of events and stations, of the same paths, which follow the model's: hessian and gradient have
basis.size + len(corrections) rows, model has basis.size elements, and paths have the corrections found so far.
predicted: g(m) of another theory than the panels', in m, as long as observed; None: the panels'. misfit: "waveform", or of
each window "arrival_time" or "envelope" (window_residuals); furthest: of arrival times, the longest shift tried, samples.

Returns sums over all ranks of the paths done in this call: chi_data (half the weighted squared residual), data_norm
(half the weighted squared data), samples. Of this rank: seconds panel_s (g and G), product_s (G^T G, G^T r), update_s,
commit_s, poll_s, wall_s; paths, updates, and rows of the panels that it multiplied, of row_samples. left: paths that a
pause has left to do, the same on every rank. UserError names the path of a value that is not a number.)");
}

} // namespace craton::bindings
