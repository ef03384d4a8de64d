#include "spheroidal_system.hpp"

#include <craton/apps/tomography/kernels/banded.hpp>
#include <craton/apps/tomography/kernels/finite_elements.hpp>
#include <craton/apps/tomography/kernels/quadrature.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace craton::tomography {

namespace {

constexpr double pi = std::numbers::pi;
constexpr double newton = 1 / pi; // G in natural units

/// The quadratic form of one element as a full symmetric matrix: add(c, x, y) adds c x(u) y(u) for linear forms x and y.
class element_matrix {
  public:
    explicit element_matrix(std::size_t size) : size_(size), values_(size * size, 0.0) {}

    void add(double c, std::span<const double> x, std::span<const double> y) {
        for (std::size_t i = 0; i < size_; ++i) {
            for (std::size_t j = 0; j < size_; ++j) {
                values_[i * size_ + j] += 0.5 * c * (x[i] * y[j] + y[i] * x[j]);
            }
        }
    }

    void scatter(std::span<const std::int64_t> unknowns, std::int64_t bandwidth, band& out) const {
        for (std::size_t i = 0; i < size_; ++i) {
            for (std::size_t j = 0; j < size_; ++j) {
                const std::int64_t row = unknowns[i];
                const std::int64_t column = unknowns[j];
                if (row <= column) {
                    out[static_cast<std::size_t>(column * (bandwidth + 1) + bandwidth + row - column)] += values_[i * size_ + j];
                }
            }
        }
    }

  private:
    std::size_t size_;
    std::vector<double> values_;
};

/// The mode at one point as linear forms of an element's unknowns, which are ordered U, V, P.
struct point_forms {
    std::vector<double> u, r_du, v, r_dv, p, r_dp;

    explicit point_forms(std::size_t size) : u(size), r_du(size), v(size), r_dv(size), p(size), r_dp(size) {}
};

using element_polynomial = std::array<element_matrix, 3>;

element_polynomial zero_polynomial(std::size_t size) { return {element_matrix(size), element_matrix(size), element_matrix(size)}; }

void add_strain_energy(const love_parameters& m, double w, const point_forms& f, bool fluid, element_polynomial& out) {
    out[0].add(w * m.C, f.r_du, f.r_du);
    out[0].add(w * 4 * m.F, f.r_du, f.u);
    out[0].add(w * 4 * (m.A - m.N), f.u, f.u);
    out[1].add(-w * 2 * m.F, f.r_du, f.v);
    out[1].add(-w * 4 * (m.A - m.N), f.u, f.v);
    out[2].add(w * (m.A - m.N), f.v, f.v);
    if (fluid) {
        return;
    }
    std::vector<double> shear(f.v.size()); // r X without its part k U
    for (std::size_t i = 0; i < shear.size(); ++i) {
        shear[i] = f.r_dv[i] - f.v[i];
    }
    out[0].add(w * m.L, shear, shear);
    out[0].add(-w * 2 * m.N, f.v, f.v);
    out[1].add(w * 2 * m.L, shear, f.u);
    out[2].add(w * m.L, f.u, f.u);
    out[2].add(w * m.N, f.v, f.v);
}

void add_gravity(double density, double g, double r, double w, const point_forms& f, gravity_kind kind, element_polynomial& out) {
    // Without its sources the potential remains as a row of its own, at zero.
    out[0].add(w / (4 * pi * newton), f.r_dp, f.r_dp);
    out[2].add(w / (4 * pi * newton), f.p, f.p);
    if (kind == gravity_kind::none) {
        return;
    }
    out[0].add(w * density * r * (4 * pi * newton * density * r - 4 * g), f.u, f.u);
    out[1].add(w * 2 * density * g * r, f.u, f.v);
    if (kind == gravity_kind::full) {
        out[0].add(w * 2 * density * r, f.u, f.r_dp);
        out[1].add(w * 2 * density * r, f.v, f.p);
    }
}

love_parameters scaled(const love_parameters& m, double factor) {
    return {m.A * factor, m.C * factor, m.F * factor, m.L * factor, m.N * factor};
}

/// loss() with every Q squared.
love_parameters loss_squared_of(const material& at) {
    material twice = at;
    twice.q_mu *= at.q_mu;
    twice.q_kappa *= at.q_kappa;
    return twice.loss();
}

/// k as a function of a real degree, and its derivative.
double wavenumber(double degree) { return std::sqrt(degree * (degree + 1)); }

} // namespace

double natural_units::rate_per_s() { return std::sqrt(pi * gravitational_constant * density_kg_m3); }
double natural_units::modulus_Pa() { return density_kg_m3 * std::pow(length_m * rate_per_s(), 2); }
double natural_units::gravity_m_s2() { return length_m * rate_per_s() * rate_per_s(); }
double natural_units::displacement() { return 1 / std::sqrt(density_kg_m3 * std::pow(length_m, 3)); }

spheroidal_system::spheroidal_system(const earth_model& earth, const radial_mesh& mesh, gravity_kind gravity)
    : mesh_(mesh), fluid_points_(static_cast<std::size_t>(mesh.order())) {
    std::vector<double> weights(fluid_points_.size());
    gauss_legendre(fluid_points_, weights);
    number_unknowns(earth);
    assemble(earth, gravity);
}

void spheroidal_system::number_unknowns(const earth_model& earth) {
    const std::size_t functions = static_cast<std::size_t>(mesh_.order()) + 1;
    for (std::int64_t e = 0; e < mesh_.elements(); ++e) {
        const auto nodes = mesh_.element_nodes_m(e);
        element here;
        here.fluid = earth.evaluate(0.5 * (nodes.front() + nodes.back())).fluid();
        const element* const below = elements_.empty() ? nullptr : &elements_.back();
        for (std::size_t a = 0; a < functions; ++a) {
            const bool shared = a == 0 && below;
            here.u.push_back(shared ? below->u.back() : unknowns_++);
            here.p.push_back(shared ? below->p.back() : unknowns_++);
            if (here.fluid) {
                if (a > 0) {
                    here.v.push_back(unknowns_++);
                }
            } else {
                here.v.push_back(shared && !below->fluid ? below->v.back() : unknowns_++);
            }
        }
        std::int64_t first = here.u.front();
        std::int64_t last = 0;
        for (const auto* list : {&here.u, &here.v, &here.p}) {
            first = std::min(first, *std::min_element(list->begin(), list->end()));
            last = std::max(last, *std::max_element(list->begin(), list->end()));
        }
        bandwidth_ = std::max(bandwidth_, static_cast<int>(last - first));
        elements_.push_back(std::move(here));
    }
}

band spheroidal_system::zero_band() const { return band(static_cast<std::size_t>(unknowns_ * (bandwidth_ + 1)), 0.0); }

void spheroidal_system::assemble(const earth_model& earth, gravity_kind gravity) {
    for (degree_polynomial* matrix : {&elastic_, &loss_, &loss_squared_, &gravity_}) {
        for (band& part : matrix->power) {
            part = zero_band();
        }
    }
    surface_ = inertia_ = fluid_inertia_ = zero_band();
    const std::size_t functions = static_cast<std::size_t>(mesh_.order()) + 1;
    // Exact to degree 2p + 7: moduli and gravity are nearly quadratic across one element.
    const std::size_t count = functions + 3;
    std::vector<double> points(count), weights(count), values(functions), slopes(functions);
    std::vector<double> fluid_values(fluid_points_.size()), fluid_slopes(fluid_points_.size());
    gauss_legendre(points, weights);
    for (std::size_t e = 0; e < elements_.size(); ++e) {
        const element& here = elements_[e];
        const auto nodes = mesh_.element_nodes_m(static_cast<std::int64_t>(e));
        const double half = 0.5 * (nodes.back() - nodes.front());
        std::vector<std::int64_t> unknowns = here.u;
        unknowns.insert(unknowns.end(), here.v.begin(), here.v.end());
        unknowns.insert(unknowns.end(), here.p.begin(), here.p.end());
        const std::size_t size = unknowns.size();
        std::array<element_polynomial, 4> energy{zero_polynomial(size), zero_polynomial(size), zero_polynomial(size),
                                                 zero_polynomial(size)};
        element_matrix inertia(size);
        point_forms f(size);
        for (std::size_t q = 0; q < count; ++q) {
            const double radius_m = nodes.front() + half * (1 + points[q]);
            lagrange(nodes, radius_m, values, slopes);
            const std::size_t p_first = functions + here.v.size();
            for (std::size_t a = 0; a < functions; ++a) {
                f.u[a] = f.p[p_first + a] = values[a];
                f.r_du[a] = f.r_dp[p_first + a] = radius_m * slopes[a];
            }
            if (here.fluid) {
                lagrange(fluid_points_, points[q], fluid_values, fluid_slopes);
                std::copy(fluid_values.begin(), fluid_values.end(), f.v.begin() + static_cast<std::ptrdiff_t>(functions));
            } else {
                for (std::size_t a = 0; a < functions; ++a) {
                    f.v[functions + a] = values[a];
                    f.r_dv[functions + a] = radius_m * slopes[a];
                }
            }
            const material at = earth.evaluate(radius_m);
            const double w = weights[q] * half / natural_units::length_m;
            const double r = radius_m / natural_units::length_m;
            const double density = at.density_kg_m3 / natural_units::density_kg_m3;
            const double per_modulus = 1 / natural_units::modulus_Pa();
            add_strain_energy(scaled(at.love(), per_modulus), w, f, here.fluid, energy[0]);
            add_strain_energy(scaled(at.loss(), per_modulus), w, f, here.fluid, energy[1]);
            add_strain_energy(scaled(loss_squared_of(at), per_modulus), w, f, here.fluid, energy[2]);
            add_gravity(density, earth.gravity_m_s2(radius_m) / natural_units::gravity_m_s2(), r, w, f, gravity, energy[3]);
            inertia.add(w * density * r * r, f.u, f.u);
            inertia.add(w * density * r * r, f.v, f.v);
        }
        std::size_t i = 0;
        for (degree_polynomial* matrix : {&elastic_, &loss_, &loss_squared_, &gravity_}) {
            for (std::size_t power = 0; power < 3; ++power) {
                energy[i][power].scatter(unknowns, bandwidth_, matrix->power[power]);
            }
            ++i;
        }
        inertia.scatter(unknowns, bandwidth_, inertia_);
        if (here.fluid) {
            inertia.scatter(unknowns, bandwidth_, fluid_inertia_);
        }
    }
    const double a = mesh_.nodes_m().back() / natural_units::length_m;
    surface_[static_cast<std::size_t>(elements_.back().p.back() * (bandwidth_ + 1) + bandwidth_)] = a / (4 * pi * newton);
}

banded_pencil spheroidal_system::pencil(double degree, double log_omega) const {
    const double k = wavenumber(degree);
    banded_pencil out{bandwidth_, surface_, inertia_};
    const std::array<double, 3> power{1, k, k * k};
    for (double& value : out.stiffness) {
        value *= degree + 1;
    }
    for (std::size_t i = 0; i < power.size(); ++i) {
        for (std::size_t at = 0; at < out.stiffness.size(); ++at) {
            out.stiffness[at] += power[i] * (elastic_.power[i][at] + log_omega * loss_.power[i][at] + gravity_.power[i][at]);
        }
    }
    if (degree == 0) {
        const std::int64_t rows = bandwidth_ + 1;
        for (const element& e : elements_) {
            for (const std::int64_t v : e.v) {
                for (std::int64_t other = std::max<std::int64_t>(0, v - bandwidth_);
                     other <= std::min(unknowns_ - 1, v + bandwidth_); ++other) {
                    const std::size_t at = static_cast<std::size_t>(std::max(v, other) * rows + bandwidth_ - std::abs(v - other));
                    out.stiffness[at] = v == other ? 1 : 0;
                    out.inertia[at] = 0;
                }
            }
        }
    }
    return out;
}

double spheroidal_system::form(const degree_polynomial& matrix, double degree, std::span<const double> x) const {
    const double k = wavenumber(degree);
    return banded_form(matrix.power[0], bandwidth_, x) + k * banded_form(matrix.power[1], bandwidth_, x) +
           k * k * banded_form(matrix.power[2], bandwidth_, x);
}

double spheroidal_system::form_slope(const degree_polynomial& matrix, double degree, std::span<const double> x) const {
    const double k = wavenumber(degree);
    const double dk = degree > 0 ? (degree + 0.5) / k : 0; // radial modes have no V, and no branch
    return dk * (banded_form(matrix.power[1], bandwidth_, x) + 2 * k * banded_form(matrix.power[2], bandwidth_, x));
}

double spheroidal_system::loss(double degree, std::span<const double> x) const { return form(loss_, degree, x); }

std::vector<double> spheroidal_system::loss_product(double degree, std::span<const double> x) const {
    const double k = wavenumber(degree);
    std::vector<double> sum(x.size(), 0.0);
    std::vector<double> part(x.size());
    for (const auto& [factor, matrix] : {std::pair{1.0, &loss_.power[0]}, {k, &loss_.power[1]}, {k * k, &loss_.power[2]}}) {
        banded_multiply(*matrix, bandwidth_, x, part);
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += factor * part[i];
        }
    }
    return sum;
}

double spheroidal_system::loss_squared(double degree, std::span<const double> x) const { return form(loss_squared_, degree, x); }

double spheroidal_system::slope(double degree, double log_omega, std::span<const double> x) const {
    return form_slope(elastic_, degree, x) + log_omega * form_slope(loss_, degree, x) + form_slope(gravity_, degree, x) +
           banded_form(surface_, bandwidth_, x);
}

double spheroidal_system::fluid_fraction(std::span<const double> x) const {
    return banded_form(fluid_inertia_, bandwidth_, x) / banded_form(inertia_, bandwidth_, x);
}

double spheroidal_system::product(std::span<const double> x, std::span<const double> y) const {
    std::vector<double> my(y.size());
    banded_multiply(inertia_, bandwidth_, y, my);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        sum += x[i] * my[i];
    }
    return sum;
}

std::vector<double> spheroidal_system::nodal_values(std::span<const double> x) const {
    const std::size_t functions = static_cast<std::size_t>(mesh_.order()) + 1;
    const std::size_t block = elements_.size() * functions;
    std::vector<double> out(3 * block);
    std::vector<double> points(functions), values(fluid_points_.size()), slopes(fluid_points_.size());
    gauss_lobatto(points);
    for (std::size_t e = 0; e < elements_.size(); ++e) {
        const element& here = elements_[e];
        for (std::size_t a = 0; a < functions; ++a) {
            const std::size_t at = e * functions + a;
            out[at] = x[static_cast<std::size_t>(here.u[a])];
            out[2 * block + at] = x[static_cast<std::size_t>(here.p[a])];
            if (!here.fluid) {
                out[block + at] = x[static_cast<std::size_t>(here.v[a])];
                continue;
            }
            lagrange(fluid_points_, points[a], values, slopes);
            for (std::size_t b = 0; b < values.size(); ++b) {
                out[block + at] += values[b] * x[static_cast<std::size_t>(here.v[b])];
            }
        }
    }
    return out;
}

} // namespace craton::tomography
