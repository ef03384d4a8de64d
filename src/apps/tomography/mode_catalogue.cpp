#include <craton/apps/tomography/mode_catalogue.hpp>

#include "toroidal_solver.hpp"

#include <craton/apps/tomography/kernels/finite_elements.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace craton::tomography {

namespace {

constexpr double pi = std::numbers::pi;
constexpr double longest_period_s = 20000; // beyond every vibration; only the rigid rotation (w = 0) lies below
constexpr int max_order = 8;
constexpr std::int64_t max_degree = 20000;

void check(const mode_options& options) {
    if (!(options.shortest_period_s >= 1 && options.shortest_period_s <= 2000)) {
        throw user_error(
            fmt::format("modes: shortest period {} s is out of range; allowed: 1 to 2000 s", options.shortest_period_s));
    }
    if (options.order < 2 || options.order > max_order) {
        throw user_error(fmt::format("modes: element order {} is out of range; allowed: 2 to {}", options.order, max_order));
    }
    if (!(options.element_km >= 1 && options.element_km <= 1000)) {
        throw user_error(fmt::format("modes: element size {} km is out of range; allowed: 1 to 1000 km", options.element_km));
    }
}

/// The eigenproblem at one reference frequency, and first-order steps from there to each mode's own frequency.
class dispersive_problem {
  public:
    dispersive_problem(const earth_model& earth, const radial_mesh& mesh, const mode_options& options)
        : order_(mesh.order()), dispersion_(options.dispersion), attenuation_(options.attenuation),
          // Half way in the logarithm between 0T2 and the shortest period: the steps to the ends are then equally long.
          centre_(options.dispersion ? 2 * pi / std::sqrt(2600 * options.shortest_period_s) : 2 * pi),
          inertia_(assemble_inertia(earth, mesh)),
          stiffness_(
              assemble_energy(earth, mesh, [this](const material& at) { return shear(dispersed_love_parameters(at, centre_)); })),
          elastic_(assemble_energy(earth, mesh, [](const material& at) { return shear(at.love()); })),
          loss_(assemble_energy(earth, mesh, [](const material& at) { return shear(at.loss()); })),
          loss_squared_(assemble_energy(earth, mesh, [](const material& at) {
              const love_parameters loss = at.loss();
              return shear_moduli{loss.L / at.q_mu, loss.N / at.q_mu};
          })) {}

    [[nodiscard]] eigenpairs solve(double k_squared, double upper) const {
        const double lowest = 2 * pi / longest_period_s;
        return solve_banded(stiffness_, inertia_, k_squared, order_, lowest * lowest, upper);
    }

    struct properties {
        double omega;
        double q;
        double d_omega_d_degree;
    };

    /// By Rayleigh's principle the eigenfunction at the centre frequency serves to first order at the mode's own:
    /// w^2 = wc^2 + (2/pi) ln(w / centre) D with D = int mu0 / Q_mu [..] dr, and 1/Q = int mu(w) / Q_mu [..] dr / w^2.
    [[nodiscard]] properties own_frequency(double degree, double omega_squared, std::span<const double> w) const {
        const double k_squared = degree * (degree + 1);
        const double loss = loss_.form(k_squared, w, order_);
        double omega = std::sqrt(omega_squared);
        double log_omega = 0; // (2 / pi) ln(w / 2 pi): how far the modulus is from its value at 1 s
        if (dispersion_) {
            constexpr int fixed_point_steps = 8; // each reduces the error by pi Q > 200
            for (int step = 0; step < fixed_point_steps; ++step) {
                omega = std::sqrt(omega_squared + 2 / pi * std::log(omega / centre_) * loss);
            }
            log_omega = 2 / pi * std::log(omega / (2 * pi));
        }
        const double inverse_q = (loss + log_omega * loss_squared_.form(k_squared, w, order_)) / (omega * omega);
        const double tangential =
            banded_form(elastic_.tangential, order_, w) + log_omega * banded_form(loss_.tangential, order_, w);
        // d(w^2)/dl at fixed modulus is (2l + 1) int mu W^2 dr; the modulus grows with w, which makes the group faster by 1/(pi Q).
        const double slope = (degree + 0.5) * tangential / omega;
        return {omega, attenuation_ ? 1 / inverse_q : std::numeric_limits<double>::infinity(),
                dispersion_ ? slope / (1 - inverse_q / pi) : slope};
    }

  private:
    static shear_moduli shear(const love_parameters& moduli) { return {moduli.L, moduli.N}; }

    int order_;
    bool dispersion_;
    bool attenuation_;
    double centre_;
    band inertia_;
    energy stiffness_; // at the centre frequency
    energy elastic_;   // at 1 s
    energy loss_;
    energy loss_squared_;
};

void append(mode_arrays& out, std::int64_t n, std::int64_t l, const dispersive_problem::properties& mode, double radius,
            std::span<const double> vector) {
    out.n.push_back(n);
    out.l.push_back(l);
    out.omega_rad_s.push_back(mode.omega);
    out.q.push_back(mode.q);
    out.group_velocity_m_s.push_back(radius * mode.d_omega_d_degree);
    // LAPACK's sign is arbitrary; positive at the surface makes catalogues comparable.
    const double sign = vector.back() < 0 ? -1 : 1;
    for (const double value : vector) {
        out.eigenvectors.push_back(sign * value);
    }
}

void check_stored(const earth_model& earth, const mode_arrays& a) {
    const std::size_t modes = a.n.size();
    const bool consistent = a.l.size() == modes && a.omega_rad_s.size() == modes && a.q.size() == modes &&
                            a.group_velocity_m_s.size() == modes && a.eigenvectors.size() == modes * a.nodes_m.size();
    if (a.order < 2 || a.order > max_order) {
        throw user_error(fmt::format("modes: stored element order {} is out of range; allowed: 2 to {}", a.order, max_order));
    }
    if (!consistent) {
        throw user_error(
            fmt::format("modes: stored arrays contradict each other: {} modes of {} nodes need {} eigenvector values, got {}",
                        modes, a.nodes_m.size(), modes * a.nodes_m.size(), a.eigenvectors.size()));
    }
    if (a.nodes_m.empty() || a.nodes_m.front() != earth.cmb_radius_m() || a.nodes_m.back() != earth.solid_surface_radius_m()) {
        throw user_error(fmt::format("modes: stored nodes do not span the mantle and crust of {}: {} to {} m are needed",
                                     earth.name(), earth.cmb_radius_m(), earth.solid_surface_radius_m()));
    }
    for (std::size_t i = 0; i < modes; ++i) {
        if (a.l[i] < 1 || a.n[i] < 0 || !(a.omega_rad_s[i] > 0) || !std::isfinite(a.omega_rad_s[i]) || !(a.q[i] > 0)) {
            throw user_error(fmt::format("modes: stored mode {} is no toroidal mode: n = {}, l = {}, w = {} rad/s, Q = {}", i,
                                         a.n[i], a.l[i], a.omega_rad_s[i], a.q[i]));
        }
    }
}

} // namespace

mode_catalogue mode_catalogue::solve(const earth_model& earth, const mode_options& options) {
    check(options);
    const radial_mesh mesh = radial_mesh::build(earth, options.order, 1e3 * options.element_km);
    const dispersive_problem problem(earth, mesh, options);
    mode_arrays out;
    out.nodes_m.assign(mesh.nodes_m().begin(), mesh.nodes_m().end());
    out.order = mesh.order();
    out.shortest_period_s = options.shortest_period_s;
    out.dispersion = options.dispersion;
    const double limit = 2 * pi / options.shortest_period_s;
    // Frequencies at the centre's modulus are within 2% of the modes' own.
    const double margin = options.dispersion ? 1.03 * limit : limit;
    const std::size_t unknowns = static_cast<std::size_t>(mesh.unknowns());
    for (std::int64_t l = 1; l <= max_degree; ++l) {
        const double degree = static_cast<double>(l);
        const eigenpairs pairs = problem.solve(degree * (degree + 1), margin * margin);
        // Frequencies increase with the degree on every branch, so the first degree without modes is the last; l = 1 lacks n = 0.
        if (pairs.omega_squared.empty() && l > 1) {
            break;
        }
        for (std::size_t i = 0; i < pairs.omega_squared.size(); ++i) {
            const auto vector = std::span(pairs.vectors).subspan(i * unknowns, unknowns);
            const auto mode = problem.own_frequency(degree, pairs.omega_squared[i], vector);
            const std::int64_t overtone = static_cast<std::int64_t>(i) + (l == 1 ? 1 : 0);
            if (mode.omega < limit) {
                append(out, overtone, l, mode, earth.solid_surface_radius_m(), vector);
            }
        }
    }
    return {earth, std::move(out)};
}

mode_catalogue::mode_catalogue(earth_model earth, mode_arrays arrays)
    : earth_(std::move(earth)), arrays_(std::move(arrays)), mesh_(arrays_.nodes_m, arrays_.order) {
    check_stored(earth_, arrays_);
}

std::span<const double> mode_catalogue::eigenvector(std::int64_t mode) const {
    const std::size_t unknowns = arrays_.nodes_m.size();
    return std::span(arrays_.eigenvectors).subspan(static_cast<std::size_t>(mode) * unknowns, unknowns);
}

std::pair<double, double> mode_catalogue::eigenfunction(std::int64_t mode, double radius_m) const {
    if (mode < 0 || mode >= size()) {
        throw user_error(fmt::format("modes: index {} is out of range; allowed: 0 to {}", mode, size() - 1));
    }
    if (!(radius_m >= earth_.cmb_radius_m() && radius_m <= earth_.solid_surface_radius_m())) {
        throw user_error(fmt::format("modes: radius {} m is outside mantle and crust; allowed: {} to {} m", radius_m,
                                     earth_.cmb_radius_m(), earth_.solid_surface_radius_m()));
    }
    const std::int64_t element = mesh_.find(radius_m);
    const auto nodes = mesh_.element_nodes_m(element);
    std::array<double, max_order + 1> values{};
    std::array<double, max_order + 1> derivatives{};
    lagrange(nodes, radius_m, std::span(values).first(nodes.size()), std::span(derivatives).first(nodes.size()));
    const auto w = eigenvector(mode).subspan(static_cast<std::size_t>(element * mesh_.order()), nodes.size());
    std::pair<double, double> out{0, 0};
    for (std::size_t a = 0; a < nodes.size(); ++a) {
        out.first += values[a] * w[a];
        out.second += derivatives[a] * w[a];
    }
    return out;
}

std::vector<double> toroidal_frequencies(const earth_model& earth, double degree, const mode_options& options) {
    check(options);
    const radial_mesh mesh = radial_mesh::build(earth, options.order, 1e3 * options.element_km);
    mode_options elastic = options;
    elastic.dispersion = false;
    const dispersive_problem problem(earth, mesh, elastic);
    const double limit = 2 * pi / options.shortest_period_s;
    std::vector<double> omega = problem.solve(degree * (degree + 1), limit * limit).omega_squared;
    for (double& value : omega) {
        value = std::sqrt(value);
    }
    return omega;
}

} // namespace craton::tomography
