#pragma once

#include <craton/apps/tomography/lateral_splines.hpp>
#include <craton/apps/tomography/radial_splines.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// dlnVs(r, theta, phi) = sum m[a * n_radial + i] S_a(theta, phi) B_i(r), and in the same way, in the second half of the model
/// where there are two parameters, dlnxi, xi = (Vsh / Vsv)^2. Vs is Voigt's average: Vs^2 = (2 Vsv^2 + Vsh^2) / 3. The radial index
/// is fastest. Immutable.
class model_basis {
  public:
    /// Throws user_error for a level or knots as lateral_splines and radial_splines do, and unless there are 1 or 2 parameters.
    model_basis(int level, std::vector<double> radial_knots_m, int parameters = 1);

    [[nodiscard]] const lateral_splines& lateral() const { return lateral_; }
    [[nodiscard]] const radial_splines& radial() const { return radial_; }
    [[nodiscard]] std::int64_t n_lateral() const { return lateral_.size(); }
    [[nodiscard]] std::int64_t n_radial() const { return radial_.size(); }
    /// 1: dlnVs; 2: dlnVs and dlnxi.
    [[nodiscard]] std::int64_t parameters() const { return parameters_; }
    [[nodiscard]] std::int64_t size() const { return parameters() * n_lateral() * n_radial(); }

    /// One parameter (0: dlnVs, 1: dlnxi) at points given by geocentric latitude, longitude and radius. Throws user_error when
    /// lengths do not fit.
    [[nodiscard]] std::vector<double> evaluate(std::span<const double> model, std::span<const double> latitude_deg,
                                               std::span<const double> longitude_deg, std::span<const double> radius_m,
                                               std::int64_t parameter = 0) const;

  private:
    lateral_splines lateral_;
    radial_splines radial_;
    std::int64_t parameters_;
};

} // namespace craton::tomography
