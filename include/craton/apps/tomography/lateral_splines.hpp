#pragma once

#include <craton/apps/tomography/kernels/great_circle.hpp>

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// Weights on lateral knots, ascending by knot. 32-bit indices: 1e5 paths of 200 knots stay at 240 MB.
struct sparse_weights {
    std::vector<std::int32_t> knot;
    std::vector<double> value;
};

/// The same in somebody else's memory.
struct sparse_weights_view {
    std::span<const std::int32_t> knot;
    std::span<const double> value;

    sparse_weights_view() = default;
    sparse_weights_view(std::span<const std::int32_t> knots, std::span<const double> values) : knot(knots), value(values) {}
    sparse_weights_view(const sparse_weights& of) : knot(of.knot), value(of.value) {}
};

/// Spherical splines centred on the vertices of a subdivided icosahedron: S_a(x) = h(distance(x, a) / spacing). Immutable.
class lateral_splines {
  public:
    static constexpr int max_level = 8;

    /// Level L has 10 * 4^(L-1) + 2 knots. Their order is deterministic: a level's knots come first in the next level's.
    /// Throws user_error for a level outside 1..8.
    explicit lateral_splines(int level);

    /// How fine the grid of knots is: its level, its knots, their distance and places.
    [[nodiscard]] int level() const { return level_; }
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(knots_.size()); }
    [[nodiscard]] double spacing_rad() const { return spacing_rad_; }
    [[nodiscard]] std::span<const unit_vector> knots() const { return knots_; }
    /// The splines that are not zero at a point.
    void weights_at(const unit_vector& point, sparse_weights& out) const;
    /// h_a = (1/Delta) int_0^Delta S_a ds along the minor arc: what a path's seismogram sees of knot a.
    [[nodiscard]] sparse_weights path_average(const unit_vector& from, const unit_vector& to) const;
    /// The same between two angles along the great circle that an arc lies on, counted from its start: 0 to the arc's length is the
    /// minor arc, from there to 2 pi the major arc.
    [[nodiscard]] sparse_weights path_average(const great_circle_arc& along, double begin_rad, double end_rad) const;
    /// What waves feel of a spline, as functions of the angle phi along a great circle's arc of length Delta, with g = sin(phi)
    /// sin(Delta - phi) / sin(Delta) and y the angle across it, to the left: S_a itself; (g / 2) d2S_a/dy2; sin(Delta - phi) /
    /// sin(Delta) dS_a/dy; and bend d2S_a/dy2 - (g^2 / 8) d4S_a/dy4. The fourth derivative is a difference over spacings; further
    /// aside fewer of the path's knots are at hand, which is made up for by what all of them together amount to there.
    static constexpr std::size_t terms_across = 4;
    /// A part of a great circle between two angles from the arc's start, and the bend above.
    struct path_stretch {
        const great_circle_arc& along;
        double begin_rad, end_rad;
        double bend;
    };
    /// (1 / 2 pi) int f exp(i m phi) dphi along a stretch, for m = 0 .. widest, of the knots given (ascending), f the first or all
    /// four of these terms. h: knots x terms x (widest + 1).
    void path_transform(const path_stretch& path, std::span<const std::int32_t> knots, std::int64_t widest, std::size_t terms,
                        std::span<std::complex<double>> h) const;
    /// The same of sums of splines, coefficients: knots x columns. out: terms x (widest + 1) x columns; what it had is lost. Faster
    /// than a product with path_transform's h.
    void model_transform(const path_stretch& path, std::span<const std::int32_t> knots, std::int64_t widest, std::size_t terms,
                         std::span<const double> coefficients, std::size_t columns, std::span<std::complex<double>> out) const;

  private:
    [[nodiscard]] std::array<double, 2> across(std::int32_t knot, const unit_vector& point, const unit_vector& direction) const;
    template <class Visit> void visit_neighbours(const unit_vector& point, Visit visit) const;
    /// visit(angle, weight) at four Gauss points in each panel, which is at most so long.
    template <class Visit> void visit_points(double begin_rad, double end_rad, double panel_rad, Visit visit) const;
    /// visit(angle, weight, near, felt): knots near a point, as places in `knots`, and of each its terms.
    template <class Visit>
    void visit_felt(const path_stretch& path, std::span<const std::int32_t> knots, std::size_t terms, double panel_rad,
                    Visit visit) const;
    [[nodiscard]] double panel_for(std::size_t widths) const;
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
