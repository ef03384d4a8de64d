#pragma once

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>
#include <craton/array/domain.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace craton::waves {

/// The ground's surface over the whole grid, as a staircase of cell faces: column (i, j) begins with so many cells of air, and all
/// below is ground. Air has no stiffness and never moves (Graves 1996; Ohminato and Chouet 1997; Zeng et al. 2012). Columns outside
/// the grid are as those at its side; above it is air, below it ground.
///
/// The scheme is the leapfrog of a discrete energy: sums of strain and of kinetic energy over points that are not dead, with
/// differences beside air (reduced_rows) and parts of cells (part). The stress of a cell that counts in part is times that part.
class topography {
  public:
    static constexpr std::int64_t least_air = 3; ///< cells above the highest point, so that no difference leaves the grid there

    /// surface_m: depth of the ground's surface below z = 0 at the middle of each column, [i + j * nx]. A column has the nearest
    /// whole number of cells of air. Throws user_error for values that are not finite, of which there are not nx * ny, or that
    /// leave less than least_air cells of air, or less than that of ground.
    topography(const array::index3& cells, double spacing_m, std::vector<double> surface_m);

    /// The same with the surface in the outermost `width` columns of each side as it is where they begin. Absorbing layers of this
    /// width are stable then: over a surface that rises and falls along the axis that they stretch, waves grew in them.
    [[nodiscard]] topography levelled_at_sides(std::int64_t width) const;

    /// Cells of air.
    [[nodiscard]] std::int64_t top(std::int64_t i, std::int64_t j) const { return tops_[column(i, j)]; }
    [[nodiscard]] std::int64_t lowest_top() const noexcept { return lowest_; }   ///< of all columns the most air
    [[nodiscard]] std::int64_t highest_top() const noexcept { return highest_; } ///< the least
    [[nodiscard]] const array::index3& cells() const noexcept { return cells_; }
    /// Of the tops: to tell one from another.
    [[nodiscard]] std::uint64_t fingerprint() const noexcept { return fingerprint_; }

    /// The first plane, at indices (i, j) of a field that lies so in its cell, that is not dead: all below are not either.
    /// Velocities are dead between two cells of air, normal stresses in air, and shear stresses where one of the four velocities
    /// round them is.
    [[nodiscard]] std::int64_t first_live(const std::array<bool, 3>& where, std::int64_t i, std::int64_t j) const;
    [[nodiscard]] bool live(const std::array<bool, 3>& where, std::int64_t i, std::int64_t j, std::int64_t k) const {
        return k >= first_live(where, i, j);
    }

    /// The part of a cell's volume that a point that is not dead stands for: its moduli are times this, and its density, which of
    /// cells of air is 0 already. The first cell of a column counts with its thickness, 0.5 to 1.5 cells, so that no ground is lost
    /// where the surface lies between faces. Each cell's shear energy is shared by those of its edges that are not dead: without
    /// that, slopes were softer than their rock. 1 inside the ground.
    [[nodiscard]] double part(const std::array<bool, 3>& where, std::int64_t i, std::int64_t j, std::int64_t k) const;

    /// Depth of the surface below z = 0 in cells, linear between the middles of columns; at the indices of a field's column their
    /// mean.
    [[nodiscard]] double surface_at(double x_cells, double y_cells) const;
    [[nodiscard]] double surface_of(const std::array<bool, 3>& where, std::int64_t i, std::int64_t j) const;

  private:
    // Of a column's cell, in cells; 0 of air.
    [[nodiscard]] double thickness(std::int64_t i, std::int64_t j, std::int64_t k) const;
    [[nodiscard]] std::size_t column(std::int64_t i, std::int64_t j) const {
        const auto inside = [](std::int64_t n, std::int64_t count) { return n < 0 ? 0 : n < count ? n : count - 1; };
        return static_cast<std::size_t>(inside(i, cells_[0]) + cells_[0] * inside(j, cells_[1]));
    }

    void find_extremes();

    array::index3 cells_;
    std::vector<double> surface_; // in cells
    std::vector<std::int32_t> tops_;
    std::int64_t lowest_ = 0, highest_ = 0;
    std::uint64_t fingerprint_ = 0;
};

/// The words of reduced_rows for a brick whose cell (0, 0, 0) is the grid's `first`.
class rows_beside_air {
  public:
    rows_beside_air(const topography& land, const brick_shape& shape, const array::index3& first);
    rows_beside_air(const rows_beside_air&) = delete;
    rows_beside_air& operator=(const rows_beside_air&) = delete;

    /// What the kernels read of rows that are beside air or in it.
    [[nodiscard]] const reduced_rows& rows() const noexcept { return rows_; }

  private:
    std::vector<std::int64_t> first_;
    std::vector<std::uint32_t> velocity_, stress_;
    reduced_rows rows_;
};

} // namespace craton::waves
