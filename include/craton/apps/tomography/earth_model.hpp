#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace craton::tomography {

/// The radius by which PREM's polynomials are scaled, and from which source depths count.
inline constexpr double earth_radius_m = 6371.0e3;

/// Elastic properties at one radius, at the reference period of 1 s.
struct material {
    double density_kg_m3 = 0;
    double vp_m_s = 0;
    double vs_m_s = 0;
    double q_mu = 0; ///< infinite where nothing is lost

    [[nodiscard]] double shear_modulus_Pa() const { return density_kg_m3 * vs_m_s * vs_m_s; }
};

/// Cubic polynomials in x = r / 6371 km, as Dziewonski & Anderson (1981) tabulate them: g/cm^3 and km/s.
struct earth_layer {
    double inner_radius_m = 0;
    double outer_radius_m = 0;
    std::array<double, 4> density{};
    std::array<double, 4> vp{};
    std::array<double, 4> vs{};
    double q_mu = 0;

    [[nodiscard]] material evaluate(double radius_m) const;
};

/// A spherically symmetric isotropic Earth of polynomial layers: a value, immutable.
class earth_model {
  public:
    /// PREM (Dziewonski & Anderson 1981) in its isotropic form. The ocean is left out (no SH motion): the surface is at 6368 km.
    static earth_model prem_isotropic();
    /// PREM without crust and ocean, the lid extended to 6371 km: AxiSEM's `prem_iso_light`.
    static earth_model prem_iso_light();
    /// Throws user_error that lists the names there are.
    static earth_model by_name(std::string_view name);

    [[nodiscard]] const std::string& name() const { return name_; }
    /// The outer radius of the outermost fluid layer.
    [[nodiscard]] double cmb_radius_m() const;
    [[nodiscard]] double surface_radius_m() const { return layers_.back().outer_radius_m; }
    [[nodiscard]] std::span<const earth_layer> layers() const { return layers_; }
    /// Boundaries between layers, increasing, without the centre and the surface.
    [[nodiscard]] std::vector<double> discontinuities_m() const;
    /// At a discontinuity the value above it, or below it when asked. Throws user_error outside the Earth.
    [[nodiscard]] material evaluate(double radius_m, bool below = false) const;

  private:
    earth_model(std::string name, std::vector<earth_layer> layers);

    std::string name_;
    std::vector<earth_layer> layers_;
};

/// Physical dispersion of an absorption band (PREM eq. 4): mu(w) = mu(1 s) [1 + 2 / (pi Q_mu) ln(w / 2 pi)].
[[nodiscard]] double dispersed_shear_modulus_Pa(const material& at, double omega_rad_s);

} // namespace craton::tomography
