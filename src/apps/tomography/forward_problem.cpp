#include <craton/apps/tomography/forward_problem.hpp>

#include <craton/apps/tomography/kernels/finite_elements.hpp>
#include <craton/apps/tomography/kernels/legendre.hpp>
#include <craton/apps/tomography/kernels/mode_sum.hpp>
#include <craton/apps/tomography/kernels/quadrature.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace craton::tomography {

namespace {

constexpr double pi = std::numbers::pi;

/// Cosine taper in frequency between the corners 1/T1 < 1/T2 < 1/T3 < 1/T4.
double band_pass_gain(const std::array<double, 4>& periods_s, double frequency_Hz) {
    const double f1 = 1 / periods_s[0];
    const double f2 = 1 / periods_s[1];
    const double f3 = 1 / periods_s[2];
    const double f4 = 1 / periods_s[3];
    if (frequency_Hz <= f1 || frequency_Hz >= f4) {
        return 0;
    }
    if (frequency_Hz < f2) {
        return 0.5 * (1 - std::cos(pi * (frequency_Hz - f1) / (f2 - f1)));
    }
    if (frequency_Hz > f3) {
        return 0.5 * (1 + std::cos(pi * (frequency_Hz - f3) / (f4 - f3)));
    }
    return 1;
}

/// Spectrum of a triangle of unit area and the given half width: the moment rate of the centroid catalogues.
double triangle_gain(double omega_rad_s, double half_duration_s) {
    const double x = 0.5 * omega_rad_s * half_duration_s;
    if (x < 1e-8) {
        return 1;
    } // sinc differs from 1 by x^2 / 6
    const double sinc = std::sin(x) / x;
    return sinc * sinc;
}

void check_periods(const std::array<double, 4>& t, double shortest_period_s) {
    const bool decreasing = std::isfinite(t[0]) && t[0] > t[1] && t[1] > t[2] && t[2] > t[3] && t[3] > 0;
    if (!decreasing) {
        throw user_error(
            fmt::format("filter: periods ({}, {}, {}, {}) s; allowed: finite, positive and decreasing", t[0], t[1], t[2], t[3]));
    }
    if (t[3] < shortest_period_s * (1 - 1e-12)) {
        throw user_error(
            fmt::format("filter: its shortest period, {} s, needs modes that the catalogue lacks; allowed: {} s or more", t[3],
                        shortest_period_s));
    }
}

/// Per path azimuthal factors of the two dislocation patterns that radiate SH.
struct radiation {
    double order_1; // vertical-plane shear, M_rp and M_rt
    double order_2; // horizontal-plane shear
};

radiation radiation_towards(const std::array<double, 6>& moment, double azimuth_rad) {
    const double phi = pi - azimuth_rad; // from south toward east
    const auto& [rr, tt, pp, rt, rp, tp] = moment;
    static_cast<void>(rr); // isotropic and vertical-axis strain make no SH
    return {rp * std::cos(phi) - rt * std::sin(phi), tp * std::cos(2 * phi) - 0.5 * (tt - pp) * std::sin(2 * phi)};
}

} // namespace

/// Per thread, grown to the largest path seen: no allocation in steady state.
struct forward_problem::scratch {
    std::vector<double> legendre_1;
    std::vector<double> legendre_2;
    std::vector<double> amplitude;
    std::vector<double> omega;
    std::vector<double> profile;     // path average of the model, per radial spline
    std::vector<double> sensitivity; // samples x radial
    std::vector<double> tile;

    [[nodiscard]] oscillations modes(const path& path, const std::vector<double>& decay) const {
        return {omega, decay, amplitude, path.request().t_first_s, path.request().sample_interval_s};
    }
};

forward_problem::scratch& forward_problem::thread_scratch() {
    thread_local scratch work;
    return work;
}

forward_problem::forward_problem(std::shared_ptr<const mode_catalogue> modes, std::shared_ptr<const model_basis> basis,
                                 std::array<double, 4> filter_periods_s)
    : modes_(std::move(modes)), basis_(std::move(basis)) {
    check_periods(filter_periods_s, modes_->arrays().shortest_period_s);
    const earth_model& earth = modes_->earth();
    const auto knots = basis_->radial().knots_m();
    if (knots.front() >= earth.surface_radius_m() || knots.back() <= earth.cmb_radius_m()) {
        throw user_error(
            fmt::format("model basis: radial knots from {} to {} m do not reach into mantle and crust; allowed: {} to {} m",
                        knots.front(), knots.back(), earth.cmb_radius_m(), earth.surface_radius_m()));
    }
    select_modes(filter_periods_s);
    if (omega_.empty()) {
        throw user_error(
            fmt::format("filter: no toroidal mode has a period between {} and {} s", filter_periods_s[3], filter_periods_s[0]));
    }
    integrate_kernels();
}

void forward_problem::select_modes(const std::array<double, 4>& filter_periods_s) {
    const mode_arrays& all = modes_->arrays();
    for (std::size_t k = 0; k < all.n.size(); ++k) {
        const double omega = all.omega_rad_s[k];
        const double gain = band_pass_gain(filter_periods_s, omega / (2 * pi));
        if (gain == 0) {
            continue;
        }
        const double degree = static_cast<double>(all.l[k]);
        const double k_squared = degree * (degree + 1);
        const double surface = modes_->eigenvector(static_cast<std::int64_t>(k)).back();
        index_.push_back(static_cast<std::int64_t>(k));
        omega_.push_back(omega);
        decay_.push_back(0.5 * omega / all.q[k]);
        gain_.push_back(gain * (2 * degree + 1) / (4 * pi) * surface / (k_squared * omega * omega));
        l_max_ = std::max(l_max_, all.l[k]);
    }
}

/// I_ki = (1 / 2 w) int 2 mu [(r W' - W)^2 + (k^2 - 2) W^2] B_i dr with the shear modulus at the mode's frequency.
void forward_problem::integrate_kernels() {
    const mode_arrays& all = modes_->arrays();
    const radial_mesh& mesh = modes_->mesh();
    const std::size_t columns = static_cast<std::size_t>(basis_->n_radial());
    const std::size_t functions = static_cast<std::size_t>(mesh.order()) + 1;
    const std::size_t count = functions + 4; // exact to degree 2p + 9: W^2, cubic spline and nearly quadratic mu r^2
    std::vector<double> points(count), weights(count), values(functions), slopes(functions), splines(columns);
    gauss_legendre(points, weights);
    kernels_.assign(omega_.size() * columns, 0.0);
    const std::vector<double> breaks = basis_->radial().breaks_m();
    for (std::int64_t e = 0; e < mesh.elements(); ++e) {
        const auto nodes = mesh.element_nodes_m(e);
        // The splines' third derivative jumps at their knots: integrate piece by piece.
        std::vector<double> ends{nodes.front()};
        std::copy_if(breaks.begin(), breaks.end(), std::back_inserter(ends),
                     [&](double r) { return r > nodes.front() && r < nodes.back(); });
        ends.push_back(nodes.back());
        for (std::size_t piece = 0; piece + 1 < ends.size(); ++piece) {
            const double half = 0.5 * (ends[piece + 1] - ends[piece]);
            for (std::size_t q = 0; q < count; ++q) {
                const double r = ends[piece] + half * (1 + points[q]);
                const material at = modes_->earth().evaluate(r);
                lagrange(nodes, r, values, slopes);
                basis_->radial().evaluate(r, splines);
                for (std::size_t k = 0; k < omega_.size(); ++k) {
                    const auto nodal =
                        modes_->eigenvector(index_[k]).subspan(static_cast<std::size_t>(e) * (functions - 1), functions);
                    double w = 0;
                    double slope = 0;
                    for (std::size_t a = 0; a < functions; ++a) {
                        w += values[a] * nodal[a];
                        slope += slopes[a] * nodal[a];
                    }
                    const double degree = static_cast<double>(all.l[static_cast<std::size_t>(index_[k])]);
                    const double shear = r * slope - w;
                    const double mu = all.dispersion ? dispersed_shear_modulus_Pa(at, omega_[k]) : at.shear_modulus_Pa();
                    const double density = mu * (shear * shear + (degree * (degree + 1) - 2) * w * w) / omega_[k];
                    for (std::size_t i = 0; i < columns; ++i) {
                        kernels_[k * columns + i] += half * weights[q] * density * splines[i];
                    }
                }
            }
        }
    }
}

void forward_problem::check(const path& path, std::span<const double> model) const {
    if (static_cast<std::int64_t>(model.size()) != basis_->size()) {
        throw user_error(fmt::format("model: {} parameters; allowed: {} ({} lateral knots x {} radial splines)", model.size(),
                                     basis_->size(), basis_->n_lateral(), basis_->n_radial()));
    }
    if (path.n_lateral() != basis_->n_lateral() || path.n_radial() != basis_->n_radial()) {
        throw user_error(fmt::format("path: made for a basis of {} x {} splines; allowed: this problem's {} x {}", path.n_lateral(),
                                     path.n_radial(), basis_->n_lateral(), basis_->n_radial()));
    }
}

void forward_problem::prepare(const path& path, std::span<const double> model, scratch& work) const {
    const std::size_t modes = omega_.size();
    const std::size_t columns = static_cast<std::size_t>(basis_->n_radial());
    const earth_model& earth = modes_->earth();
    work.legendre_1.resize(static_cast<std::size_t>(l_max_) + 1);
    work.legendre_2.resize(static_cast<std::size_t>(l_max_) + 1);
    legendre_derivatives(path.distance_rad(), work.legendre_1, work.legendre_2);

    // The source's depth counts from 6371 km; above the model's solid surface (an ocean) it is moved onto it.
    const double radius = std::clamp(earth_radius_m - path.source().depth_m, earth.cmb_radius_m(), earth.surface_radius_m());
    const radial_mesh& mesh = modes_->mesh();
    const std::int64_t element = mesh.find(radius);
    const auto nodes = mesh.element_nodes_m(element);
    std::array<double, 16> values{};
    std::array<double, 16> slopes{};
    lagrange(nodes, radius, std::span(values).first(nodes.size()), std::span(slopes).first(nodes.size()));

    const radiation pattern = radiation_towards(path.source().moment_tensor_Nm, path.azimuth_rad());
    const mode_arrays& all = modes_->arrays();
    work.amplitude.resize(modes);
    for (std::size_t k = 0; k < modes; ++k) {
        const double* const nodal = modes_->eigenvector(index_[k]).data() + element * mesh.order();
        double w = 0;
        double slope = 0;
        for (std::size_t a = 0; a < nodes.size(); ++a) {
            w += values[a] * nodal[a];
            slope += slopes[a] * nodal[a];
        }
        const std::size_t l = static_cast<std::size_t>(all.l[static_cast<std::size_t>(index_[k])]);
        const double shape =
            (slope - w / radius) * pattern.order_1 * work.legendre_1[l] + w / radius * pattern.order_2 * work.legendre_2[l];
        work.amplitude[k] = gain_[k] * triangle_gain(omega_[k], path.source().half_duration_s) * shape;
    }

    work.profile.assign(columns, 0.0);
    const sparse_weights& h = path.lateral();
    for (std::size_t at = 0; at < h.knot.size(); ++at) {
        const double* const knot = model.data() + static_cast<std::size_t>(h.knot[at]) * columns;
        for (std::size_t i = 0; i < columns; ++i) {
            work.profile[i] += h.value[at] * knot[i];
        }
    }
    work.omega.resize(modes);
    for (std::size_t k = 0; k < modes; ++k) {
        double shift = 0;
        for (std::size_t i = 0; i < columns; ++i) {
            shift += kernels_[k * columns + i] * work.profile[i];
        }
        work.omega[k] = omega_[k] + shift;
    }
}

void forward_problem::sensitivity(const path& path, std::span<const double> model, std::span<double> g, scratch& work) const {
    CRATON_ASSERT(static_cast<std::int64_t>(g.size()) == path.samples());
    check(path, model);
    prepare(path, model, work);
    const std::int64_t columns = basis_->n_radial();
    work.sensitivity.resize(static_cast<std::size_t>(path.samples() * columns));
    work.tile.resize(static_cast<std::size_t>(columns * mode_sum_tile));
    mode_sum_sensitivity(work.modes(path, decay_), kernels_, columns, g, work.sensitivity, work.tile);
}

void forward_problem::seismogram(const path& path, std::span<const double> model, std::span<double> g) const {
    CRATON_ASSERT(static_cast<std::int64_t>(g.size()) == path.samples());
    check(path, model);
    scratch& work = thread_scratch();
    prepare(path, model, work);
    mode_sum(work.modes(path, decay_), g);
}

void forward_problem::panel(const path& path, std::span<const double> model, std::span<double> g, std::span<float> panel) const {
    CRATON_ASSERT(static_cast<std::int64_t>(panel.size()) == path.samples() * path.touched());
    scratch& work = thread_scratch();
    sensitivity(path, model, g, work);
    expand_panel(work.sensitivity, basis_->n_radial(), path.lateral().value, panel);
}

void forward_problem::apply(const path& path, std::span<const double> model, std::span<const double> dm,
                            std::span<double> out) const {
    check(path, dm);
    scratch& work = thread_scratch();
    sensitivity(path, model, out, work);
    const std::size_t columns = static_cast<std::size_t>(basis_->n_radial());
    std::vector<double> average(columns, 0.0);
    const sparse_weights& h = path.lateral();
    for (std::size_t at = 0; at < h.knot.size(); ++at) {
        for (std::size_t i = 0; i < columns; ++i) {
            average[i] += h.value[at] * dm[static_cast<std::size_t>(h.knot[at]) * columns + i];
        }
    }
    for (std::size_t j = 0; j < out.size(); ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < columns; ++i) {
            sum += work.sensitivity[j * columns + i] * average[i];
        }
        out[j] = sum;
    }
}

void forward_problem::apply_transpose(const path& path, std::span<const double> model, std::span<const double> residual,
                                      std::span<double> out) const {
    CRATON_ASSERT(static_cast<std::int64_t>(residual.size()) == path.samples());
    CRATON_ASSERT(static_cast<std::int64_t>(out.size()) == basis_->size());
    scratch& work = thread_scratch();
    std::vector<double> g(residual.size());
    sensitivity(path, model, g, work);
    const std::size_t columns = static_cast<std::size_t>(basis_->n_radial());
    std::vector<double> profile(columns, 0.0);
    for (std::size_t j = 0; j < residual.size(); ++j) {
        for (std::size_t i = 0; i < columns; ++i) {
            profile[i] += work.sensitivity[j * columns + i] * residual[j];
        }
    }
    const sparse_weights& h = path.lateral();
    for (std::size_t at = 0; at < h.knot.size(); ++at) {
        for (std::size_t i = 0; i < columns; ++i) {
            out[static_cast<std::size_t>(h.knot[at]) * columns + i] += h.value[at] * profile[i];
        }
    }
}

} // namespace craton::tomography
