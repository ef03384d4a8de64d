#include "toroidal_solver.hpp"

#include <craton/apps/tomography/kernels/finite_elements.hpp>
#include <craton/apps/tomography/kernels/quadrature.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>

// The hidden lengths of the character arguments close the list, as gfortran passes them.
extern "C" void dsbgvx_(const char* jobz, const char* range, const char* uplo, const int* n, const int* ka, const int* kb,
                        double* ab, const int* ldab, double* bb, const int* ldbb, double* q, const int* ldq, const double* vl,
                        const double* vu, const int* il, const int* iu, const double* abstol, int* m, double* w, double* z,
                        const int* ldz, double* work, int* iwork, int* ifail, int* info, std::size_t, std::size_t, std::size_t);

namespace craton::tomography {

namespace {

/// Calls visit(first unknown, radii, weights, values, derivatives) per element; the arrays are per quadrature point.
template <class Visit> void for_each_element(const radial_mesh& mesh, Visit visit) {
    const std::size_t functions = static_cast<std::size_t>(mesh.order()) + 1;
    // Exact to degree 2p + 7: rho vs^2 is of degree 9 in PREM, but nearly linear across one element.
    const std::size_t count = functions + 3;
    std::vector<double> points(count), weights(count), radii(count), scaled(count);
    std::vector<double> values(count * functions), derivatives(count * functions);
    gauss_legendre(points, weights);
    for (std::int64_t e = 0; e < mesh.elements(); ++e) {
        const auto nodes = mesh.element_nodes_m(e);
        const double half = 0.5 * (nodes.back() - nodes.front());
        for (std::size_t q = 0; q < count; ++q) {
            radii[q] = nodes.front() + half * (1 + points[q]);
            scaled[q] = half * weights[q];
            lagrange(nodes, radii[q], std::span(values).subspan(q * functions, functions),
                     std::span(derivatives).subspan(q * functions, functions));
        }
        visit(e * mesh.order(), radii, scaled, values, derivatives);
    }
}

band zero_band(const radial_mesh& mesh) { return band(static_cast<std::size_t>(mesh.unknowns() * (mesh.order() + 1)), 0.0); }

} // namespace

double energy::form(double k_squared, std::span<const double> w, int bandwidth) const {
    return banded_form(radial, bandwidth, w) + (k_squared - 2) * banded_form(tangential, bandwidth, w);
}

energy assemble_energy(const earth_model& earth, const radial_mesh& mesh, const moduli_at& weight) {
    energy out{zero_band(mesh), zero_band(mesh)};
    std::vector<double> vertical;
    std::vector<double> horizontal;
    std::vector<double> strain;
    for_each_element(mesh, [&](std::int64_t first, const std::vector<double>& radii, const std::vector<double>& weights,
                               const std::vector<double>& values, const std::vector<double>& derivatives) {
        const std::size_t functions = values.size() / radii.size();
        vertical.resize(radii.size());
        horizontal.resize(radii.size());
        strain.resize(values.size());
        for (std::size_t q = 0; q < radii.size(); ++q) {
            const shear_moduli moduli = weight(earth.evaluate(radii[q]));
            vertical[q] = weights[q] * moduli.L;
            horizontal[q] = weights[q] * moduli.N;
            for (std::size_t a = 0; a < functions; ++a) {
                strain[q * functions + a] = radii[q] * derivatives[q * functions + a] - values[q * functions + a];
            }
        }
        add_element(vertical, strain, first, mesh.order(), out.radial);
        add_element(horizontal, values, first, mesh.order(), out.tangential);
    });
    return out;
}

band assemble_inertia(const earth_model& earth, const radial_mesh& mesh) {
    band out = zero_band(mesh);
    std::vector<double> weighted;
    for_each_element(mesh, [&](std::int64_t first, const std::vector<double>& radii, const std::vector<double>& weights,
                               const std::vector<double>& values, const std::vector<double>&) {
        weighted.resize(radii.size());
        for (std::size_t q = 0; q < radii.size(); ++q) {
            weighted[q] = weights[q] * earth.evaluate(radii[q]).density_kg_m3 * radii[q] * radii[q];
        }
        add_element(weighted, values, first, mesh.order(), out);
    });
    return out;
}

eigenpairs solve_banded(const energy& stiffness, const band& inertia, double k_squared, int bandwidth, double lower, double upper) {
    const int rows = bandwidth + 1;
    const int n = static_cast<int>(inertia.size()) / rows;
    band a(inertia.size()); // both matrices are overwritten
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = stiffness.radial[i] + (k_squared - 2) * stiffness.tangential[i];
    }
    band b = inertia;
    const std::size_t un = static_cast<std::size_t>(n);
    std::vector<double> q(un * un), z(un * un), w(un), work(7 * un);
    std::vector<int> iwork(5 * un), ifail(un);
    const int unused = 0;
    const double tightest = 2 * std::numeric_limits<double>::min(); // LAPACK's advice for the most accurate eigenvalues
    int found = 0;
    int info = 0;
    dsbgvx_("V", "V", "U", &n, &bandwidth, &bandwidth, a.data(), &rows, b.data(), &rows, q.data(), &n, &lower, &upper, &unused,
            &unused, &tightest, &found, w.data(), z.data(), &n, work.data(), iwork.data(), ifail.data(), &info, 1, 1, 1);
    if (info != 0) {
        throw std::runtime_error(fmt::format("dsbgvx failed at k^2 = {}: info = {}", k_squared, info));
    }
    const std::size_t pairs = static_cast<std::size_t>(found);
    w.resize(pairs);
    z.resize(pairs * un);
    return {std::move(w), std::move(z)};
}

} // namespace craton::tomography
