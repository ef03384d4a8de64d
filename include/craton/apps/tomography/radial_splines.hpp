#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// Clamped cubic B-splines along the radius, one per given knot, that sum to 1 between first and last knot and vanish outside.
/// The second knots from either end are no break points ("not a knot"), which makes as many splines as knots. Immutable.
class radial_splines {
  public:
    /// Throws user_error unless there are at least 4 knots, positive, finite and increasing.
    explicit radial_splines(std::vector<double> knots_m);

    /// Knots, and their radii.
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(knots_m_.size()); }
    [[nodiscard]] std::span<const double> knots_m() const { return knots_m_; }
    /// Where the polynomial changes, increasing, ends included.
    [[nodiscard]] std::vector<double> breaks_m() const;
    /// All values at one radius; `values` has size() elements.
    void evaluate(double radius_m, std::span<double> values) const;

  private:
    std::vector<double> knots_m_;
    std::vector<double> clamped_m_;
};

} // namespace craton::tomography
