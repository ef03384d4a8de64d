#include <craton/apps/hazard/kernels/oscillator.hpp>

#include <craton/base/vectors.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace craton::hazard {

oscillator_step step_of_oscillator(double period_s, double damping, double dt_s) {
    // for steps much shorter than the period the terms of 1/(w^3 dt) nearly cancel
    using real = long double;
    const real w = 2 * std::numbers::pi_v<real> / static_cast<real>(period_s), z = damping, dt = dt_s;
    const real root = std::sqrt(1 - z * z), damped = w * root;
    const real decay = std::exp(-z * w * dt), sine = std::sin(damped * dt), cosine = std::cos(damped * dt);
    const real from_velocity = sine / damped, turned = cosine - z / root * sine, swing = damped * sine + z * w * cosine;
    const real p = (2 * z * z - 1) / (w * w * dt), q = 2 * z / (w * w * w * dt), r = 1 / (w * w);
    return {.xx = static_cast<double>(decay * (z / root * sine + cosine)),
            .xv = static_cast<double>(decay * from_velocity),
            .xa = static_cast<double>(decay * ((p + z / w) * from_velocity + (q + r) * cosine) - q),
            .xb = static_cast<double>(-decay * (p * from_velocity + q * cosine) - r + q),
            .vx = static_cast<double>(-w / root * decay * sine),
            .vv = static_cast<double>(decay * turned),
            .va = static_cast<double>(decay * ((p + z / w) * turned - (q + r) * swing) + r / dt),
            .vb = static_cast<double>(-decay * (p * turned - q * swing) - r / dt)};
}

namespace {

constexpr std::int64_t vectors = oscillator_lanes / simd::doubles_per_vector;

template <bool keep>
void respond_to(const oscillator_step& step, const double* a, std::int64_t samples, double* into, double* peaks) {
    using simd::doubles;
    std::array<doubles, vectors> x{}, v{}, before{}, most{};
    for (std::int64_t t = 0; t < samples; ++t, a += oscillator_lanes) {
        for (std::int64_t n = 0; n < vectors; ++n) {
            const doubles now = simd::load_doubles(a + n * simd::doubles_per_vector);
            if (t > 0) {
                const doubles driven = step.xa * before[n] + step.xb * now, kicked = step.va * before[n] + step.vb * now;
                const doubles x1 = step.xx * x[n] + (step.xv * v[n] + driven);
                v[n] = step.vv * v[n] + (step.vx * x[n] + kicked);
                x[n] = x1;
            }
            before[n] = now;
            const doubles size = x[n] < 0 ? -x[n] : x[n];
            most[n] = size > most[n] ? size : most[n];
            if constexpr (keep) simd::store_doubles(into + t * oscillator_lanes + n * simd::doubles_per_vector, x[n]);
        }
    }
    for (std::int64_t n = 0; n < vectors; ++n) simd::store_doubles(peaks + n * simd::doubles_per_vector, most[n]);
}

} // namespace

void respond(const oscillator_step& step, std::span<const double> acceleration, std::span<double> displacement,
             std::span<double> peaks) {
    const auto samples = static_cast<std::int64_t>(acceleration.size()) / oscillator_lanes;
    if (displacement.empty())
        respond_to<false>(step, acceleration.data(), samples, nullptr, peaks.data());
    else
        respond_to<true>(step, acceleration.data(), samples, displacement.data(), peaks.data());
}

} // namespace craton::hazard
