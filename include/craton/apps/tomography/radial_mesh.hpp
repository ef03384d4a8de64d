#pragma once

#include <craton/apps/tomography/earth_model.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// Finite elements of one polynomial order along the radius, of mantle and crust or of the whole Earth. Element e has the nodes
/// e*order .. (e+1)*order, placed on Gauss-Lobatto points, and no discontinuity falls inside an element.
class radial_mesh {
  public:
    /// Mantle and crust, by elements no longer than element_m.
    static radial_mesh build(const earth_model& earth, int order, double element_m);
    /// From the centre to the surface. No element is longer than 1 / elements_per_wavelength of the shortest wave of the given
    /// period in its layer: shear waves in solids, and in fluids those of the solids beside them.
    static radial_mesh whole_earth(const earth_model& earth, int order, double period_s, double elements_per_wavelength);
    /// From stored nodes; throws user_error when they are not increasing or do not make whole elements.
    radial_mesh(std::vector<double> nodes_m, int order);

    /// Degree of the elements, nodes of the mesh, its elements, and where nodes are.
    [[nodiscard]] int order() const { return order_; }
    [[nodiscard]] std::int64_t unknowns() const { return static_cast<std::int64_t>(nodes_m_.size()); }
    [[nodiscard]] std::int64_t elements() const { return (unknowns() - 1) / order_; }
    [[nodiscard]] std::span<const double> nodes_m() const { return nodes_m_; }
    [[nodiscard]] std::span<const double> element_nodes_m(std::int64_t element) const;
    /// The element that holds a radius: above at a boundary, the last at the surface. Radii outside go to the nearest element.
    [[nodiscard]] std::int64_t find(double radius_m) const;

  private:
    std::vector<double> nodes_m_;
    int order_;
};

} // namespace craton::tomography
