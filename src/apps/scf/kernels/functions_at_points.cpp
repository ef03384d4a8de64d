#include <craton/apps/scf/functions_at_points.hpp>

#include "solid_harmonics.hpp"

#include <algorithm>
#include <cmath>

namespace craton::scf {

shell_values::shell_values(int l, bool cartesian) : l_(l) {
    for (const auto& harmonic : solid_harmonics(l, cartesian)) {
        auto& made = harmonics_.emplace_back();
        for (const monomial& each : harmonic)
            made.push_back({each.coefficient,
                            {static_cast<std::size_t>(each.powers.x), static_cast<std::size_t>(each.powers.y),
                             static_cast<std::size_t>(each.powers.z)}});
    }
}

// Powers of x, y and z; the square of the distance; the radial part and its derivative by half that square; a harmonic and its
// derivatives.
std::size_t shell_values::scratch_doubles(std::size_t count) const { return count * (3 * static_cast<std::size_t>(l_ + 1) + 7); }

void shell_values::compute(const plain_shell& shell, const std::array<const double*, 3>& points, std::size_t count,
                           bool derivatives, double* out, std::size_t stride, double* scratch) const {
    const auto orders = static_cast<std::size_t>(l_ + 1);
    const auto power = [&](std::size_t axis, std::size_t order) { return scratch + (axis * orders + order) * count; };
    double* const square = scratch + 3 * orders * count;
    double* const radial = square + count;
    double* const slope = radial + count;
    double* const harmonic = slope + count;
    std::fill_n(square, count, 0.0);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        std::fill_n(power(axis, 0), count, 1.0);
        for (std::size_t p = 0; p < count; ++p) {
            const double away = points[axis][p] - shell.centre_bohr[axis];
            square[p] += away * away;
            for (std::size_t order = 1; order < orders; ++order) power(axis, order)[p] = power(axis, order - 1)[p] * away;
        }
    }
    const std::size_t primitives = shell.exponents.size();
    for (int contraction = 0; contraction < shell.contractions(); ++contraction) {
        const auto coefficients = shell.coefficients.subspan(static_cast<std::size_t>(contraction) * primitives, primitives);
        std::fill_n(radial, count, 0.0);
        std::fill_n(slope, count, 0.0);
        for (std::size_t e = 0; e < primitives; ++e) {
            if (coefficients[e] == 0) continue;
            for (std::size_t p = 0; p < count; ++p) {
                const double part = coefficients[e] * std::exp(-shell.exponents[e] * square[p]);
                radial[p] += part;
                slope[p] -= 2 * shell.exponents[e] * part;
            }
        }
        for (const auto& terms : harmonics_) {
            std::fill_n(harmonic, count, 0.0);
            for (const auto& [coefficient, powers] : terms)
                for (std::size_t p = 0; p < count; ++p)
                    harmonic[p] += coefficient * power(0, powers[0])[p] * power(1, powers[1])[p] * power(2, powers[2])[p];
            for (std::size_t p = 0; p < count; ++p) out[p] = radial[p] * harmonic[p];
            for (std::size_t axis = 0; derivatives && axis < 3; ++axis) {
                double* const along = harmonic + (1 + axis) * count;
                std::fill_n(along, count, 0.0);
                for (const auto& [coefficient, powers] : terms) {
                    auto lower = powers;
                    if (lower[axis] == 0) continue;
                    const double factor = coefficient * static_cast<double>(lower[axis]);
                    --lower[axis];
                    for (std::size_t p = 0; p < count; ++p)
                        along[p] += factor * power(0, lower[0])[p] * power(1, lower[1])[p] * power(2, lower[2])[p];
                }
                double* const to = out + (1 + axis) * stride;
                for (std::size_t p = 0; p < count; ++p)
                    to[p] = radial[p] * along[p] + slope[p] * (points[axis][p] - shell.centre_bohr[axis]) * harmonic[p];
            }
            out += count;
        }
    }
}

} // namespace craton::scf
