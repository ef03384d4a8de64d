#include <craton/apps/tomography/kernels/splines.hpp>

#include <algorithm>
#include <cstddef>

namespace craton::tomography {

std::int64_t cubic_b_splines(std::span<const double> knots, double x, std::span<double, 4> values) {
    // The interval [knots[at], knots[at + 1]) that holds x; the last one is closed.
    const auto last = knots.end() - 4;
    const auto above = std::upper_bound(knots.begin() + 4, last, x);
    const std::size_t at = static_cast<std::size_t>(above - knots.begin()) - 1;
    double left[4];
    double right[4];
    values[0] = 1;
    for (std::size_t degree = 1; degree <= 3; ++degree) {
        left[degree] = x - knots[at + 1 - degree];
        right[degree] = knots[at + degree] - x;
        double carried = 0;
        for (std::size_t r = 0; r < degree; ++r) {
            const double share = values[r] / (right[r + 1] + left[degree - r]);
            values[r] = carried + right[r + 1] * share;
            carried = left[degree - r] * share;
        }
        values[degree] = carried;
    }
    return static_cast<std::int64_t>(at) - 3;
}

} // namespace craton::tomography
