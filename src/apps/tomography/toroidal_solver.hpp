#pragma once

#include <craton/apps/tomography/earth_model.hpp>
#include <craton/apps/tomography/radial_mesh.hpp>

#include <functional>
#include <span>
#include <vector>

namespace craton::tomography {

/// A banded matrix in LAPACK's upper storage, bandwidth = the mesh's order.
using band = std::vector<double>;

/// The two halves of the strain energy, A + (k^2 - 2) B, weighted by any pair of moduli of the radius in the places of L and N:
/// A = int L (r W' - W)^2 dr, B = int N W^2 dr.
struct energy {
    band radial;
    band tangential;

    [[nodiscard]] double form(double k_squared, std::span<const double> w, int bandwidth) const;
};

struct shear_moduli {
    double L;
    double N;
};

using moduli_at = std::function<shear_moduli(const material&)>;
[[nodiscard]] energy assemble_energy(const earth_model& earth, const radial_mesh& mesh, const moduli_at& weight);
/// int rho r^2 W^2 dr.
[[nodiscard]] band assemble_inertia(const earth_model& earth, const radial_mesh& mesh);

struct eigenpairs {
    std::vector<double> omega_squared; ///< increasing
    std::vector<double> vectors;       ///< pairs x unknowns, unit inertia
};

/// Eigenvalues of A + (k^2 - 2) B = w^2 M in (lower, upper], by LAPACK's banded generalised solver.
[[nodiscard]] eigenpairs solve_banded(const energy& stiffness, const band& inertia, double k_squared, int bandwidth, double lower,
                                      double upper);

} // namespace craton::tomography
