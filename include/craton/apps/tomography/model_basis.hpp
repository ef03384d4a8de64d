#pragma once

#include <craton/apps/tomography/lateral_splines.hpp>
#include <craton/apps/tomography/radial_splines.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// dlnVs(r, theta, phi) = sum m[a * n_radial + i] S_a(theta, phi) B_i(r). The radial index is fastest. Immutable.
class model_basis {
  public:
    model_basis(int level, std::vector<double> radial_knots_m) : lateral_(level), radial_(std::move(radial_knots_m)) {}

    [[nodiscard]] const lateral_splines& lateral() const { return lateral_; }
    [[nodiscard]] const radial_splines& radial() const { return radial_; }
    [[nodiscard]] std::int64_t n_lateral() const { return lateral_.size(); }
    [[nodiscard]] std::int64_t n_radial() const { return radial_.size(); }
    [[nodiscard]] std::int64_t size() const { return n_lateral() * n_radial(); }

    /// dlnVs at points given by geocentric latitude, longitude and radius. Throws user_error when lengths do not fit.
    [[nodiscard]] std::vector<double> evaluate(std::span<const double> model, std::span<const double> latitude_deg,
                                               std::span<const double> longitude_deg, std::span<const double> radius_m) const;

  private:
    lateral_splines lateral_;
    radial_splines radial_;
};

} // namespace craton::tomography
