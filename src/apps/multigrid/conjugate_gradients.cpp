#include <craton/apps/multigrid/conjugate_gradients.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace craton::multigrid {

namespace {

using vector = std::vector<double>;

double dot(const solver& of, const vector& x, const vector& y) {
    std::array<double, 1> sum{0};
    for (std::size_t i = 0; i < x.size(); ++i) sum[0] += x[i] * y[i];
    of.ranks().barrier(); // polls, before a reduction that does not
    of.ranks().communicator().sum_in_place(std::span<double>(sum));
    return sum[0];
}

double largest(const solver& of, std::span<const double> x) {
    double most = 0;
    bool all_numbers = true; // which a maximum may not show
    for (const double each : x) {
        most = std::max(most, std::abs(each));
        all_numbers = all_numbers && std::isfinite(each);
    }
    of.ranks().barrier();
    const double found = of.ranks().communicator().maximum(all_numbers ? most : HUGE_VAL);
    return std::isinf(found) ? std::nan("") : found;
}

} // namespace

convergence conjugate_gradients(solver& by, std::span<const double> f, std::span<double> u, double tolerance, int most_steps,
                                const progress& each) {
    vector r(f.begin(), f.end());
    vector image(u.size());
    by.apply(u, image);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] -= image[i];
    const double scale = by.largest_right_hand_side();
    convergence found;
    if (scale == 0) {
        std::ranges::fill(u, 0.0);
        if (each) each(0, 0);
        return {{0}, true};
    }
    found.residuals.push_back(largest(by, r) / scale);
    if (each) each(0, found.residuals.back());
    vector z(u.size());
    by.precondition(r, z);
    vector p = z;
    vector before(r.size());
    double with_residual = dot(by, r, z);
    for (int step = 0; step < most_steps && found.residuals.back() > tolerance; ++step) {
        by.apply(p, image);
        const double curvature = dot(by, p, image);
        if (!(curvature > 0)) break;
        const double length = dot(by, p, r) / curvature;
        before = r;
        for (std::size_t i = 0; i < r.size(); ++i) {
            u[i] += length * p[i];
            r[i] -= length * image[i];
        }
        found.residuals.push_back(largest(by, r) / scale);
        if (each) each(step + 1, found.residuals.back());
        by.precondition(r, z);
        const double new_with_residual = dot(by, r, z);
        const double turned = (new_with_residual - dot(by, before, z)) / with_residual;
        for (std::size_t i = 0; i < r.size(); ++i) p[i] = z[i] + turned * p[i];
        with_residual = new_with_residual;
    }
    found.converged = found.residuals.back() <= tolerance;
    return found;
}

} // namespace craton::multigrid
