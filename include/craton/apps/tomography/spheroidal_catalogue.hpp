#pragma once

#include <craton/apps/tomography/earth_model.hpp>
#include <craton/apps/tomography/radial_mesh.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// How much of gravity a catalogue's modes feel.
enum class gravity_kind {
    full,    ///< initial gravity and the perturbation of the potential
    cowling, ///< initial gravity alone
    none     ///< elasticity alone, as most codes of wave propagation have it
};

/// Which modes are computed, and with how much gravity.
struct spheroidal_options {
    double shortest_period_s = 60;
    bool dispersion = true;               ///< each mode with the moduli at its own frequency; otherwise the model at 1 s
    bool attenuation = true;              ///< otherwise every Q is infinite
    int order = 6;                        ///< polynomial order of the radial finite elements, 2..8
    double elements_per_wavelength = 1.5; ///< of the shortest wave in each layer, 0.5..10
    gravity_kind gravity = gravity_kind::full;
};

/// Everything a catalogue consists of besides the Earth model: what a cache on disk has to hold.
struct spheroidal_arrays {
    std::vector<std::int64_t> n; ///< overtone number
    std::vector<std::int64_t> l; ///< angular degree
    std::vector<double> omega_rad_s;
    std::vector<double> q;
    std::vector<double> group_velocity_m_s; ///< at the solid surface; 0 for radial modes
    std::vector<double> nodes_m;
    /// modes x (U, V, P) x elements x (order + 1), at each element's own nodes, in SI with int rho r^2 (U^2 + V^2) dr = 1.
    std::vector<double> eigenfunctions;
    int order = 0;
    double shortest_period_s = 0;
    bool dispersion = false;
};

/// A mode at one radius: displacement u = U Y r + (V / k) grad_1 Y, k^2 = l (l + 1), and perturbation P Y of the gravitational
/// potential (m^2/s^2 per metre of displacement). SI; with derivatives by the radius.
struct spheroidal_point {
    double u = 0;
    double du = 0;
    double v = 0;
    double dv = 0;
    double p = 0;
    double dp = 0;
};

/// All spheroidal and radial modes of a self-gravitating, radially anisotropic Earth with periods above a limit, ordered by degree,
/// then overtone. Immutable; every method may be called from any number of threads.
///
/// Radial finite elements from the centre to the surface, with full self-gravitation at every frequency unless asked otherwise; the
/// equations stand in spheroidal_system.hpp. Modes are solved for with the moduli of a frequency within a factor of 1.25 of their
/// own, and then moved to their own in the space of their neighbours.
///
/// Overtones are counted as in the literature, all modes of mantle, core and interfaces in the order of their frequencies. Left
/// out are modes below the seismic band, by their period (beyond 5500 s: rigid translation 0S1 and the Slichter mode 1S1, so that
/// l = 1 starts with 2S1), and modes whose motion is in fluids alone (undertones of the core, spurious in PREM, and the tsunami).
class spheroidal_catalogue {
  public:
    /// Throws user_error for options out of range.
    static spheroidal_catalogue solve(const earth_model& earth, const spheroidal_options& options);
    /// From stored arrays; throws user_error when they contradict each other or the Earth model.
    spheroidal_catalogue(earth_model earth, spheroidal_arrays arrays);

    /// Modes, the Earth that they are of, where their functions are given, and the numbers themselves.
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(arrays_.n.size()); }
    [[nodiscard]] const earth_model& earth() const { return earth_; }
    [[nodiscard]] const radial_mesh& mesh() const { return mesh_; }
    [[nodiscard]] const spheroidal_arrays& arrays() const { return arrays_; }
    /// At a discontinuity the values above it, or below it when asked. Throws user_error outside the Earth.
    [[nodiscard]] spheroidal_point evaluate(std::int64_t mode, double radius_m, bool below = false) const;

  private:
    earth_model earth_;
    spheroidal_arrays arrays_;
    radial_mesh mesh_;
};

/// Angular frequencies (rad/s, increasing) of the elastic 1-s model at any real degree of at least 1.5: w(l) as a smooth function,
/// whose derivative is the group velocity over the radius.
[[nodiscard]] std::vector<double> spheroidal_frequencies(const earth_model& earth, double degree,
                                                         const spheroidal_options& options);

} // namespace craton::tomography
