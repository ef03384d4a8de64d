#include <craton/apps/tomography/mode_kernels.hpp>

#include <algorithm>
#include <cmath>

namespace craton::tomography {

namespace {

double k_squared(std::int64_t l) { return static_cast<double>(l) * static_cast<double>(l + 1); }

/// Of the modes' second horizontal derivatives; there are none for l = 0.
double tangential(std::int64_t l) { return std::sqrt(std::max(0.0, k_squared(l) - 2)); }

} // namespace

mode_strain strain_of(const spheroidal_catalogue& modes, std::int64_t mode, double radius_m, bool below) {
    const spheroidal_point at = modes.evaluate(mode, radius_m, below);
    const std::int64_t l = modes.arrays().l[static_cast<std::size_t>(mode)];
    const double k = std::sqrt(k_squared(l));
    return {radius_m * at.du, 2 * at.u - k * at.v, radius_m * at.dv - at.v + k * at.u, tangential(l) * at.v};
}

mode_strain strain_of(const mode_catalogue& modes, std::int64_t mode, double radius_m) {
    const auto [w, slope] = modes.eigenfunction(mode, radius_m);
    return {0, 0, radius_m * slope - w, tangential(modes.arrays().l[static_cast<std::size_t>(mode)]) * w};
}

love_kernels pair_kernel(const mode_strain& mode, const mode_strain& other) {
    love_kernels out;
    out.C = mode.vertical * other.vertical;
    out.F = mode.vertical * other.horizontal + mode.horizontal * other.vertical;
    out.A = mode.horizontal * other.horizontal;
    out.L = mode.shear * other.shear;
    out.N = mode.twist * other.twist - mode.horizontal * other.horizontal;
    return out;
}

shear_kernels shear_kernels_of(const love_kernels& kernels, const love_parameters& moduli, double vp_over_vs) {
    if (moduli.L == 0) {
        return {}; // fluids
    }
    const double eta = moduli.F / (moduli.A - 2 * moduli.L);
    const double xi = moduli.N / moduli.L;
    const double vertical = moduli.L * (kernels.L - 2 * eta * kernels.F);
    const double horizontal = moduli.N * kernels.N;
    const double compression = moduli.A * (kernels.A + eta * kernels.F) + moduli.C * kernels.C;
    return {2 * (vertical + horizontal) + 2 * vp_over_vs * compression, (2 * horizontal - xi * vertical) / (2 + xi)};
}

} // namespace craton::tomography
