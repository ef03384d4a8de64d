#pragma once

namespace craton::tomography {

/// A point on the unit sphere: x to (0N, 0E), z to the north pole.
struct unit_vector {
    double x = 0;
    double y = 0;
    double z = 0;
};

/// Flattening of WGS84 is 1 / 298.257 to six digits.
inline constexpr double flattening = 1.0 / 298.257;

/// Latitude as seen from the Earth's centre, of the geographic (map) latitude: tan(geocentric) = (1 - f)^2 tan(geographic).
[[nodiscard]] double geocentric_latitude_rad(double geographic_rad);
/// The inverse.
[[nodiscard]] double geographic_latitude_rad(double geocentric_rad);

/// Of places on the sphere, and back.
[[nodiscard]] unit_vector position(double geocentric_latitude_rad, double longitude_rad);
[[nodiscard]] double latitude_rad(const unit_vector& point);
[[nodiscard]] double longitude_rad(const unit_vector& point);

/// Angle between two points; accurate for neighbours and antipodes alike.
[[nodiscard]] double distance_rad(const unit_vector& a, const unit_vector& b);
/// Direction at `from` of the minor arc to `to`, clockwise from north, in [0, 2 pi).
[[nodiscard]] double azimuth_rad(const unit_vector& from, const unit_vector& to);

/// The minor arc between two points that are neither identical nor antipodal.
class great_circle_arc {
  public:
    great_circle_arc(const unit_vector& from, const unit_vector& to);
    /// Of the whole arc.
    [[nodiscard]] double length_rad() const { return length_rad_; }
    /// The point at an angle from the start.
    [[nodiscard]] unit_vector at(double angle_rad) const;
    /// To the left of the direction of travel, perpendicular to the arc's plane.
    [[nodiscard]] unit_vector left() const;

  private:
    unit_vector start_;
    unit_vector ahead_; // perpendicular to start_, in the arc's plane
    double length_rad_;
};

} // namespace craton::tomography
