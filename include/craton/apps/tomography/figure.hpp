#pragma once

#include <craton/apps/tomography/earth_model.hpp>
#include <craton/apps/tomography/kernels/great_circle.hpp>
#include <craton/apps/tomography/spheroidal_catalogue.hpp>

#include <vector>

namespace craton::tomography {

/// Of the Earth, rad/s.
inline constexpr double rotation_rad_s = 7.292115e-5;

/// The ellipticity of surfaces of equal density in an Earth that rotates in hydrostatic equilibrium: at colatitude theta they lie
/// at r (1 - 2/3 e(r) P_2(cos theta)). By Clairaut's equation in Radau's form (Dahlen & Tromp 1998, section 14.1.2):
///   r n' + n^2 - n - 6 + 6 (rho / mean rho below) (n + 1) = 0,   n = r e' / e,   e(a) = 5/2 (W^2 a^3 / G M) / (n(a) + 2)
class hydrostatic_figure {
  public:
    explicit hydrostatic_figure(const earth_model& earth);
    /// From 0 at the centre to the surface; held constant beyond.
    [[nodiscard]] double ellipticity(double radius_m) const;

  private:
    std::vector<double> radius_m_, ellipticity_;
};

/// The Earth whose radii are all r (1 + s e(r)), with the same material there: below a place of colatitude theta the elliptical
/// Earth is that of s = -2/3 P_2(cos theta). The local frequencies of modes (Jordan 1978, Woodhouse & Dziewonski 1984) are those of
/// this Earth, at the same degree.
[[nodiscard]] earth_model stretched(const earth_model& earth, double s);

/// s along a great circle, psi from the start of an arc: mean + cosine cos 2 psi + sine sin 2 psi.
struct stretch_along {
    double mean = 0, cosine = 0, sine = 0;

    /// That of an arc, its value at an angle, and its mean between two.
    [[nodiscard]] static stretch_along of(const great_circle_arc& arc);
    [[nodiscard]] double at(double psi) const;
    [[nodiscard]] double average(double begin, double end) const;
};

/// What the Coriolis force does to a mode: a wave that goes round the Earth towards the east, about an axis at the angle T from the
/// Earth's, has a frequency smaller by (l + 1/2) cos T chi W (Dahlen & Tromp 1998, eq. 14.34 and its asymptotic form).
///   chi = int rho r^2 (V^2 + 2 k U V) dr / k^2   (spheroidal, for each mode),   1 / k^2   (toroidal)
/// 0 for radial modes.
[[nodiscard]] std::vector<double> coriolis_parameters(const spheroidal_catalogue& modes);

} // namespace craton::tomography
