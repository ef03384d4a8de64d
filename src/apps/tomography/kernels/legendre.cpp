#include <craton/apps/tomography/kernels/legendre.hpp>

#include <cmath>
#include <cstddef>

namespace craton::tomography {

namespace {

/// (l - m) P_lm = (2l - 1) x P_(l-1)m - (l + m - 1) P_(l-2)m and sin(Delta) dP_lm/dDelta = l x P_lm - (l + m) P_(l-1)m.
void derivatives_of_order(int m, double first, double x, double sine, std::span<double> out) {
    double before = 0;
    double p = first;
    for (std::size_t l = 0; l < out.size(); ++l) {
        const double dl = static_cast<double>(l);
        if (l < static_cast<std::size_t>(m)) {
            out[l] = 0;
            continue;
        }
        if (l > static_cast<std::size_t>(m)) {
            const double next = ((2 * dl - 1) * x * p - (dl + m - 1) * before) / (dl - m);
            before = p;
            p = next;
        }
        out[l] = (dl * x * p - (dl + m) * before) / sine;
    }
}

} // namespace

void legendre_derivatives(double delta_rad, std::span<double> order_1, std::span<double> order_2) {
    const double x = std::cos(delta_rad);
    const double sine = std::sin(delta_rad);
    derivatives_of_order(1, sine, x, sine, order_1);
    derivatives_of_order(2, 3 * sine * sine, x, sine, order_2);
}

} // namespace craton::tomography
