#include "bindings.hpp"
#include "python_checkpoint.hpp"
#include "unwrapped.hpp"

#include <craton/apps/tomography/assembly.hpp>

#include <map>
#include <optional>
#include <span>
#include <string>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
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

std::span<const double> correlation_in(const std::optional<input_1d<double>>& correlation) {
    return correlation ? as_span(*correlation) : std::span<const double>{};
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

template <class T> void bind_assemble(nb::module_& m) {
    m.def(
        "assemble",
        [](runtime::world& ranks, const tomography::forward_problem& forward, const tomography::path_set& paths,
           const input_1d<double>& observed, const input_1d<double>& sigma, const input_1d<double>& model,
           const unwrapped<array::convergent_matrix<T>>& hessian, const unwrapped<array::convergent_vector<double>>& gradient,
           int threads, int subset, const nb::object& progress, const std::optional<input_1d<double>>& correlation,
           const python_checkpoint* checkpoint, double pause_after_s, double compress) {
            const auto options = options_from(threads, subset, progress, pause_after_s, compress);
            const auto saved = checkpoint == nullptr ? nullptr : checkpoint->get();
            tomography::assembly_result result;
            {
                const nb::gil_scoped_release release;
                result = tomography::assemble(ranks, forward, paths, as_span(observed), as_span(sigma), as_span(model),
                                              hessian.get(), gradient.get(), options, correlation_in(correlation), saved.get());
            }
            return as_dictionary(result);
        },
        nb::arg("world"), nb::arg("forward"), nb::arg("paths"), nb::arg("observed"), nb::arg("sigma"), nb::arg("model"),
        nb::arg("hessian"), nb::arg("gradient"), nb::arg("threads") = 1, nb::arg("subset") = 16, nb::arg("progress") = nb::none(),
        nb::arg("correlation") = nb::none(), nb::arg("checkpoint").none() = nb::none(), nb::arg("pause_after_s") = 0.0,
        nb::arg("compress") = 0.0,
        "Collective: adds G^T C_d^-1 G to hessian and G^T C_d^-1 (d - g(m)) to gradient, then commits both.");
}

} // namespace

void bind_assembly(nb::module_& m) {
    bind_assemble<float>(m);
    bind_assemble<double>(m);
    m.def(
        "evaluate_misfit",
        [](runtime::world& ranks, const tomography::forward_problem& forward, const tomography::path_set& paths,
           const input_1d<double>& observed, const input_1d<double>& sigma, const input_1d<double>& model, int threads, int subset,
           const nb::object& progress, const std::optional<input_1d<double>>& correlation) {
            const auto options = options_from(threads, subset, progress);
            tomography::assembly_result result;
            {
                const nb::gil_scoped_release release;
                result = tomography::evaluate_misfit(ranks, forward, paths, as_span(observed), as_span(sigma), as_span(model),
                                                     options, correlation_in(correlation));
            }
            return as_dictionary(result);
        },
        nb::arg("world"), nb::arg("forward"), nb::arg("paths"), nb::arg("observed"), nb::arg("sigma"), nb::arg("model"),
        nb::arg("threads") = 1, nb::arg("subset") = 16, nb::arg("progress") = nb::none(), nb::arg("correlation") = nb::none(),
        "Collective: chi_data, data_norm and samples at a model, without the Jacobian.");
}

} // namespace craton::bindings
