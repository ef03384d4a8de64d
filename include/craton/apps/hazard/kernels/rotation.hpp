#pragma once

#include <cstddef>
#include <span>

namespace craton::hazard {

/// Angles of horizontal axes: 0, 1, ... 179 degrees.
inline constexpr std::size_t rotations = 180;

/// The largest |x cos(a) + y sin(a)| at each angle.
void rotated_peaks(std::span<const double> x, std::span<const double> y, std::span<double, rotations> peaks);

/// RotD50 and RotD100 (Boore 2010): the median of the peaks, the mean of the two middle ones, and the largest.
struct rotated_measures {
    double median = 0, largest = 0;
};
[[nodiscard]] rotated_measures measures_of(std::span<double, rotations> peaks); ///< puts them into another order

} // namespace craton::hazard
