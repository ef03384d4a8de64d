#include "mode_family.hpp"

#include <craton/apps/tomography/kernels/finite_elements.hpp>
#include <craton/apps/tomography/kernels/legendre.hpp>
#include <craton/apps/tomography/kernels/quadrature.hpp>
#include <craton/apps/tomography/kernels/source_filter.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <utility>

namespace craton::tomography {

namespace {

constexpr double pi = std::numbers::pi;
constexpr std::size_t most_functions = 16;
constexpr std::int64_t least_overtone = 2; // that is thought of as rays

/// Radiation of a moment tensor toward an azimuth, by azimuthal order (mode_scalars.hpp).
struct radiation {
    double vertical_strain;    // M_rr
    double horizontal_strain;  // M_tt + M_pp
    double order_1, order_2;   // of spheroidal modes
    double turned_1, turned_2; // of toroidal modes, in their sign for motion to the right

    /// Derivative by Phi, which grows toward the left: of either type's orders the other's multiples.
    [[nodiscard]] radiation turned_left() const { return {0, 0, -turned_1, -2 * turned_2, order_1, 2 * order_2}; }
};

radiation radiation_towards(const std::array<double, 6>& moment, double azimuth_rad) {
    const double phi = pi - azimuth_rad; // from south toward east
    const auto& [rr, tt, pp, rt, rp, tp] = moment;
    const double difference = 0.5 * (tt - pp);
    return {rr,
            tt + pp,
            rt * std::cos(phi) + rp * std::sin(phi),
            difference * std::cos(2 * phi) + tp * std::sin(2 * phi),
            rt * std::sin(phi) - rp * std::cos(phi),
            difference * std::sin(2 * phi) - tp * std::cos(2 * phi)};
}

double k_squared(std::int64_t l) { return static_cast<double>(l) * static_cast<double>(l + 1); }
/// Of second horizontal derivatives; there are none for l = 0.
double tangential(std::int64_t l) { return std::sqrt(std::max(0.0, k_squared(l) - 2)); }

} // namespace

template <class Catalogue>
void mode_family::select(const Catalogue& modes, std::array<double, 4> filter_periods_s, const figure_rates& figure) {
    const auto& all = modes.arrays();
    if (figure.crust.size() % std::max<std::size_t>(all.n.size(), 1) != 0) {
        throw user_error(
            fmt::format("crust: {} rates of {} modes; allowed: equally many for each", figure.crust.size(), all.n.size()));
    }
    const std::size_t crusts = figure.crust.size() / std::max<std::size_t>(all.n.size(), 1);
    for (const auto* const rates : {&figure.stretch, &figure.turn}) {
        if (!rates->empty() && rates->size() != all.n.size()) {
            throw user_error(fmt::format("figure: rates of {} modes; allowed: none, or one for each of the catalogue's {}",
                                         rates->size(), all.n.size()));
        }
    }
    for (std::size_t k = 0; k < all.n.size(); ++k) {
        const double omega = all.omega_rad_s[k];
        const double gain = band_pass_gain(filter_periods_s, omega / (2 * pi));
        if (gain == 0) continue;
        index_.push_back(static_cast<std::int64_t>(k));
        l_.push_back(all.l[k]);
        n_.push_back(all.n[k]);
        omega_.push_back(omega);
        decay_.push_back(0.5 * omega / all.q[k]);
        filter_.push_back(gain / (omega * omega));
        if (!figure.stretch.empty()) figure_.stretch.push_back(figure.stretch[k]);
        if (!figure.turn.empty()) figure_.turn.push_back(figure.turn[k]);
        for (std::size_t j = 0; j < crusts; ++j) figure_.crust.push_back(figure.crust[k * crusts + j]);
        l_max_ = std::max(l_max_, all.l[k]);
    }
    if (omega_.empty()) {
        throw user_error(fmt::format("filter: no {} mode has a period between {} and {} s",
                                     type_ == mode_type::toroidal ? "toroidal" : "spheroidal", filter_periods_s[3],
                                     filter_periods_s[0]));
    }
}

mode_family::radial_points mode_family::points_for(const radial_mesh& mesh, const model_basis& basis) {
    const std::size_t count =
        static_cast<std::size_t>(mesh.order()) + 5; // exact to degree 2p + 9: W^2, cubic spline, nearly quadratic mu r^2
    std::vector<double> points(count), weights(count);
    gauss_legendre(points, weights);
    std::vector<double> breaks;
    for (std::int64_t p = 0; p < basis.parameters(); ++p) {
        const std::vector<double> more = basis.radial(p).breaks_m();
        breaks.insert(breaks.end(), more.begin(), more.end());
    }
    std::ranges::sort(breaks);
    breaks.erase(std::unique(breaks.begin(), breaks.end()), breaks.end());
    radial_points out;
    for (std::int64_t e = 0; e < mesh.elements(); ++e) {
        const auto nodes = mesh.element_nodes_m(e);
        // Structure is in the mantle and the crust alone. The splines' third derivative jumps at their knots.
        if (nodes.back() <= breaks.front() || nodes.front() >= breaks.back()) continue;
        std::vector<double> ends{nodes.front()};
        std::copy_if(breaks.begin(), breaks.end(), std::back_inserter(ends),
                     [&](double r) { return r > nodes.front() && r < nodes.back(); });
        ends.push_back(nodes.back());
        for (std::size_t piece = 0; piece + 1 < ends.size(); ++piece) {
            const double half = 0.5 * (ends[piece + 1] - ends[piece]);
            for (std::size_t q = 0; q < count; ++q) {
                out.radius_m.push_back(ends[piece] + half * (1 + points[q]));
                out.weight.push_back(half * weights[q]);
            }
        }
    }
    return out;
}

const radial_mesh& mode_family::mesh() const { return type_ == mode_type::toroidal ? toroidal_->mesh() : spheroidal_->mesh(); }

/// Toroidal: r X, sqrt(k^2 - 2) W. Spheroidal: r U', G, r U' + G (for their product), r X, sqrt(k^2 - 2) V (mode_kernels.hpp).
/// Where density changes: w r W, or w r U and w r V.
void mode_family::fields_of(std::size_t mode, double radius_m, std::span<double> channel) const {
    const double wavenumber = std::sqrt(k_squared(l_[mode]));
    const double motion = omega_[mode] * radius_m;
    if (type_ == mode_type::toroidal) {
        const auto [w, slope] = toroidal_->eigenfunction(index_[mode], radius_m);
        channel[0] = radius_m * slope - w;
        channel[1] = tangential(l_[mode]) * w;
        channel[2] = motion * w;
        return;
    }
    const spheroidal_point at = spheroidal_->evaluate(index_[mode], radius_m);
    channel[0] = radius_m * at.du;
    channel[1] = 2 * at.u - wavenumber * at.v;
    channel[2] = channel[0] + channel[1];
    channel[3] = radius_m * at.dv - at.v + wavenumber * at.u;
    channel[4] = tangential(l_[mode]) * at.v;
    channel[5] = motion * at.u;
    channel[6] = motion * at.v;
}

/// dlnVs (0) with what is scaled to it, and dlnxi (1) at fixed A and C; eta stays as it is.
void mode_family::weights_of(double radius_m, double density_kg_m3, const love_parameters& moduli, std::size_t parameter,
                             std::span<double> channel) const {
    const double xi = moduli.L > 0 ? moduli.N / moduli.L : 1;
    const double heavier = parameter == 0 ? scaled_.density_at(radius_m) : 0; // moduli at fixed speeds grow with density
    const double stiffer = parameter == 0 ? 2 * scaled_.vp_at(radius_m) + heavier : 0;
    const double dA = stiffer * moduli.A;
    const double dC = stiffer * moduli.C;
    const double dL = parameter == 0 ? (2 + heavier) * moduli.L : -xi / (2 + xi) * moduli.L;
    const double dN = parameter == 0 ? (2 + heavier) * moduli.N : 2 / (2 + xi) * moduli.N;
    if (type_ == mode_type::toroidal) {
        channel[0] = dL;
        channel[1] = dN;
        channel[2] = -heavier * density_kg_m3;
        return;
    }
    const double dF = moduli.F / (moduli.A - 2 * moduli.L) * (dA - 2 * dL);
    channel[0] = dC - dF;
    channel[1] = dA - dF - dN;
    channel[2] = dF;
    channel[3] = dL;
    channel[4] = dN;
    channel[5] = channel[6] = -heavier * density_kg_m3;
}

/// Moduli at a frequency in the middle of the band; what a mode's own frequency makes of them, the factor of all that is
/// proportional to the shear modulus, goes into its fields by halves.
mode_family::strain mode_family::strain_at(const radial_points& points, std::size_t parameters) const {
    const std::size_t count = points.radius_m.size();
    const std::size_t width = channels();
    const bool dispersion = type_ == mode_type::toroidal ? toroidal_->arrays().dispersion : spheroidal_->arrays().dispersion;
    strain out;
    out.fields = {static_cast<std::int64_t>(size()), static_cast<std::int64_t>(width), static_cast<std::int64_t>(count),
                  std::vector<double>(size() * width * count)};
    out.weights.resize(parameters);
    for (parameter_weights& each : out.weights) each.values.resize(width * count);
    const auto [slowest, fastest] = std::minmax_element(omega_.begin(), omega_.end());
    const double centre = std::sqrt(*slowest * *fastest);
    std::array<double, 7> channel{};
    for (std::size_t q = 0; q < count; ++q) {
        const double r = points.radius_m[q];
        const material at = earth_->evaluate(r);
        const love_parameters moduli = dispersion ? dispersed_love_parameters(at, centre) : at.love();
        for (std::size_t p = 0; p < parameters; ++p) {
            weights_of(r, at.density_kg_m3, moduli, p, channel);
            for (std::size_t c = 0; c < width; ++c) out.weights[p].values[c * count + q] = points.weight[q] * channel[c];
        }
        for (std::size_t k = 0; k < size(); ++k) {
            const double own = dispersion && moduli.L > 0 ? dispersed_love_parameters(at, omega_[k]).L / moduli.L : 1.0;
            fields_of(k, r, channel);
            for (std::size_t c = 0; c < width; ++c) {
                out.fields.values[(k * width + c) * count + q] = (c < strain_channels() ? std::sqrt(own) : 1) * channel[c];
            }
        }
    }
    return out;
}

std::vector<double> mode_family::shifts_by(const strain& of, std::span<const radial_functions> functions) const {
    const auto points = static_cast<std::size_t>(of.fields.points);
    const auto width = static_cast<std::size_t>(of.fields.channels) * points;
    std::size_t columns = 0;
    for (const radial_functions& each : functions) columns += each.count;
    std::vector<double> out(size() * columns);
    for (std::size_t k = 0; k < size(); ++k) {
        const double* const f = of.fields.values.data() + k * width;
        double* row = out.data() + k * columns;
        for (std::size_t p = 0; p < functions.size(); ++p) {
            const std::size_t count = functions[p].count;
            for (std::size_t q = 0; q < points; ++q) {
                double density = 0;
                for (std::size_t c = q; c < width; c += points) density += of.weights[p].values[c] * f[c] * f[c];
                density /= 2 * omega_[k];
                for (std::size_t i = 0; i < count; ++i) row[i] += density * functions[p].values[q * count + i];
            }
            row += count;
        }
    }
    return out;
}

/// Kernels of the frequencies, and those of pairs where pairs couple.
void mode_family::tabulate(const model_basis& basis, theory kind) {
    const radial_points points = points_for(mesh(), basis);
    const strain of_modes = strain_at(points, static_cast<std::size_t>(basis.parameters()));
    std::vector<radial_functions> splines(static_cast<std::size_t>(basis.parameters()));
    for (std::size_t p = 0; p < splines.size(); ++p) {
        const radial_splines& radial = basis.radial(static_cast<std::int64_t>(p));
        const auto count = static_cast<std::size_t>(radial.size());
        splines[p] = {count, std::vector<double>(points.radius_m.size() * count)};
        for (std::size_t q = 0; q < points.radius_m.size(); ++q) {
            radial.evaluate(points.radius_m[q], std::span(splines[p].values).subspan(q * count, count));
        }
    }
    kernels_ = shifts_by(of_modes, splines);
    if (kind == theory::path_average) return;
    const std::size_t shear = type_ == mode_type::toroidal ? 0 : 3;
    const std::size_t count = points.radius_m.size();
    for (std::size_t k = 0; k < size(); ++k) {
        std::array<double, 5> energy{};
        double all = 0;
        for (std::size_t c = 0; c < strain_channels(); ++c) {
            for (std::size_t q = 0; q < count; ++q) {
                const double f = of_modes.fields.values[(k * static_cast<std::size_t>(of_modes.fields.channels) + c) * count + q];
                energy[c] += of_modes.weights[0].values[c * count + q] * f * f;
            }
            all += energy[c];
        }
        if (all > 0) bend_ += (0.5 * energy[shear] + 2 * energy[shear + 1]) / (all * static_cast<double>(size()));
    }
    // Splines are bumps four spacings wide: their transform has zeros where one and two waves are a spacing long, and couples modes
    // of different branches up to there. What lies beyond is a few 1e-3 of the coupling across branches.
    const auto narrowest = static_cast<std::int64_t>(std::ceil(2.6 * 2 * pi / basis.spacing_rad()));
    const auto pairs = couples_across_branches(kind) ? coupled_pairs::across_branches : coupled_pairs::all;
    coupling_ = std::make_shared<const mode_coupling>(l_, n_, of_modes.fields, of_modes.weights, splines, pairs,
                                                      std::min(narrowest, l_.back() - l_.front()));
}

mode_family::at_radii mode_family::seen_at(std::span<const double> radii_m, std::size_t parameters, theory kind,
                                           std::int64_t widest) const {
    const radial_points points{{radii_m.begin(), radii_m.end()}, std::vector<double>(radii_m.size(), 1.0)};
    const strain of_modes = strain_at(points, parameters);
    radial_functions delta{radii_m.size(), std::vector<double>(radii_m.size() * radii_m.size(), 0.0)};
    for (std::size_t q = 0; q < radii_m.size(); ++q) delta.values[q * radii_m.size() + q] = 1;
    const std::vector<radial_functions> deltas(parameters, delta);
    at_radii out{shifts_by(of_modes, deltas), nullptr};
    if (kind == theory::path_average) return out;
    const auto pairs = couples_across_branches(kind) ? coupled_pairs::across_branches : coupled_pairs::all;
    out.coupling = std::make_shared<const mode_coupling>(l_, n_, of_modes.fields, of_modes.weights, deltas, pairs,
                                                         std::min(widest, l_.back() - l_.front()));
    return out;
}

mode_family::mode_family(std::shared_ptr<const mode_catalogue> modes, const model_basis& basis,
                         std::array<double, 4> filter_periods_s, theory kind, const figure_rates& figure, scaling scaled)
    : type_(mode_type::toroidal), earth_(&modes->earth()), toroidal_(std::move(modes)), filter_periods_s_(filter_periods_s),
      scaled_(std::move(scaled)) {
    select(*toroidal_, filter_periods_s, figure);
    for (std::size_t k = 0; k < size(); ++k) {
        vertical_.push_back(0);
        horizontal_.push_back(toroidal_->eigenvector(index_[k]).back() / std::sqrt(k_squared(l_[k])));
    }
    if (!figure_.stretch.empty()) {
        // Fewer half waves between the surface and its lowest point make no ray.
        std::vector<double> parameters(size(), std::numeric_limits<double>::infinity());
        for (std::size_t k = 0; k < size(); ++k) {
            if (n_[k] >= least_overtone) parameters[k] = (static_cast<double>(l_[k]) + 0.5) / omega_[k];
        }
        rays_ = std::make_shared<const shear_rays>(*earth_, std::move(parameters));
    }
    tabulate(basis, kind);
}

mode_family::mode_family(std::shared_ptr<const spheroidal_catalogue> modes, const model_basis& basis,
                         std::array<double, 4> filter_periods_s, theory kind, const figure_rates& figure, scaling scaled)
    : type_(mode_type::spheroidal), earth_(&modes->earth()), spheroidal_(std::move(modes)), filter_periods_s_(filter_periods_s),
      scaled_(std::move(scaled)) {
    select(*spheroidal_, filter_periods_s, figure);
    const double surface = earth_->solid_surface_radius_m();
    for (std::size_t k = 0; k < size(); ++k) {
        const spheroidal_point top = spheroidal_->evaluate(index_[k], surface, true);
        vertical_.push_back(top.u);
        horizontal_.push_back(l_[k] > 0 ? top.v / std::sqrt(k_squared(l_[k])) : 0.0);
    }
    tabulate(basis, kind);
}

/// visit(mode, strain at a radius): the element is looked for once.
template <class Visit> void mode_family::visit_source(double radius_m, Visit visit) const {
    const radial_mesh& elements = mesh();
    std::int64_t element = elements.find(radius_m);
    // On an ocean's floor the solid side counts.
    if (type_ == mode_type::spheroidal && radius_m == earth_->solid_surface_radius_m() &&
        radius_m == elements.element_nodes_m(element).front()) {
        --element;
    }
    const auto nodes = elements.element_nodes_m(element);
    const std::size_t functions = nodes.size();
    std::array<double, most_functions> values{}, slopes{};
    lagrange(nodes, radius_m, std::span(values).first(functions), std::span(slopes).first(functions));
    const auto sum = [&](const double* nodal) {
        std::pair<double, double> out{0, 0};
        for (std::size_t a = 0; a < functions; ++a) {
            out.first += values[a] * nodal[a];
            out.second += slopes[a] * nodal[a];
        }
        return out;
    };
    const std::size_t block = static_cast<std::size_t>(elements.elements()) * functions;
    for (std::size_t k = 0; k < size(); ++k) {
        const double wavenumber = std::sqrt(k_squared(l_[k]));
        if (type_ == mode_type::toroidal) {
            const auto [w, slope] =
                sum(toroidal_->eigenvector(index_[k]).data() + static_cast<std::size_t>(element) * (functions - 1));
            visit(k, at_source{0, 0, (slope - w / radius_m) / wavenumber, w / (wavenumber * radius_m)});
            continue;
        }
        const double* const first = spheroidal_->arrays().eigenfunctions.data() + static_cast<std::size_t>(index_[k]) * 3 * block +
                                    static_cast<std::size_t>(element) * functions;
        const auto [u, du] = sum(first);
        const auto [v, dv] = sum(first + block);
        const bool radial = l_[k] == 0;
        visit(k, at_source{du, (u - 0.5 * wavenumber * v) / radius_m, radial ? 0 : (dv - v / radius_m) / wavenumber + u / radius_m,
                           radial ? 0 : v / (wavenumber * radius_m)});
    }
}

/// W = C cos a and dW/dr = w q C sin a of waves with exp(+-i a), q their vertical slowness: a becomes a - w by_s.
mode_family::at_source mode_family::delayed(const at_source& seen, std::size_t mode, double radius_m, double by_s) const {
    constexpr double least_slowness_s_m = 2e-5; // where the ray is nearly level, the two are one
    const double q = omega_[mode] * rays_->vertical_slowness(mode, radius_m);
    if (q < omega_[mode] * least_slowness_s_m) return seen;
    const double c = std::cos(omega_[mode] * by_s);
    const double s = std::sin(omega_[mode] * by_s);
    const double w = seen.strain_2 * radius_m;
    const double slope = seen.strain_1 + seen.strain_2;
    at_source out = seen;
    out.strain_2 = (c * w + s * slope / q) / radius_m;
    out.strain_1 = c * slope - s * q * w - out.strain_2;
    return out;
}

void mode_family::excite(const path& path, excitation& out) const {
    const component measured = path.request().measured;
    const double delta = path.distance_rad();
    for (int order = 0; order < 3; ++order) {
        out.legendre[order].resize(static_cast<std::size_t>(l_max_) + 1);
        out.legendre_slope[order].resize(static_cast<std::size_t>(l_max_) + 1);
    }
    const bool beside = is_beside(measured);
    if (type_ == mode_type::toroidal && !beside) {
        legendre_derivatives(delta, out.legendre_slope[1], out.legendre_slope[2]);
    } else {
        for (int order = 0; order < 3; ++order) {
            legendre_functions(delta, order, out.legendre[order], out.legendre_slope[order]);
        }
    }
    const bool slope = measured != component::vertical;
    const radiation pattern = radiation_towards(path.source().moment_tensor_Nm, path.azimuth_rad());
    for (std::vector<double>* each : {&out.amplitude, &out.q, &out.q_slope}) each->resize(size());
    const radiation turning = pattern.turned_left();
    out.source.resize(size());
    out.turning.resize(size());
    out.receiver.resize(size());
    const double half_duration_s = path.source().half_duration_s;
    const double gain = path.request().gain;
    // The source's depth counts from 6371 km; above the model's solid surface (an ocean) it is moved onto it.
    const double radius =
        std::clamp(earth_radius_m - path.source().depth_m, earth_->cmb_radius_m(), earth_->solid_surface_radius_m());
    const bool by_rays = rays_ != nullptr && path.request().along != orbit::major;
    out.relative.resize(by_rays ? size() : 0);
    const stretch_along stretch = by_rays ? stretch_along::of(path.arc()) : stretch_along{};
    visit_source(radius, [&](std::size_t k, const at_source& in_sphere) {
        at_source at = in_sphere;
        if (by_rays) {
            const shear_rays::effect found = rays_->along(k, stretch, delta, radius);
            out.relative[k] = found.relative;
            at = delayed(in_sphere, k, radius, found.later_s);
        }
        const auto l = static_cast<std::size_t>(l_[k]);
        const double moment_rate = triangle_gain(omega_[k], half_duration_s);
        // A step of the moment moves the receiver by 1 - cos: the oscillation's sign is minus the static offset's.
        const double factor = -gain * static_cast<double>(2 * l_[k] + 1) / (4 * pi) * (slope ? horizontal_[k] : vertical_[k]);
        const bool twisting = type_ == mode_type::toroidal;
        if (beside) { // (1 / sin Delta) d/dPhi, which turns each type's pattern into the other's multiples
            const double order_1 = at.strain_1 * (twisting ? pattern.order_1 : pattern.turned_1);
            const double order_2 = at.strain_2 * (twisting ? pattern.order_2 : pattern.turned_2);
            const double shape = order_1 * out.legendre[1][l] + 2 * order_2 * out.legendre[2][l];
            out.amplitude[k] = factor * filter_[k] * moment_rate * shape / std::max(std::sin(delta), 1e-6);
            return;
        }
        const std::vector<double>* const functions = slope ? out.legendre_slope : out.legendre;
        const double order_0 = pattern.vertical_strain * at.strain_rr + pattern.horizontal_strain * at.strain_h;
        const double order_1 = at.strain_1 * (twisting ? pattern.turned_1 : pattern.order_1);
        const double order_2 = at.strain_2 * (twisting ? pattern.turned_2 : pattern.order_2);
        const double shape = (twisting ? 0 : order_0 * functions[0][l]) + order_1 * functions[1][l] + order_2 * functions[2][l];
        out.amplitude[k] = factor * filter_[k] * moment_rate * shape;
        if (coupling_ == nullptr) return;
        // Far from source and antipode, with a = lambda Delta - pi/4 and c = sqrt(2 / (pi lambda sin Delta)):
        // P_l0 = c cos a, P_l1 = k c sin a, P_l2 = -k^2 c cos a, and a derivative by Delta multiplies exp(i a) by i k.
        const double lambda = static_cast<double>(l_[k]) + 0.5;
        const double wavenumber = std::sqrt(k_squared(l_[k]));
        const double spread = std::sqrt(2 / (pi * lambda * std::abs(std::sin(delta))));
        out.q[k] = filter_[k] * moment_rate;
        constexpr double step = 1e-4;
        const auto gain_at = [&](double omega) {
            return band_pass_gain(filter_periods_s_, omega / (2 * pi)) * triangle_gain(omega, half_duration_s) / (omega * omega);
        };
        out.q_slope[k] =
            (gain_at(omega_[k] * (1 + step)) - gain_at(omega_[k] * (1 - step))) / (4 * step * omega_[k] * omega_[k]); // dq / 2 w dw
        // Of a pair, the source excites the one and the receiver sees the other. What both share, the sphere's spreading with the
        // root of lambda, is halved between them.
        const double half = std::sqrt(std::sqrt(lambda));
        // To the next order in 1 / lambda an azimuthal order M turns the phase by (4 M^2 - 1) cot Delta / 8 lambda, and a
        // derivative by Delta by cot Delta / 2 lambda; what grows without bound near source and antipode is held as a phase.
        const double turn = 1 / (8 * lambda * std::tan(delta));
        const std::complex<double> phase_1 = std::polar(1.0, std::atan(4 * turn));
        const std::complex<double> phase_2 = std::polar(1.0, std::atan(16 * turn));
        const std::complex<double> first(0, -wavenumber * at.strain_1);
        const double second = -wavenumber * tangential(l_[k]) * at.strain_2;
        const auto radiated = [&](const radiation& to) {
            return first * phase_1 * (twisting ? to.turned_1 : to.order_1) +
                   second * phase_2 * (twisting ? to.turned_2 : to.order_2);
        };
        out.source[k] = half * (order_0 + radiated(pattern));
        out.turning[k] = half * radiated(turning);
        out.receiver[k] = factor / half * std::polar(spread, lambda * delta - 0.25 * pi + std::atan((slope ? 3 : -1) * turn)) *
                          (slope ? std::complex<double>(0, wavenumber) : std::complex<double>(1));
    });
}

} // namespace craton::tomography
