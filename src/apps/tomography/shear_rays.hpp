#pragma once

#include <craton/apps/tomography/earth_model.hpp>
#include <craton/apps/tomography/figure.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// Of a ray from its lowest point up to some radius: angle, time, and integrals over time of what ellipticity does, for s = 1.
struct ray_sums {
    double angle = 0, time = 0, uniform = 0;
    double cosine = 0, sine = 0;         // the first two terms below times cos and sin of twice the angle from the lowest point
    double dip_cosine = 0, dip_sine = 0; // of the last one with dh/dpsi = e r, likewise

    [[nodiscard]] ray_sums plus(const ray_sums& more, double part = 1) const;
};

/// What ellipticity does to horizontally polarised shear waves beyond the average of the path. A body wave is deep in the middle of
/// its path and shallow at the ends. It also crosses surfaces that dip where the stretch changes along the path. By Fermat's
/// principle (Dziewonski & Gilbert 1976), with h = s e r, psi along the path, i the angle from the vertical, + upward:
///
///   dt = int [dh/dr cos^2 i + (h / r) sin^2 i +- (1 / r) dh/dpsi sin i cos i] ds / beta
///
/// A mode of degree l and frequency w is made of waves with the ray parameter p = (l + 1/2) / w (Dahlen & Tromp 1998, chapter 12).
/// Half of them leave the source downward, half upward; both reach the receiver after one or more bounces at the surface.
class shear_rays {
  public:
    /// For rays of these parameters, s / rad; infinite: none. Isotropic speeds or those of horizontal polarisation.
    shear_rays(const earth_model& earth, std::vector<double> ray_parameters_s);

    /// d ln w of the mode's carrier, and by how many seconds waves that leave downward come later, and upward ones earlier, than
    /// that makes them.
    struct effect {
        double relative = 0;
        double later_s = 0;
    };
    /// Ray `at`, from a source at a radius to a receiver at a distance; 0 where there is no ray, or many bounces.
    [[nodiscard]] effect along(std::size_t at, const stretch_along& stretch, double distance_rad, double source_radius_m) const;
    /// Vertical slowness at a radius, s / m; 0 where the ray does not come there.
    [[nodiscard]] double vertical_slowness(std::size_t at, double radius_m) const;

  private:
    struct ray {
        double lowest_m = 0;
        std::vector<ray_sums> up_to; // nodes_m_ from the first above lowest_m on
        std::size_t first = 0;       // of these nodes
    };
    [[nodiscard]] ray trace(double ray_parameter_s, const hydrostatic_figure& figure) const;
    [[nodiscard]] double speed(double radius_m, bool below = false) const;
    [[nodiscard]] ray_sums up_to(const ray& of, double radius_m) const;

    const earth_model* earth_;
    std::vector<double> parameters_s_;
    std::vector<double> nodes_m_; // from the core to the surface: discontinuities and steps between
    std::vector<ray> rays_;
};

} // namespace craton::tomography
