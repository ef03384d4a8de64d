#pragma once

#include <craton/apps/tomography/earth_model.hpp>
#include <craton/apps/tomography/radial_mesh.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace craton::tomography {

/// Which modes are computed.
struct mode_options {
    double shortest_period_s = 60;
    bool dispersion = true;  ///< each mode with the shear modulus at its own frequency; otherwise the model at 1 s
    bool attenuation = true; ///< otherwise every Q is infinite
    int order = 3;           ///< polynomial order of the radial finite elements, 2..8
    double element_km = 80;  ///< largest element
};

/// Everything a catalogue consists of besides the Earth model: what a cache on disk has to hold.
struct mode_arrays {
    std::vector<std::int64_t> n; ///< overtone number
    std::vector<std::int64_t> l; ///< angular degree
    std::vector<double> omega_rad_s;
    std::vector<double> q;
    std::vector<double> group_velocity_m_s; ///< at the surface; with dispersion good to 3e-3 (eigenfunctions of the centre)
    std::vector<double> nodes_m;
    std::vector<double> eigenvectors; ///< modes x nodes: W at the nodes, with int rho r^2 W^2 dr = 1 (SI)
    int order = 0;
    double shortest_period_s = 0;
    bool dispersion = false;
};

/// All toroidal modes of mantle and crust with periods above a limit, ordered by degree, then overtone. Immutable.
///
/// Radial finite elements for  int mu [(r W' - W)^2 + (k^2 - 2) W^2] dr = w^2 int rho r^2 W^2 dr,  k^2 = l (l + 1), which has free
/// surfaces as natural boundary conditions. The rigid rotation (l = 1, w = 0) is left out; overtones of l = 1 count from 1.
class mode_catalogue {
  public:
    /// Throws user_error for options out of range.
    static mode_catalogue solve(const earth_model& earth, const mode_options& options);
    /// From stored arrays; throws user_error when they contradict each other or the Earth model.
    mode_catalogue(earth_model earth, mode_arrays arrays);

    /// Modes, the Earth that they are of, where their functions are given, and the numbers themselves.
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(arrays_.n.size()); }
    [[nodiscard]] const earth_model& earth() const { return earth_; }
    [[nodiscard]] const radial_mesh& mesh() const { return mesh_; }
    [[nodiscard]] const mode_arrays& arrays() const { return arrays_; }
    /// W at the mesh's nodes.
    [[nodiscard]] std::span<const double> eigenvector(std::int64_t mode) const;
    /// (W, dW/dr); W is continuous, at a discontinuity dW/dr is the value above. Throws user_error outside mantle and crust.
    [[nodiscard]] std::pair<double, double> eigenfunction(std::int64_t mode, double radius_m) const;

  private:
    earth_model earth_;
    mode_arrays arrays_;
    radial_mesh mesh_;
};

/// Angular frequencies (rad/s, increasing) of the elastic 1-s model at any real degree > 1: w(l) as a smooth function, whose
/// derivative is the group velocity over the radius.
[[nodiscard]] std::vector<double> toroidal_frequencies(const earth_model& earth, double degree, const mode_options& options);

} // namespace craton::tomography
