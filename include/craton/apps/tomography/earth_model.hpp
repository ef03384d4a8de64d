#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace craton::tomography {

/// The radius by which PREM's polynomials are scaled, and from which source depths count.
inline constexpr double earth_radius_m = 6371.0e3;

/// Newton's constant as mode codes of PREM's time have it; CODATA 2018 (6.6743e-11) would shorten 0S2 by 5e-5 and 0S4 by 1.6e-5.
inline constexpr double gravitational_constant = 6.6723e-11;

/// Love's moduli of a medium whose only axis is the vertical one, in Pa: A = rho vph^2, C = rho vpv^2, L = rho vsv^2,
/// N = rho vsh^2, F = eta (A - 2 L). Isotropic: A = C = kappa + 4/3 mu, L = N = mu, F = kappa - 2/3 mu.
struct love_parameters {
    double A = 0;
    double C = 0;
    double F = 0;
    double L = 0;
    double N = 0;

    /// Of the isotropic material that is nearest (Voigt's average).
    [[nodiscard]] double voigt_bulk_modulus() const { return (C + 4 * (A - N + F)) / 9; }
    [[nodiscard]] double voigt_shear_modulus() const { return (C + A + 6 * L + 5 * N - 2 * F) / 15; }
};

/// Elastic properties at one radius, at the reference period of 1 s.
struct material {
    double density_kg_m3 = 0;
    double vp_m_s = 0; ///< of vertical P waves
    double vs_m_s = 0; ///< of vertical S waves (SV)
    double q_mu = 0;   ///< infinite where nothing is lost
    double vph_m_s = 0;
    double vsh_m_s = 0;
    double eta = 1;
    double q_kappa = 0;

    /// L; the shear modulus where the medium is isotropic.
    [[nodiscard]] double shear_modulus_Pa() const { return density_kg_m3 * vs_m_s * vs_m_s; }
    [[nodiscard]] love_parameters love() const;
    /// d(moduli) / d((2 / pi) ln(w / 2 pi)): kappa / Q_kappa and mu / Q_mu take the places that kappa and mu have in an isotropic
    /// medium, with Voigt's averages for both; L and N lose L / Q_mu and N / Q_mu.
    [[nodiscard]] love_parameters loss() const;
    [[nodiscard]] bool fluid() const { return vs_m_s == 0; }
};

/// Cubic polynomials in x = r / 6371 km, as Dziewonski & Anderson (1981) tabulate them: g/cm^3 and km/s.
struct earth_layer {
    double inner_radius_m = 0;
    double outer_radius_m = 0;
    std::array<double, 4> density{};
    std::array<double, 4> vp{}; ///< vpv where the layer is anisotropic
    std::array<double, 4> vs{}; ///< vsv where the layer is anisotropic
    double q_mu = 0;
    double q_kappa = 57823;
    bool anisotropic = false; ///< otherwise the following are not looked at
    std::array<double, 4> vph{};
    std::array<double, 4> vsh{};
    std::array<double, 4> eta{};

    /// What is at a radius within the layer, and whether it is fluid.
    [[nodiscard]] material evaluate(double radius_m) const;
    [[nodiscard]] bool fluid() const { return evaluate(outer_radius_m).fluid(); }
    /// Of the part of the layer below a radius.
    [[nodiscard]] double mass_below_kg(double radius_m) const;
};

/// A row of a table of a reference Earth, as mineos has it in a deck.
struct earth_row {
    double radius_m = 0, density_kg_m3 = 0, vpv_m_s = 0, vsv_m_s = 0, q_kappa = 0, q_mu = 0, vph_m_s = 0, vsh_m_s = 0, eta = 1;
};

/// A spherically symmetric Earth of polynomial layers, isotropic or radially anisotropic: a value, immutable.
class earth_model {
  public:
    /// PREM (Dziewonski & Anderson 1981) as published: anisotropic between 24.4 and 220 km depth, with its ocean of 3 km.
    static earth_model prem();
    /// PREM in its isotropic form. The ocean is left out (no SH motion): the surface is at 6368 km.
    static earth_model prem_isotropic();
    /// The same with the ocean, 6368 to 6371 km, which spheroidal modes feel: 1e-4 of 0S2's period, 2e-4 of 0S7's.
    static earth_model prem_isotropic_ocean();
    /// PREM without crust and ocean, the lid extended to 6371 km: AxiSEM's `prem_iso_light`.
    static earth_model prem_iso_light();
    /// Throws user_error that lists the names there are.
    static earth_model by_name(std::string_view name);
    /// Any layers, from the centre up. Throws user_error when they leave gaps, when there is no solid layer above a fluid core, or
    /// when a density or a speed of compression is not positive at a layer's ends.
    static earth_model from_layers(std::string name, std::vector<earth_layer> layers);
    /// Of a table from the centre up, linear between its rows; two rows of one radius are a discontinuity. A layer's Q is the
    /// harmonic mean of its rows'. Throws user_error when radii fall or do not begin at 0, and as from_layers().
    static earth_model from_table(std::string name, std::span<const earth_row> rows);

    /// What by_name() takes.
    [[nodiscard]] const std::string& name() const { return name_; }
    /// The outer radius of the fluid core.
    [[nodiscard]] double cmb_radius_m() const;
    /// The outer surface, ocean included.
    [[nodiscard]] double surface_radius_m() const { return layers_.back().outer_radius_m; }
    /// The ocean floor, or the surface where there is no ocean: mantle and crust end here, and receivers stand here.
    [[nodiscard]] double solid_surface_radius_m() const;
    [[nodiscard]] std::span<const earth_layer> layers() const { return layers_; }
    /// Boundaries between layers, increasing, without the centre and the surface.
    [[nodiscard]] std::vector<double> discontinuities_m() const;
    /// At a discontinuity the value above it, or below it when asked. Throws user_error outside the Earth.
    [[nodiscard]] material evaluate(double radius_m, bool below = false) const;
    /// Of the mass below the radius.
    [[nodiscard]] double gravity_m_s2(double radius_m) const;

  private:
    earth_model(std::string name, std::vector<earth_layer> layers);

    std::string name_;
    std::vector<earth_layer> layers_;
    std::vector<double> mass_kg_; // below each layer
};

/// Physical dispersion of an absorption band (PREM eq. 4): mu(w) = mu(1 s) [1 + 2 / (pi Q_mu) ln(w / 2 pi)].
[[nodiscard]] double dispersed_shear_modulus_Pa(const material& at, double omega_rad_s);
/// The same for all five moduli, with the dispersion of the bulk modulus: love() + (2 / pi) ln(w / 2 pi) loss().
[[nodiscard]] love_parameters dispersed_love_parameters(const material& at, double omega_rad_s);

} // namespace craton::tomography
