#include <craton/apps/tomography/forward_problem.hpp>

#include "mode_family.hpp"

#include <craton/apps/tomography/kernels/mode_sum.hpp>
#include <craton/apps/tomography/kernels/source_filter.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/linalg/blas.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

namespace craton::tomography {

/// Per thread, grown to the largest path seen: no allocation in steady state.
struct forward_problem::scratch {
    mode_family::excitation excited, excited_beside;
    std::vector<double> omega, omega_beside;
    std::vector<double> more, more_sensitivity; // of the other type of modes
    std::vector<double> profile;                // path average of the model, per parameter and radial spline
    std::vector<double> sensitivity;            // samples x columns
    std::vector<double> tile;

    // Of coupled modes.
    std::vector<std::complex<double>> path_waves;  // H_a(m), knots x (widest + 1)
    std::vector<std::complex<double>> model_waves; // (widest + 1) x columns
    std::vector<std::complex<double>> some_waves;  // the same of parameters of the same splines
    std::vector<double> at_knots;                  // the model there, knots x columns
    std::vector<std::complex<double>> sheared;     // modes x columns
    mode_coupling::amplitudes coupled;
    std::vector<double> amplitude, imaginary; // of carriers
    std::vector<double> cosine, sine, times;
    std::vector<float> by_knot; // a panel in the order of knots, parameters and radial splines

    [[nodiscard]] oscillations modes(const path& path, const mode_family& family) const {
        return {omega, family.decay_per_s(), excited.amplitude, path.request().t_first_s, path.request().sample_interval_s};
    }
    [[nodiscard]] oscillations modes_beside(const path& path, const mode_family& family) const {
        const path_request& window = path.request();
        return {omega_beside, family.decay_per_s(), excited_beside.amplitude, window.t_first_s, window.sample_interval_s};
    }
};

namespace {

/// Radial splines of all parameters.
std::size_t columns_of(const model_basis& basis) { return static_cast<std::size_t>(basis.columns()); }

/// Where the model has the coefficients of one knot and parameter.
std::size_t profile_at(const model_basis& basis, std::int64_t parameter, std::int32_t knot) {
    const basis_shape::part& of = basis.shape().of[static_cast<std::size_t>(parameter)];
    return static_cast<std::size_t>(of.first + knot * of.n_radial);
}

/// profile[p, i] = sum_a h_a m[p, a, i], of all columns.
void average_along(const path& path, const model_basis& basis, std::span<const double> model, std::vector<double>& profile) {
    profile.assign(columns_of(basis), 0.0);
    for (std::int64_t p = 0; p < basis.parameters(); ++p) {
        const sparse_weights_view& h = path.lateral(p);
        const auto radial = static_cast<std::size_t>(basis.n_radial(p));
        double* const out = profile.data() + basis.first_column(p);
        for (std::size_t at = 0; at < h.knot.size(); ++at) {
            const double* const knot = model.data() + profile_at(basis, p, h.knot[at]);
            for (std::size_t i = 0; i < radial; ++i) out[i] += h.value[at] * knot[i];
        }
    }
}

/// Columns first .. first + count - 1 of a row major matrix.
std::vector<double> some_columns(std::span<const double> of, std::size_t columns, std::size_t first, std::size_t count) {
    std::vector<double> out(of.size() / columns * count);
    for (std::size_t row = 0; row * columns < of.size(); ++row) {
        std::copy_n(of.data() + row * columns + first, count, out.data() + row * count);
    }
    return out;
}

std::string in_words(const basis_shape& shape) {
    std::string out;
    for (std::int64_t p = 0; p < shape.parameters; ++p) {
        const basis_shape::part& of = shape.of[static_cast<std::size_t>(p)];
        out += fmt::format("{}{} lateral knots x {} radial splines of {}", p == 0 ? "" : " and ", of.n_lateral, of.n_radial,
                           p == 0 ? "dlnVs" : "dlnxi");
    }
    return out;
}

void check_scaling(const scaling& of) {
    if (of.vp_over_vs.size() != of.radius_m.size() || of.density_over_vs.size() != of.radius_m.size()) {
        throw user_error(fmt::format("scaling: {} radii with {} of Vp and {} of density; allowed: one of each per radius",
                                     of.radius_m.size(), of.vp_over_vs.size(), of.density_over_vs.size()));
    }
    for (std::size_t i = 0; i < of.radius_m.size(); ++i) {
        const bool finite =
            std::isfinite(of.radius_m[i]) && std::isfinite(of.vp_over_vs[i]) && std::isfinite(of.density_over_vs[i]);
        if (!finite || (i > 0 && !(of.radius_m[i] > of.radius_m[i - 1]))) {
            throw user_error(fmt::format("scaling: row {} has {} m, {} and {}; allowed: finite numbers, radii that increase", i,
                                         of.radius_m[i], of.vp_over_vs[i], of.density_over_vs[i]));
        }
    }
}

/// From [sample][knot][parameter][radial] to the order of path::parameters(), [sample][parameter][knot][radial].
void sort_by_parameter(std::span<const float> by_knot, std::size_t samples, std::size_t knots, std::size_t parameters,
                       std::size_t radial, std::span<float> out) {
    for (std::size_t t = 0; t < samples; ++t) {
        for (std::size_t p = 0; p < parameters; ++p) {
            for (std::size_t a = 0; a < knots; ++a) {
                std::copy_n(by_knot.data() + ((t * knots + a) * parameters + p) * radial, radial,
                            out.data() + ((t * parameters + p) * knots + a) * radial);
            }
        }
    }
}

} // namespace

bool scaling::weighs() const {
    return std::ranges::any_of(density_over_vs, [](double value) { return value != 0; });
}

double scaling::at(const std::vector<double>& values, double radius) const {
    if (values.empty()) return 0;
    const auto above = std::ranges::upper_bound(radius_m, radius);
    if (above == radius_m.begin()) return values.front();
    if (above == radius_m.end()) return values.back();
    const auto i = static_cast<std::size_t>(above - radius_m.begin());
    const double part = (radius - radius_m[i - 1]) / (radius_m[i] - radius_m[i - 1]);
    return values[i - 1] + part * (values[i] - values[i - 1]);
}

forward_problem::scratch& forward_problem::thread_scratch() {
    thread_local scratch work;
    return work;
}

forward_problem::forward_problem(std::shared_ptr<const mode_catalogue> modes, std::shared_ptr<const model_basis> basis,
                                 std::array<double, 4> filter_periods_s, theory kind,
                                 std::shared_ptr<const spheroidal_catalogue> spheroidal, bool complete, figure_effects figure,
                                 scaling scaled)
    : modes_(std::move(modes)), basis_(std::move(basis)), spheroidal_modes_(std::move(spheroidal)),
      filter_periods_s_(filter_periods_s), kind_(kind), complete_(complete), figure_(std::move(figure)),
      scaled_(std::move(scaled)) {
    check_scaling(scaled_);
    check_filter_periods(filter_periods_s, modes_->arrays().shortest_period_s);
    const earth_model& earth = modes_->earth();
    const auto knots = basis_->radial().knots_m();
    if (knots.front() >= earth.solid_surface_radius_m() || knots.back() <= earth.cmb_radius_m()) {
        throw user_error(
            fmt::format("model basis: radial knots from {} to {} m do not reach into mantle and crust; allowed: {} to {} m",
                        knots.front(), knots.back(), earth.cmb_radius_m(), earth.solid_surface_radius_m()));
    }
    toroidal_ = std::make_shared<const mode_family>(modes_, *basis_, filter_periods_s, kind, figure_.toroidal, scaled_);
    if (complete && spheroidal_modes_ == nullptr) {
        throw user_error("forward problem: complete motion without spheroidal modes; allowed: a catalogue of them");
    }
    if (spheroidal_modes_ == nullptr) return;
    if (spheroidal_modes_->earth().name() != earth.name()) {
        throw user_error(
            fmt::format("forward problem: spheroidal modes of '{}' with toroidal modes of '{}'; allowed: one Earth for both",
                        spheroidal_modes_->earth().name(), earth.name()));
    }
    check_filter_periods(filter_periods_s, spheroidal_modes_->arrays().shortest_period_s);
    spheroidal_ =
        std::make_shared<const mode_family>(spheroidal_modes_, *basis_, filter_periods_s, kind, figure_.spheroidal, scaled_);
    if (spheroidal_->crusts() != toroidal_->crusts()) {
        throw user_error(fmt::format("crust: {} of toroidal and {} of spheroidal modes; allowed: as many of both",
                                     toroidal_->crusts(), spheroidal_->crusts()));
    }
}

forward_problem::forward_problem(const forward_problem& like, theory kind, std::shared_ptr<const model_basis> basis)
    : forward_problem(like.modes_, std::move(basis), like.filter_periods_s_, kind, like.spheroidal_modes_, like.complete_,
                      like.figure_, like.scaled_) {}

std::int64_t forward_problem::active_modes() const { return static_cast<std::int64_t>(toroidal_->size()); }
std::span<const double> forward_problem::frequency_kernels() const { return toroidal_->kernels(); }
std::span<const double> forward_problem::active_omega_rad_s() const { return toroidal_->omega_rad_s(); }

std::span<const double> forward_problem::frequency_kernels(component measured) const {
    return (measured == component::transverse || spheroidal_ == nullptr ? *toroidal_ : *spheroidal_).kernels();
}

std::span<const double> forward_problem::active_omega_rad_s(component measured) const {
    return (measured == component::transverse || spheroidal_ == nullptr ? *toroidal_ : *spheroidal_).omega_rad_s();
}

const mode_family& forward_problem::family_of(const path& path) const {
    CRATON_ASSERT(measures(path.request().measured));
    return path.request().measured == component::transverse ? *toroidal_ : *spheroidal_;
}

const mode_family* forward_problem::family_beside(const path& path) const {
    if (!complete_ || path.request().measured == component::vertical) return nullptr;
    return path.request().measured == component::transverse ? spheroidal_.get() : toroidal_.get();
}

void forward_problem::check(const path& path, std::span<const double> model) const {
    if (static_cast<std::int64_t>(model.size()) != basis_->size()) {
        throw user_error(
            fmt::format("model: {} parameters; allowed: {} ({})", model.size(), basis_->size(), in_words(basis_->shape())));
    }
    if (path.shape() != basis_->shape()) {
        throw user_error(fmt::format("path: made for a basis of {}; allowed: this problem's, {}", in_words(path.shape()),
                                     in_words(basis_->shape())));
    }
    if (!measures(path.request().measured)) {
        throw user_error(
            "path: vertical and radial motion need spheroidal modes, which this problem was made without; allowed: transverse");
    }
    if (path.crust().size() != family_of(path).crusts()) {
        throw user_error(
            fmt::format("path: weights of {} crusts; allowed: {}, this problem's", path.crust().size(), family_of(path).crusts()));
    }
}

void forward_problem::prepare(const path& path, std::span<const double> model, scratch& work) const {
    const mode_family& family = family_of(path);
    family.excite(path, work.excited);
    average_along(path, *basis_, model, work.profile);
    shift(path, family, work.excited.relative, work, work.omega);
}

void forward_problem::shift(const path& path, const mode_family& family, std::span<const double> relative, const scratch& work,
                            std::vector<double>& omega) const {
    const std::size_t columns = columns_of(*basis_);
    omega.resize(family.size());
    for (std::size_t k = 0; k < family.size(); ++k) {
        double shift = 0;
        for (std::size_t i = 0; i < columns; ++i) shift += family.kernels()[k * columns + i] * work.profile[i];
        const double by_rays = relative.empty() ? 0 : relative[k] * family.omega_rad_s()[k];
        const double of_figure = family.figure_shift(k, path) + by_rays;
        omega[k] = family.omega_rad_s()[k] + of_figure + (shifts_frequencies(kind_) ? shift : 0);
    }
}

void forward_problem::prepare_beside(const path& path, const mode_family& family, scratch& work) const {
    family.excite(path, work.excited_beside);
    shift(path, family, work.excited_beside.relative, work, work.omega_beside);
}

void forward_problem::add_beside(const path& path, scratch& work, std::span<double> g) const {
    const mode_family* const family = family_beside(path);
    if (family == nullptr) return;
    prepare_beside(path, *family, work);
    work.more.resize(g.size());
    mode_sum(work.modes_beside(path, *family), work.more);
    for (std::size_t j = 0; j < g.size(); ++j) g[j] += work.more[j];
}

lateral_splines::path_stretch forward_problem::stretch_of(const path& path) const {
    return {path.arc(), path.begin_rad(), path.end_rad(), family_of(path).bend()};
}

void forward_problem::transform_path(const path& path, std::int64_t parameter, scratch& work) const {
    const std::int64_t widest = family_of(path).coupling()->widest();
    const std::span<const std::int32_t> knots = path.lateral(parameter).knot;
    work.path_waves.resize(knots.size() * terms() * static_cast<std::size_t>(widest + 1));
    basis_->lateral(parameter).path_transform(stretch_of(path), knots, widest, terms(), work.path_waves);
}

void forward_problem::transform_model(const path& path, std::span<const double> model, scratch& work) const {
    const std::size_t columns = columns_of(*basis_);
    const std::int64_t widest = family_of(path).coupling()->widest();
    // All terms, one after the other.
    const std::size_t widths = terms() * static_cast<std::size_t>(widest + 1);
    work.model_waves.assign(widths * columns, 0.0);
    // Parameters of the same splines are transformed together.
    const std::int64_t together = basis_->same_splines() ? basis_->parameters() : 1;
    for (std::int64_t first = 0; first < basis_->parameters(); first += together) {
        const std::span<const std::int32_t> knots = path.lateral(first).knot;
        work.at_knots.clear();
        for (const std::int32_t knot : knots) {
            for (std::int64_t p = first; p < first + together; ++p) {
                const auto profile = model.subspan(profile_at(*basis_, p, knot), static_cast<std::size_t>(basis_->n_radial(p)));
                work.at_knots.insert(work.at_knots.end(), profile.begin(), profile.end());
            }
        }
        const std::size_t some = knots.empty() ? 0 : work.at_knots.size() / knots.size();
        work.some_waves.assign(widths * some, 0.0);
        basis_->lateral(first).model_transform(stretch_of(path), knots, widest, terms(), work.at_knots, some, work.some_waves);
        const auto column = static_cast<std::size_t>(basis_->first_column(first));
        for (std::size_t m = 0; m < widths; ++m) {
            std::copy_n(work.some_waves.data() + m * some, some, work.model_waves.data() + m * columns + column);
        }
    }
}

mode_coupling::excitation forward_problem::excitation_of(const path& path, const scratch& work) const {
    const mode_family& family = family_of(path);
    const double t_last = path.request().t_first_s + static_cast<double>(path.samples() - 1) * path.request().sample_interval_s;
    mode_coupling::excitation out{
        {work.omega, family.decay_per_s(), work.excited.q, family.omega_rad_s(), work.excited.q_slope},
        work.excited.source,
        work.excited.receiver,
        std::max({std::abs(path.request().t_first_s), std::abs(t_last), path.request().sample_interval_s})};
    if (terms() == 1) return out;
    out.turning = work.excited.turning;
    // Waves spread across the path as sqrt(g / lambda), g at most half a tangent in the middle of an arc.
    const double middle = 0.5 * path.distance_rad();
    const double on_minor = 0.5 * std::tan(middle);
    const double on_major = 0.5 / std::tan(middle);
    const orbit along = path.request().along;
    const double widest_spread = along == orbit::minor ? on_minor : along == orbit::major ? on_major : std::max(on_minor, on_major);
    const double spacing = basis_->spacing_rad();
    out.fading_degree = widest_spread / (2 * spacing * spacing);
    // What changes within two spacings along the path is a spline's own shape, not structure that it stands for.
    out.widest_across = std::min(family.coupling()->widest(), static_cast<std::int64_t>(std::numbers::pi / spacing));
    return out;
}

void forward_problem::sum_carriers(const path& path, std::span<const double> uncoupled, scratch& work, std::span<double> g) const {
    const std::size_t modes = work.omega.size();
    work.amplitude.assign(uncoupled.begin(), uncoupled.end());
    work.amplitude.resize(modes);
    work.imaginary.resize(modes);
    for (std::size_t k = 0; k < modes; ++k) {
        work.amplitude[k] += work.coupled.direct[k].real();
        work.imaginary[k] = work.coupled.direct[k].imag();
    }
    const path_request& window = path.request();
    carrier_sum({work.omega, family_of(path).decay_per_s(), work.amplitude, window.t_first_s, window.sample_interval_s},
                work.imaginary, work.coupled.turned, g);
}

void forward_problem::sensitivity(const path& path, std::span<const double> model, std::span<double> g, scratch& work) const {
    CRATON_ASSERT(static_cast<std::int64_t>(g.size()) == path.samples());
    check(path, model);
    prepare(path, model, work);
    const mode_family& family = family_of(path);
    const std::size_t columns = columns_of(*basis_);
    work.sensitivity.assign(static_cast<std::size_t>(path.samples()) * columns, 0.0);
    const mode_family* const beside = family_beside(path);
    work.tile.resize(columns * static_cast<std::size_t>(mode_sum_tile));
    const auto add_sensitivity_beside = [&] {
        if (beside == nullptr) return;
        prepare_beside(path, *beside, work);
        work.more.resize(g.size());
        work.more_sensitivity.resize(work.sensitivity.size());
        mode_sum_sensitivity(work.modes_beside(path, *beside), beside->kernels(), static_cast<std::int64_t>(columns), work.more,
                             work.more_sensitivity, work.tile);
        for (std::size_t j = 0; j < g.size(); ++j) g[j] += work.more[j];
        if (!shifts_frequencies(kind_)) return;
        for (std::size_t i = 0; i < work.sensitivity.size(); ++i) work.sensitivity[i] += work.more_sensitivity[i];
    };
    if (kind_ == theory::path_average) {
        mode_sum_sensitivity(work.modes(path, family), family.kernels(), static_cast<std::int64_t>(columns), g, work.sensitivity,
                             work.tile);
        add_sensitivity_beside();
        return;
    }
    transform_model(path, model, work);
    const bool shifted = shifts_frequencies(kind_);
    family.coupling()->drive(excitation_of(path, work), work.model_waves, work.coupled,
                             shifted ? std::span<const double>(family.kernels()) : std::span<const double>(), work.sheared);
    sum_carriers(path, work.excited.amplitude, work, g);
    if (shifted) shear(path, work);
    add_sensitivity_beside();
}

/// T(t, i) = Re sum_k E_k(t) [(i t (A_k + P_k) - t^2 N_k) I_ki + V_ki], V what the shifts do to the coupling itself.
void forward_problem::shear(const path& path, scratch& work) const {
    const mode_family& family = family_of(path);
    const std::size_t modes = family.size();
    const std::size_t columns = columns_of(*basis_);
    const auto samples = static_cast<std::size_t>(path.samples());
    const path_request& window = path.request();
    work.cosine.resize(samples);
    work.sine.resize(samples);
    std::vector<double> waves(samples * 3 * modes);
    std::vector<double> amplitudes(3 * modes * columns);
    for (std::size_t k = 0; k < modes; ++k) {
        mode_wave(work.omega[k], family.decay_per_s()[k], window.t_first_s, window.sample_interval_s, work.cosine, work.sine);
        const std::complex<double> direct = work.coupled.direct[k] + work.excited.amplitude[k];
        for (std::size_t j = 0; j < samples; ++j) {
            const double t = window.t_first_s + static_cast<double>(j) * window.sample_interval_s;
            double* const row = waves.data() + j * 3 * modes + 3 * k;
            row[0] = -t * (direct.real() * work.sine[j] + (direct.imag() + t * work.coupled.turned[k]) * work.cosine[j]);
            row[1] = work.cosine[j];
            row[2] = -work.sine[j];
        }
        double* const amplitude = amplitudes.data() + 3 * k * columns;
        for (std::size_t i = 0; i < columns; ++i) {
            amplitude[i] = family.kernels()[k * columns + i];
            amplitude[columns + i] = work.sheared[k * columns + i].real();
            amplitude[2 * columns + i] = work.sheared[k * columns + i].imag();
        }
    }
    linalg::multiply_add(path.samples(), static_cast<std::int64_t>(columns), static_cast<std::int64_t>(3 * modes), waves.data(),
                         static_cast<std::int64_t>(3 * modes), amplitudes.data(), static_cast<std::int64_t>(columns),
                         work.sensitivity.data(), static_cast<std::int64_t>(columns));
}

void forward_problem::seismogram(const path& path, std::span<const double> model, std::span<double> g) const {
    CRATON_ASSERT(static_cast<std::int64_t>(g.size()) == path.samples());
    check(path, model);
    scratch& work = thread_scratch();
    prepare(path, model, work);
    const mode_family& family = family_of(path);
    if (kind_ == theory::path_average) {
        mode_sum(work.modes(path, family), g);
    } else {
        transform_model(path, model, work);
        family.coupling()->drive(excitation_of(path, work), work.model_waves, work.coupled, {}, work.sheared);
        sum_carriers(path, work.excited.amplitude, work, g);
    }
    add_beside(path, work, g);
}

forward_problem::carriers forward_problem::carriers_of(const path& path, std::span<const double> model) const {
    CRATON_ASSERT(separable());
    check(path, model);
    scratch& work = thread_scratch();
    prepare(path, model, work);
    carriers out{work.excited.amplitude, work.omega, family_of(path).decay_per_s()};
    if (const mode_family* const beside = family_beside(path); beside != nullptr) {
        prepare_beside(path, *beside, work);
        const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
            to.insert(to.end(), from.begin(), from.end());
        };
        add(out.amplitude, work.excited_beside.amplitude);
        add(out.omega, work.omega_beside);
        add(out.decay, beside->decay_per_s());
    }
    return out;
}

void forward_problem::factor(const path& path, std::span<const double> model, std::span<double> g, std::span<float> factor) const {
    CRATON_ASSERT(separable());
    scratch& work = thread_scratch();
    sensitivity(path, model, g, work);
    CRATON_ASSERT(factor.size() == work.sensitivity.size());
    std::ranges::transform(work.sensitivity, factor.begin(), [](double value) { return static_cast<float>(value); });
}

void forward_problem::panel(const path& path, std::span<const double> model, std::span<double> g, std::span<float> panel) const {
    CRATON_ASSERT(static_cast<std::int64_t>(panel.size()) == path.samples() * path.touched());
    scratch& work = thread_scratch();
    sensitivity(path, model, g, work);
    work.times.resize(g.size());
    for (std::size_t j = 0; j < g.size(); ++j) {
        work.times[j] = path.request().t_first_s + static_cast<double>(j) * path.request().sample_interval_s;
    }
    if (basis_->parameters() == 1) {
        if (kind_ != theory::path_average) transform_path(path, 0, work);
        panel_of(path, 0, {0, basis_->columns()}, work, panel);
    } else if (basis_->same_splines()) {
        if (kind_ != theory::path_average) transform_path(path, 0, work);
        work.by_knot.resize(panel.size());
        panel_of(path, 0, {0, basis_->columns()}, work, work.by_knot);
        sort_by_parameter(work.by_knot, g.size(), path.lateral().knot.size(), static_cast<std::size_t>(basis_->parameters()),
                          static_cast<std::size_t>(basis_->n_radial()), panel);
    } else {
        const auto touched = static_cast<std::size_t>(path.touched());
        std::size_t first = 0;
        for (std::int64_t p = 0; p < basis_->parameters(); ++p) {
            const auto of_parameter = static_cast<std::size_t>(path.touched(p));
            work.by_knot.resize(g.size() * of_parameter);
            if (kind_ != theory::path_average) transform_path(path, p, work);
            panel_of(path, p, {basis_->first_column(p), basis_->n_radial(p)}, work, work.by_knot);
            for (std::size_t t = 0; t < g.size(); ++t) {
                std::copy_n(work.by_knot.data() + t * of_parameter, of_parameter, panel.data() + t * touched + first);
            }
            first += of_parameter;
        }
    }
}

/// Some columns at each knot of a parameter: samples x knots x columns. The path's transforms and times are in `work`.
void forward_problem::panel_of(const path& path, std::int64_t parameter, mode_coupling::column_range range, scratch& work,
                               std::span<float> out) const {
    const sparse_weights_view& h = path.lateral(parameter);
    if (range.count == basis_->columns()) {
        expand_panel(work.sensitivity, range.count, h.value, out);
    } else {
        const auto [first, count] = std::pair(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count));
        expand_panel(some_columns(work.sensitivity, columns_of(*basis_), first, count), range.count, h.value, out);
    }
    if (kind_ == theory::path_average) return;
    family_of(path).coupling()->add_panel(excitation_of(path, work), work.path_waves, static_cast<std::int64_t>(h.knot.size()),
                                          range, work.times, out);
}

void forward_problem::apply(const path& path, std::span<const double> model, std::span<const double> dm,
                            std::span<double> out) const {
    check(path, dm);
    scratch& work = thread_scratch();
    std::vector<double> g(out.size());
    sensitivity(path, model, g, work);
    const std::size_t columns = columns_of(*basis_);
    std::vector<double> average;
    average_along(path, *basis_, dm, average);
    for (std::size_t j = 0; j < out.size(); ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < columns; ++i) sum += work.sensitivity[j * columns + i] * average[i];
        out[j] = sum;
    }
    if (kind_ == theory::path_average) return;
    // What couples is linear in the model.
    transform_model(path, dm, work);
    family_of(path).coupling()->drive(excitation_of(path, work), work.model_waves, work.coupled, {}, work.sheared);
    sum_carriers(path, {}, work, g);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += g[j];
}

void forward_problem::apply_transpose(const path& path, std::span<const double> model, std::span<const double> residual,
                                      std::span<double> out) const {
    CRATON_ASSERT(static_cast<std::int64_t>(residual.size()) == path.samples());
    CRATON_ASSERT(static_cast<std::int64_t>(out.size()) == basis_->size());
    scratch& work = thread_scratch();
    std::vector<double> g(residual.size());
    if (kind_ != theory::path_average) {
        const auto touched = static_cast<std::size_t>(path.touched());
        std::vector<float> rows(residual.size() * touched);
        panel(path, model, g, rows);
        const auto parameters = path.parameters();
        for (std::size_t j = 0; j < residual.size(); ++j) {
            for (std::size_t i = 0; i < touched; ++i) {
                out[static_cast<std::size_t>(parameters[i])] += residual[j] * static_cast<double>(rows[j * touched + i]);
            }
        }
        return;
    }
    sensitivity(path, model, g, work);
    const std::size_t columns = columns_of(*basis_);
    std::vector<double> profile(columns, 0.0);
    for (std::size_t j = 0; j < residual.size(); ++j) {
        for (std::size_t i = 0; i < columns; ++i) profile[i] += work.sensitivity[j * columns + i] * residual[j];
    }
    for (std::int64_t p = 0; p < basis_->parameters(); ++p) {
        const sparse_weights_view& h = path.lateral(p);
        const auto radial = static_cast<std::size_t>(basis_->n_radial(p));
        const double* const of_parameter = profile.data() + basis_->first_column(p);
        for (std::size_t at = 0; at < h.knot.size(); ++at) {
            double* const knot = out.data() + profile_at(*basis_, p, h.knot[at]);
            for (std::size_t i = 0; i < radial; ++i) knot[i] += h.value[at] * of_parameter[i];
        }
    }
}

void forward_problem::plane_kernel(const path& path, std::span<const double> angles_rad, std::span<const double> radii_m,
                                   std::span<float> kernel) const {
    const auto samples = static_cast<std::size_t>(path.samples());
    CRATON_ASSERT(kernel.size() == samples * angles_rad.size() * radii_m.size());
    const earth_model& earth = modes_->earth();
    for (const double r : radii_m) {
        if (!(r >= earth.cmb_radius_m() && r <= earth.solid_surface_radius_m())) {
            throw user_error(fmt::format("kernel: radius {} m is outside mantle and crust; allowed: {} to {} m", r,
                                         earth.cmb_radius_m(), earth.solid_surface_radius_m()));
        }
    }
    scratch& work = thread_scratch();
    const std::vector<double> reference(static_cast<std::size_t>(basis_->size()), 0.0);
    check(path, reference);
    prepare(path, reference, work);
    const mode_family& family = family_of(path);
    // Along the circle no spline cuts couplings off: structure may be as narrow as the shortest wave.
    const mode_family::at_radii seen = family.seen_at(radii_m, 1, kind_, std::numeric_limits<std::int64_t>::max());
    const std::size_t columns = radii_m.size();
    std::vector<double> g(samples), shifts(samples * columns), tile(columns * static_cast<std::size_t>(mode_sum_tile));
    std::fill(kernel.begin(), kernel.end(), 0.0F);
    if (shifts_frequencies(kind_)) {
        mode_sum_sensitivity(work.modes(path, family), seen.shifts, static_cast<std::int64_t>(columns), g, shifts, tile);
        const double length = path.request().along == orbit::major ? path.end_rad() - path.begin_rad() : path.distance_rad();
        std::vector<double> along(angles_rad.size());
        for (std::size_t a = 0; a < along.size(); ++a) {
            const bool inside = angles_rad[a] >= path.begin_rad() && angles_rad[a] <= path.begin_rad() + length;
            along[a] = inside ? 1 / length : 0;
        }
        expand_panel(shifts, static_cast<std::int64_t>(columns), along, kernel);
    }
    if (seen.coupling == nullptr) return;
    const std::size_t widths = static_cast<std::size_t>(seen.coupling->widest()) + 1;
    std::vector<std::complex<double>> waves(angles_rad.size() * widths);
    for (std::size_t a = 0; a < angles_rad.size(); ++a) {
        const bool inside = angles_rad[a] >= path.begin_rad() && angles_rad[a] <= path.end_rad();
        for (std::size_t m = 0; m < widths && inside; ++m) {
            waves[a * widths + m] = std::polar(1 / (2 * std::numbers::pi), static_cast<double>(m) * angles_rad[a]);
        }
    }
    std::vector<double> times(samples);
    for (std::size_t j = 0; j < samples; ++j) {
        times[j] = path.request().t_first_s + static_cast<double>(j) * path.request().sample_interval_s;
    }
    mode_coupling::excitation excited = excitation_of(path, work);
    excited.turning = {}; // structure does not change across the path
    seen.coupling->add_panel(excited, waves, static_cast<std::int64_t>(angles_rad.size()),
                             {0, static_cast<std::int64_t>(radii_m.size())}, times, kernel);
}

} // namespace craton::tomography
