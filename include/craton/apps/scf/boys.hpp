#pragma once

#include <cstddef>

namespace craton::scf {

/// The Boys function F_m(t) = integral of u^2m exp(-t u^2) over u from 0 to 1, of which potentials of Gaussian charges are made, by
/// Taylor series about the points of a table, and beyond the table by its asymptotic form. Absolute error below 1e-14.
class boys_table {
  public:
    static constexpr int largest_m = 16;
    static constexpr int terms = 7;                   // of the series
    static constexpr int columns = largest_m + terms; // F_0 to F_(largest_m + terms - 1), a row per point
    static constexpr double points_per_unit = 16;
    static constexpr double end = 40; // exp(-end) / (2 end) is below rounding

    /// The one table of this process.
    [[nodiscard]] static const boys_table& get();
    /// F of the nearest point: t must be from 0 to `end`.
    [[nodiscard]] const double* row(double t) const {
        return rows_ + static_cast<std::ptrdiff_t>(t * points_per_unit + 0.5) * columns;
    }
    /// All elements; row n is for t = n / points_per_unit.
    [[nodiscard]] const double* rows() const { return rows_; }

  private:
    boys_table();

    static constexpr int points = static_cast<int>(end * points_per_unit) + 2;
    double rows_[static_cast<std::size_t>(points) * columns];
};

} // namespace craton::scf
