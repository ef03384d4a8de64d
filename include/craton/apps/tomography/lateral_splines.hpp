#pragma once

#include <craton/apps/tomography/kernels/great_circle.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// Weights on lateral knots, ascending by knot. 32-bit indices: 1e5 paths of 200 knots stay at 240 MB.
struct sparse_weights {
    std::vector<std::int32_t> knot;
    std::vector<double> value;
};

/// Spherical splines centred on the vertices of a subdivided icosahedron: S_a(x) = h(distance(x, a) / spacing). Immutable.
class lateral_splines {
  public:
    static constexpr int max_level = 8;

    /// Level L has 10 * 4^(L-1) + 2 knots. Their order is deterministic: a level's knots come first in the next level's.
    /// Throws user_error for a level outside 1..8.
    explicit lateral_splines(int level);

    [[nodiscard]] int level() const { return level_; }
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(knots_.size()); }
    [[nodiscard]] double spacing_rad() const { return spacing_rad_; }
    [[nodiscard]] std::span<const unit_vector> knots() const { return knots_; }
    /// The splines that are not zero at a point.
    void weights_at(const unit_vector& point, sparse_weights& out) const;
    /// h_a = (1/Delta) int_0^Delta S_a ds along the minor arc: what a path's seismogram sees of knot a.
    [[nodiscard]] sparse_weights path_average(const unit_vector& from, const unit_vector& to) const;

  private:
    template <class Visit> void visit_neighbours(const unit_vector& point, Visit visit) const;
    [[nodiscard]] std::int64_t cell_of(double coordinate) const;
    void sort_into_cells();

    int level_;
    double spacing_rad_;
    std::vector<unit_vector> knots_;
    // A uniform grid over [-1, 1]^3 with cells as wide as a spline's radius, so that all that reaches a point lies in 27 cells.
    std::int64_t cells_per_axis_ = 1;
    std::vector<std::int32_t> cell_start_;
    std::vector<std::int32_t> cell_knots_;
};

} // namespace craton::tomography
