#include <craton/apps/tomography/kernels/legendre.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace craton::tomography {

namespace {

/// (l - m) P_lm = (2l - 1) x P_(l-1)m - (l + m - 1) P_(l-2)m and sin(Delta) dP_lm/dDelta = l x P_lm - (l + m) P_(l-1)m.
void functions_of_order(int m, double first, double x, double sine, std::span<double> values, std::span<double> out) {
    double before = 0;
    double p = first;
    for (std::size_t l = 0; l < out.size(); ++l) {
        const double dl = static_cast<double>(l);
        if (l < static_cast<std::size_t>(m)) {
            out[l] = 0;
            if (!values.empty()) {
                values[l] = 0;
            }
            continue;
        }
        if (l > static_cast<std::size_t>(m)) {
            const double next = ((2 * dl - 1) * x * p - (dl + m - 1) * before) / (dl - m);
            before = p;
            p = next;
        }
        if (!values.empty()) {
            values[l] = p;
        }
        out[l] = (dl * x * p - (dl + m) * before) / sine;
    }
}

} // namespace

void legendre_derivatives(double delta_rad, std::span<double> order_1, std::span<double> order_2) {
    const double x = std::cos(delta_rad);
    const double sine = std::sin(delta_rad);
    functions_of_order(1, sine, x, sine, {}, order_1);
    functions_of_order(2, 3 * sine * sine, x, sine, {}, order_2);
}

void legendre_functions(double delta_rad, int order, std::span<double> values, std::span<double> derivatives) {
    constexpr double nearest = 1e-6;
    const double delta = std::clamp(delta_rad, nearest, std::numbers::pi - nearest);
    const double x = std::cos(delta);
    const double sine = std::sin(delta);
    const double first = order == 0 ? 1 : order == 1 ? sine : 3 * sine * sine;
    functions_of_order(order, first, x, sine, values, derivatives);
}

} // namespace craton::tomography
