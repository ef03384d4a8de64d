#include <craton/apps/tomography/kernels/great_circle.hpp>

#include <cmath>
#include <numbers>

namespace craton::tomography {

namespace {

double dot(const unit_vector& a, const unit_vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

unit_vector cross(const unit_vector& a, const unit_vector& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

} // namespace

double geocentric_latitude_rad(double geographic_rad) {
    constexpr double ratio = (1 - flattening) * (1 - flattening);
    // atan2 keeps the poles where they are, which tan cannot.
    return std::atan2(ratio * std::sin(geographic_rad), std::cos(geographic_rad));
}

double geographic_latitude_rad(double geocentric_rad) {
    constexpr double ratio = (1 - flattening) * (1 - flattening);
    return std::atan2(std::sin(geocentric_rad), ratio * std::cos(geocentric_rad));
}

unit_vector position(double geocentric_latitude_rad, double longitude_rad) {
    const double horizontal = std::cos(geocentric_latitude_rad);
    return {horizontal * std::cos(longitude_rad), horizontal * std::sin(longitude_rad), std::sin(geocentric_latitude_rad)};
}

double latitude_rad(const unit_vector& point) { return std::atan2(point.z, std::hypot(point.x, point.y)); }

double longitude_rad(const unit_vector& point) { return std::atan2(point.y, point.x); }

double distance_rad(const unit_vector& a, const unit_vector& b) {
    const unit_vector normal = cross(a, b);
    return std::atan2(std::sqrt(dot(normal, normal)), dot(a, b));
}

double azimuth_rad(const unit_vector& from, const unit_vector& to) {
    const double horizontal = std::hypot(from.x, from.y);
    // At a pole every direction is south or north; longitude 0 then serves as the meridian.
    const double cos_lon = horizontal > 0 ? from.x / horizontal : 1.0;
    const double sin_lon = horizontal > 0 ? from.y / horizontal : 0.0;
    const unit_vector east{-sin_lon, cos_lon, 0};
    const unit_vector north{-from.z * cos_lon, -from.z * sin_lon, horizontal};
    const double angle = std::atan2(dot(to, east), dot(to, north));
    if (angle >= 0) {
        return angle;
    }
    const double turned = angle + 2 * std::numbers::pi;
    return turned < 2 * std::numbers::pi ? turned : 0.0; // a tiny negative angle rounds to the full turn
}

great_circle_arc::great_circle_arc(const unit_vector& from, const unit_vector& to)
    : start_(from), ahead_(to), length_rad_(tomography::distance_rad(from, to)) {
    const unit_vector normal = cross(from, to);
    const unit_vector ahead = cross(normal, from);
    const double norm = std::sqrt(dot(ahead, ahead));
    ahead_ = {ahead.x / norm, ahead.y / norm, ahead.z / norm};
}

unit_vector great_circle_arc::left() const {
    return {start_.y * ahead_.z - start_.z * ahead_.y, start_.z * ahead_.x - start_.x * ahead_.z,
            start_.x * ahead_.y - start_.y * ahead_.x};
}

unit_vector great_circle_arc::at(double angle_rad) const {
    const double c = std::cos(angle_rad);
    const double s = std::sin(angle_rad);
    return {c * start_.x + s * ahead_.x, c * start_.y + s * ahead_.y, c * start_.z + s * ahead_.z};
}

} // namespace craton::tomography
