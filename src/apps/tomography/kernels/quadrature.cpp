#include <craton/apps/tomography/kernels/quadrature.hpp>

#include <cmath>
#include <cstddef>
#include <numbers>

namespace craton::tomography {

namespace {

struct legendre_value {
    double p;
    double derivative;
};

/// P_n and P_n' inside (-1, 1).
legendre_value legendre(std::size_t n, double x) {
    double before = 1;
    double p = x;
    for (std::size_t l = 2; l <= n; ++l) {
        const double dl = static_cast<double>(l);
        const double next = ((2 * dl - 1) * x * p - (dl - 1) * before) / dl;
        before = p;
        p = next;
    }
    return {p, static_cast<double>(n) * (before - x * p) / (1 - x * x)};
}

constexpr int newton_steps = 12; // converges quadratically from the cosine guess; 6 are enough for n < 100

} // namespace

void gauss_legendre(std::span<double> points, std::span<double> weights) {
    const std::size_t n = points.size();
    if (n == 1) {
        points[0] = 0;
        weights[0] = 2;
        return;
    }
    for (std::size_t i = 0; i < n; ++i) {
        double x = -std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (static_cast<double>(n) + 0.5));
        for (int step = 0; step < newton_steps; ++step) {
            const auto [p, derivative] = legendre(n, x);
            x -= p / derivative;
        }
        const double derivative = legendre(n, x).derivative;
        points[i] = x;
        weights[i] = 2 / ((1 - x * x) * derivative * derivative);
    }
}

void gauss_lobatto(std::span<double> points) {
    const std::size_t n = points.size() - 1;
    points[0] = -1;
    points[n] = 1;
    // Inner points are the zeros of P_n'; P_n'' follows from Legendre's equation.
    const double dn = static_cast<double>(n);
    for (std::size_t i = 1; i < n; ++i) {
        double x = -std::cos(std::numbers::pi * static_cast<double>(i) / dn);
        for (int step = 0; step < newton_steps; ++step) {
            const auto [p, derivative] = legendre(n, x);
            const double second = (2 * x * derivative - dn * (dn + 1) * p) / (1 - x * x);
            x -= derivative / second;
        }
        points[i] = x;
    }
}

} // namespace craton::tomography
