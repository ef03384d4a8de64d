#include "solid_harmonics.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>

namespace craton::scf {

namespace {

double binomial(int n, int k) {
    double found = 1;
    for (int i = 1; i <= k; ++i) found = found * (n - k + i) / i;
    return found;
}

std::vector<monomial> solid_harmonic(int l, int m) {
    const int order = std::abs(m), half = m < 0 ? 1 : 0; // v is half a number more where m < 0
    double ratio = m == 0 ? 1 : 2;                       // 2 (l + |m|)! (l - |m|)! / 2^(m = 0) / l!^2
    for (int i = 1; i <= order; ++i) ratio *= static_cast<double>(l + i) / (l - order + i);
    const double norm = std::ldexp(std::sqrt(ratio * (2 * l + 1) / (4 * std::numbers::pi)), -order);
    std::map<std::array<int, 3>, double> sums;
    for (int t = 0; 2 * t <= l - order; ++t)
        for (int u = 0; u <= t; ++u)
            for (int v = half; v <= order; v += 2) { // twice the v of the source
                const double sign = (t + (v - half) / 2) % 2 == 0 ? 1 : -1;
                const int y = 2 * u + v;
                sums[{2 * t + order - y, y, l - 2 * t - order}] += sign * norm * std::ldexp(1.0, -2 * t) * binomial(l, t) *
                                                                   binomial(l - t, order + t) * binomial(t, u) * binomial(order, v);
            }
    std::vector<monomial> found;
    for (const auto& [powers, coefficient] : sums)
        if (coefficient != 0) found.push_back({{powers[0], powers[1], powers[2]}, coefficient});
    return found;
}

} // namespace

std::vector<std::vector<monomial>> solid_harmonics(int l, bool cartesian) {
    if (l == 1) return {solid_harmonic(1, 1), solid_harmonic(1, -1), solid_harmonic(1, 0)};
    std::vector<std::vector<monomial>> all;
    if (cartesian && l > 1) {
        for (int n = hermite_count(l - 1); n < hermite_count(l); ++n)
            all.push_back({{hermite_orders[static_cast<std::size_t>(n)], 1.0}});
        return all;
    }
    for (int m = -l; m <= l; ++m) all.push_back(solid_harmonic(l, m));
    return all;
}

} // namespace craton::scf
