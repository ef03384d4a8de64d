#include <craton/apps/tomography/spheroidal_catalogue.hpp>

#include "mode_space.hpp"
#include "spheroidal_system.hpp"

#include <craton/apps/tomography/kernels/finite_elements.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace craton::tomography {

namespace {

constexpr double pi = std::numbers::pi;
constexpr double longest_period_s = 5500; // 0S2, the longest, has 3233 s
constexpr int max_order = 8;
constexpr std::int64_t max_degree = 20000;
constexpr double only_fluid = 0.999; // Stoneley modes of the core-mantle boundary reach 0.65

void check(const spheroidal_options& options) {
    if (!(options.shortest_period_s >= 10 && options.shortest_period_s <= 2000)) {
        throw user_error(fmt::format("spheroidal modes: shortest period {} s is out of range; allowed: 10 to 2000 s",
                                     options.shortest_period_s));
    }
    if (options.order < 2 || options.order > max_order) {
        throw user_error(
            fmt::format("spheroidal modes: element order {} is out of range; allowed: 2 to {}", options.order, max_order));
    }
    if (!(options.elements_per_wavelength >= 0.5 && options.elements_per_wavelength <= 10)) {
        throw user_error(fmt::format("spheroidal modes: {} elements per wavelength is out of range; allowed: 0.5 to 10",
                                     options.elements_per_wavelength));
    }
}

/// (2 / pi) ln(w / 2 pi): how far the moduli are from their values at 1 s.
double log_of(double omega_rad_s) { return 2 / pi * std::log(omega_rad_s / (2 * pi)); }

/// The wave by whose length elements are measured. The Earth's layers want this much even where only long periods are asked for.
double element_period_s(const spheroidal_options& options) { return std::min(options.shortest_period_s, 300.0); }

struct solved_mode {
    double omega = 0;
    double q = 0;
    double slope = 0; // dw / dl
    std::vector<double> vector;
};

/// All modes of one degree, frequency band by frequency band.
class degree_problem {
  public:
    degree_problem(const spheroidal_system& system, double degree, const spheroidal_options& options)
        : system_(system), degree_(degree), options_(options) {}

    /// By increasing frequency, from the longest period to the shortest asked for.
    [[nodiscard]] std::vector<solved_mode> solve() const {
        // Bands of frequency, inside which the moduli change little. They are the same whatever the shortest period, and so are the
        // modes.
        constexpr double ratio = 1.5;
        const double highest = 2 * pi / options_.shortest_period_s;
        std::vector<solved_mode> out;
        for (double from = 2 * pi / longest_period_s; from < highest; from *= ratio) {
            const bool last = from * ratio >= highest;
            add_band({from, last ? highest : from * ratio, from * std::sqrt(ratio), from > 2 * pi / longest_period_s, !last}, out);
        }
        std::sort(out.begin(), out.end(), [](const solved_mode& a, const solved_mode& b) { return a.omega < b.omega; });
        return out;
    }

  private:
    /// Own frequencies that two bands give to a mode at their boundary differ by less than this; such a mode is accepted from both
    /// sides and then recognised by its eigenvector.
    static constexpr double overlap = 1e-4;

    struct frequency_band {
        double from;
        double to;
        double centre;   // whose moduli are used
        bool open_below; // towards another band, which may have found some of the same modes
        bool open_above;
    };

    void add_band(const frequency_band& band, std::vector<solved_mode>& out) const {
        const double log_centre = options_.dispersion ? log_of(band.centre) : 0;
        // At the centre's moduli frequencies are within ln(1.25) / (pi Q) of the modes' own, 0.1% for the lowest Q.
        const double margin = options_.dispersion ? 1.005 : 1.0 + overlap;
        const double rate = natural_units::rate_per_s();
        const double lower = std::pow(band.from / margin / rate, 2);
        const double upper = std::pow(band.to * margin / rate, 2);
        const mode_space found = without_fluid_modes(solve_interval(system_.pencil(degree_, log_centre), lower, upper));
        const std::size_t earlier = out.size();
        for (std::size_t i = 0; i < found.size(); ++i) {
            solved_mode mode = own_frequency(found, i, log_centre);
            const double least = band.open_below ? band.from * (1 - overlap) : band.from;
            const double most = band.open_above ? band.to * (1 + overlap) : band.to;
            if (mode.omega < least || mode.omega >= most || known(mode, earlier, out)) {
                continue;
            }
            out.push_back(std::move(mode));
        }
    }

    [[nodiscard]] bool known(const solved_mode& mode, std::size_t earlier, const std::vector<solved_mode>& all) const {
        return std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(earlier), [&](const solved_mode& other) {
            return std::abs(other.omega / mode.omega - 1) < 2 * overlap &&
                   std::abs(system_.product(other.vector, mode.vector)) > std::numbers::sqrt2 / 2;
        });
    }

    [[nodiscard]] mode_space without_fluid_modes(const eigenpairs& pairs) const {
        const std::size_t unknowns = static_cast<std::size_t>(system_.unknowns());
        std::vector<double> values;
        std::vector<double> vectors;
        for (std::size_t i = 0; i < pairs.omega_squared.size(); ++i) {
            const auto x = std::span(pairs.vectors).subspan(i * unknowns, unknowns);
            if (system_.fluid_fraction(x) <= only_fluid) {
                values.push_back(pairs.omega_squared[i]);
                vectors.insert(vectors.end(), x.begin(), x.end());
            }
        }
        return {system_, degree_, std::move(values), std::move(vectors)};
    }

    /// w^2 is the eigenvalue at the mode's place when the moduli are those at w.
    [[nodiscard]] solved_mode own_frequency(const mode_space& found, std::size_t place, double log_centre) const {
        const double rate = natural_units::rate_per_s();
        mode_space::moved_mode at = found.moved(place, 0);
        double log_omega = 0;
        if (options_.dispersion) {
            constexpr int fixed_point_steps = 5; // each reduces the error by pi Q > 200
            for (int step = 0; step < fixed_point_steps; ++step) {
                log_omega = log_of(std::sqrt(at.omega_squared) * rate);
                at = found.moved(place, log_omega - log_centre);
            }
        }
        const std::vector<double>& x = at.vector;
        const double omega = std::sqrt(at.omega_squared);
        const double loss = system_.loss(degree_, x);
        const double inverse_q = (loss + log_omega * system_.loss_squared(degree_, x)) / (omega * omega);
        const double slope = 0.5 * system_.slope(degree_, log_omega, x) / omega;
        return {omega * rate, options_.attenuation ? 1 / inverse_q : std::numeric_limits<double>::infinity(),
                rate * (options_.dispersion ? slope / (1 - inverse_q / pi) : slope), at.vector};
    }

    const spheroidal_system& system_;
    double degree_;
    spheroidal_options options_;
};

void append(spheroidal_arrays& out, std::int64_t n, std::int64_t l, const solved_mode& mode, const spheroidal_system& system,
            const earth_model& earth, std::size_t surface) {
    out.n.push_back(n);
    out.l.push_back(l);
    out.omega_rad_s.push_back(mode.omega);
    out.q.push_back(mode.q);
    out.group_velocity_m_s.push_back(l == 0 ? 0 : earth.solid_surface_radius_m() * mode.slope);
    std::vector<double> values = system.nodal_values(mode.vector);
    // The solver's sign is arbitrary; U positive at the solid surface makes catalogues comparable.
    const double displacement = (values[surface] < 0 ? -1 : 1) * natural_units::displacement();
    const double potential = displacement * natural_units::gravity_m_s2();
    const std::size_t block = values.size() / 3;
    for (std::size_t i = 0; i < values.size(); ++i) {
        out.eigenfunctions.push_back(values[i] * (i < 2 * block ? displacement : potential));
    }
}

std::size_t values_per_mode(const spheroidal_arrays& a) {
    const std::size_t elements = a.nodes_m.empty() ? 0 : (a.nodes_m.size() - 1) / static_cast<std::size_t>(a.order);
    return 3 * elements * (static_cast<std::size_t>(a.order) + 1);
}

void check_stored(const earth_model& earth, const spheroidal_arrays& a) {
    if (a.order < 2 || a.order > max_order) {
        throw user_error(
            fmt::format("spheroidal modes: stored element order {} is out of range; allowed: 2 to {}", a.order, max_order));
    }
    const std::size_t modes = a.n.size();
    const std::size_t values = values_per_mode(a);
    const bool consistent = a.l.size() == modes && a.omega_rad_s.size() == modes && a.q.size() == modes &&
                            a.group_velocity_m_s.size() == modes && a.eigenfunctions.size() == modes * values;
    if (!consistent) {
        throw user_error(
            fmt::format("spheroidal modes: stored arrays contradict each other: {} modes need {} values of eigenfunctions, "
                        "got {}",
                        modes, modes * values, a.eigenfunctions.size()));
    }
    if (a.nodes_m.empty() || a.nodes_m.front() != 0 || a.nodes_m.back() != earth.surface_radius_m()) {
        throw user_error(fmt::format("spheroidal modes: stored nodes do not span {}: 0 to {} m are needed", earth.name(),
                                     earth.surface_radius_m()));
    }
    for (std::size_t i = 0; i < modes; ++i) {
        if (a.l[i] < 0 || a.n[i] < 0 || !(a.omega_rad_s[i] > 0) || !std::isfinite(a.omega_rad_s[i]) || !(a.q[i] > 0)) {
            throw user_error(fmt::format("spheroidal modes: stored mode {} is none: n = {}, l = {}, w = {} rad/s, Q = {}", i,
                                         a.n[i], a.l[i], a.omega_rad_s[i], a.q[i]));
        }
    }
}

} // namespace

spheroidal_catalogue spheroidal_catalogue::solve(const earth_model& earth, const spheroidal_options& options) {
    check(options);
    const radial_mesh mesh =
        radial_mesh::whole_earth(earth, options.order, element_period_s(options), options.elements_per_wavelength);
    const spheroidal_system system(earth, mesh, options.gravity);
    spheroidal_arrays out;
    out.nodes_m.assign(mesh.nodes_m().begin(), mesh.nodes_m().end());
    out.order = mesh.order();
    out.shortest_period_s = options.shortest_period_s;
    out.dispersion = options.dispersion;
    // The last value of U below the solid surface, in nodal_values().
    const std::size_t functions = static_cast<std::size_t>(mesh.order()) + 1;
    std::int64_t top = mesh.find(earth.solid_surface_radius_m());
    top -= mesh.element_nodes_m(top).front() == earth.solid_surface_radius_m() ? 1 : 0;
    const std::size_t surface = static_cast<std::size_t>(top) * functions + functions - 1;
    for (std::int64_t l = 0; l <= max_degree; ++l) {
        const std::vector<solved_mode> modes = degree_problem(system, static_cast<double>(l), options).solve();
        // Frequencies increase with the degree on every branch, so the first degree without modes is the last; l = 0 and 1 lack the
        // longest periods.
        if (modes.empty() && l > 1) {
            break;
        }
        std::int64_t n = l == 1 ? 2 : 0;
        for (const solved_mode& mode : modes) {
            append(out, n++, l, mode, system, earth, surface);
        }
    }
    return {earth, std::move(out)};
}

spheroidal_catalogue::spheroidal_catalogue(earth_model earth, spheroidal_arrays arrays)
    : earth_(std::move(earth)), arrays_(std::move(arrays)), mesh_(arrays_.nodes_m, arrays_.order) {
    check_stored(earth_, arrays_);
}

spheroidal_point spheroidal_catalogue::evaluate(std::int64_t mode, double radius_m, bool below) const {
    if (mode < 0 || mode >= size()) {
        throw user_error(fmt::format("spheroidal modes: index {} is out of range; allowed: 0 to {}", mode, size() - 1));
    }
    if (!(radius_m >= 0 && radius_m <= earth_.surface_radius_m())) {
        throw user_error(fmt::format("spheroidal modes: radius {} m is outside the Earth; allowed: 0 to {} m", radius_m,
                                     earth_.surface_radius_m()));
    }
    std::int64_t element = mesh_.find(radius_m);
    if (below && element > 0 && radius_m == mesh_.element_nodes_m(element).front()) {
        --element;
    }
    const auto nodes = mesh_.element_nodes_m(element);
    const std::size_t functions = nodes.size();
    std::array<double, max_order + 1> values{};
    std::array<double, max_order + 1> slopes{};
    lagrange(nodes, radius_m, std::span(values).first(functions), std::span(slopes).first(functions));
    const std::size_t block = static_cast<std::size_t>(mesh_.elements()) * functions;
    const double* const nodal =
        arrays_.eigenfunctions.data() + static_cast<std::size_t>(mode) * 3 * block + static_cast<std::size_t>(element) * functions;
    spheroidal_point out;
    for (std::size_t a = 0; a < functions; ++a) {
        out.u += values[a] * nodal[a];
        out.du += slopes[a] * nodal[a];
        out.v += values[a] * nodal[block + a];
        out.dv += slopes[a] * nodal[block + a];
        out.p += values[a] * nodal[2 * block + a];
        out.dp += slopes[a] * nodal[2 * block + a];
    }
    return out;
}

std::vector<double> spheroidal_frequencies(const earth_model& earth, double degree, const spheroidal_options& options) {
    check(options);
    if (!(degree >= 1.5 && degree <= static_cast<double>(max_degree))) {
        throw user_error(fmt::format("spheroidal modes: degree {} is out of range; allowed: 1.5 to {}", degree, max_degree));
    }
    const radial_mesh mesh =
        radial_mesh::whole_earth(earth, options.order, element_period_s(options), options.elements_per_wavelength);
    const spheroidal_system system(earth, mesh, options.gravity);
    spheroidal_options elastic = options;
    elastic.dispersion = false;
    std::vector<double> omega;
    for (const solved_mode& mode : degree_problem(system, degree, elastic).solve()) {
        omega.push_back(mode.omega);
    }
    return omega;
}

} // namespace craton::tomography
