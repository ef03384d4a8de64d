#include <craton/apps/hazard/kernels/motion.hpp>

#include <algorithm>
#include <cstddef>

namespace craton::hazard {

void differentiate(std::span<const float> velocity, double dt_s, std::span<double> acceleration) {
    const auto n = static_cast<std::int64_t>(velocity.size());
    const auto at = [&](std::int64_t t) {
        return static_cast<double>(velocity[static_cast<std::size_t>(std::clamp<std::int64_t>(t, 0, n - 1))]);
    };
    const double scale = 1 / (60 * dt_s);
    const auto slow = [&](std::int64_t t) {
        return scale * (45 * (at(t + 1) - at(t - 1)) - 9 * (at(t + 2) - at(t - 2)) + (at(t + 3) - at(t - 3)));
    };
    const std::int64_t inner = std::max<std::int64_t>(std::min<std::int64_t>(3, n), 0), end = std::max(inner, n - 3);
    for (std::int64_t t = 0; t < inner; ++t) acceleration[static_cast<std::size_t>(t)] = slow(t);
    const float* const v = velocity.data();
    double* const a = acceleration.data();
    for (std::int64_t t = inner; t < end; ++t) {
        const double one = static_cast<double>(v[t + 1]) - static_cast<double>(v[t - 1]);
        const double two = static_cast<double>(v[t + 2]) - static_cast<double>(v[t - 2]);
        const double three = static_cast<double>(v[t + 3]) - static_cast<double>(v[t - 3]);
        a[t] = scale * (45 * one - 9 * two + three);
    }
    for (std::int64_t t = end; t < n; ++t) acceleration[static_cast<std::size_t>(t)] = slow(t);
}

double significant_duration(std::span<const double> acceleration, double dt_s, double from, double to) {
    const auto trapezoid = [&](std::size_t t) {
        return 0.5 * (acceleration[t - 1] * acceleration[t - 1] + acceleration[t] * acceleration[t]);
    };
    double all = 0;
    for (std::size_t t = 1; t < acceleration.size(); ++t) all += trapezoid(t);
    if (!(all > 0)) return 0;
    double sum = 0, begun = -1;
    for (std::size_t t = 1; t < acceleration.size(); ++t) {
        const double more = trapezoid(t);
        const auto reached = [&](double part) { return dt_s * (static_cast<double>(t - 1) + (part * all - sum) / more); };
        if (begun < 0 && sum + more >= from * all && more > 0) begun = reached(from);
        if (begun >= 0 && sum + more >= to * all && more > 0) return reached(to) - begun;
        sum += more;
    }
    return dt_s * static_cast<double>(acceleration.size() - 1) - begun; // to = 1, and rounding
}

} // namespace craton::hazard
