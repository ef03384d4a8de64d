#pragma once

#include "banded_eigenproblem.hpp"

#include <craton/apps/tomography/earth_model.hpp>
#include <craton/apps/tomography/radial_mesh.hpp>
#include <craton/apps/tomography/spheroidal_catalogue.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// Lengths over the Earth's radius, densities over 5515 kg/m^3, times so that pi G rho = 1: all terms of the energy are then of
/// order one, which keeps pivots healthy.
struct natural_units {
    static constexpr double length_m = earth_radius_m;
    static constexpr double density_kg_m3 = 5515;
    [[nodiscard]] static double rate_per_s();   ///< 1 / time
    [[nodiscard]] static double modulus_Pa();   ///< density (length rate)^2
    [[nodiscard]] static double gravity_m_s2(); ///< length rate^2
    [[nodiscard]] static double displacement(); ///< of eigenfunctions of unit inertia: 1 / sqrt(density length^3)
};

/// A matrix that depends on the degree: zero + k one + k^2 two, k^2 = l (l + 1).
struct degree_polynomial {
    std::array<band, 3> power;
};

/// The discrete form of the spheroidal modes' Rayleigh quotient (Dahlen & Tromp 1998, chapter 8) in natural units:
///
///   int [C r^2 U'^2 + 2 F r U' G + (A - N) G^2 + L r^2 X^2 + N (k^2 - 2) V^2] dr
///   + int rho [4 pi g rho U^2 r^2 - 4 g r U^2 + 2 k g r U V + 2 r^2 U P' + 2 k r V P] dr
///   + 1 / (4 pi G) { int [r^2 P'^2 + k^2 P^2] dr + (l + 1) a P(a)^2 }  =  w^2 int rho r^2 (U^2 + V^2) dr,
///   G = 2 U - k V,  X = V' - V / r + k U / r.
///
/// The perturbation P of the potential is kept as an unknown without mass: it leaves the matrix banded, and the number of negative
/// eigenvalues as it is, because its own block is positive definite. U and P are continuous, of the mesh's order p. V is continuous
/// inside connected solids, where it has order p; in fluids it is discontinuous, of order p - 1, so that U' and V can cancel in div
/// u: otherwise fluid layers lock. What remains are modes of the fluid core alone below the seismic ones (undertones, which PREM's
/// nearly neutral core does not have); fluid_fraction() knows them.
class spheroidal_system {
  public:
    spheroidal_system(const earth_model& earth, const radial_mesh& mesh, gravity_kind gravity);

    /// At a degree (real, 0 or at least 1), with moduli of the frequency whose (2 / pi) ln(w / 2 pi) is log_omega. At degree 0, V
    /// is held at zero.
    [[nodiscard]] banded_pencil pencil(double degree, double log_omega) const;

    /// int of loss() over the mode, and of loss() with Q squared: the first and second derivative of w^2 by log_omega and of 1/Q.
    [[nodiscard]] double loss(double degree, std::span<const double> x) const;
    [[nodiscard]] std::vector<double> loss_product(double degree, std::span<const double> x) const; ///< loss matrix times x
    [[nodiscard]] double loss_squared(double degree, std::span<const double> x) const;
    /// d(w^2) / dl at fixed moduli.
    [[nodiscard]] double slope(double degree, double log_omega, std::span<const double> x) const;
    /// Kinetic energy in fluid layers over all kinetic energy.
    [[nodiscard]] double fluid_fraction(std::span<const double> x) const;
    [[nodiscard]] double product(std::span<const double> x, std::span<const double> y) const; ///< x^T M y

    [[nodiscard]] std::int64_t unknowns() const { return unknowns_; }
    /// (U, V, P) at each element's nodes: 3 x elements x (order + 1) values.
    [[nodiscard]] std::vector<double> nodal_values(std::span<const double> x) const;

  private:
    struct element {
        bool fluid = false;
        std::vector<std::int64_t> u, v, p; // unknowns, by basis function
    };

    void number_unknowns(const earth_model& earth);
    void assemble(const earth_model& earth, gravity_kind gravity);
    [[nodiscard]] band zero_band() const;
    [[nodiscard]] double form(const degree_polynomial& matrix, double degree, std::span<const double> x) const;
    [[nodiscard]] double form_slope(const degree_polynomial& matrix, double degree, std::span<const double> x) const;

    radial_mesh mesh_;
    std::vector<element> elements_;
    std::int64_t unknowns_ = 0;
    int bandwidth_ = 0;
    std::vector<double> fluid_points_; // of V's basis in fluids, on [-1, 1]
    degree_polynomial elastic_, loss_, loss_squared_, gravity_;
    band surface_; // factor of l + 1
    band inertia_;
    band fluid_inertia_;
};

} // namespace craton::tomography
