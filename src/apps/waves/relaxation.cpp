#include <craton/apps/waves/relaxation.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <span>

namespace craton::waves {

namespace {

constexpr int frequencies = 64;
constexpr int table_size = 129;
constexpr double beyond = 2; // the relaxation times reach past the band by this factor
constexpr double evenness = 0.03;

using weights = std::array<double, mechanisms>;

// min |A w - b|^2 with w >= 0, from A^T A and A^T b: one unknown after the other, which converges for any start; eight unknowns need no better.
weights non_negative_least_squares(const std::array<weights, mechanisms>& normal, const weights& right) {
    weights w{};
    for (int sweep = 0; sweep < 20000; ++sweep) {
        double change = 0;
        for (std::size_t k = 0; k < mechanisms; ++k) {
            double residual = right[k];
            for (std::size_t m = 0; m < mechanisms; ++m) residual -= normal[k][m] * w[m];
            const double next = std::max(0.0, w[k] + residual / normal[k][k]);
            change = std::max(change, std::abs(next - w[k]));
            w[k] = next;
        }
        if (change < 1e-13) break;
    }
    return w;
}

double wanted_loss(double frequency_hz, double loss, const quality_law& law) {
    return frequency_hz <= law.corner_hz ? loss : loss * std::pow(frequency_hz / law.corner_hz, -law.exponent);
}

// Im M = Re M / Q, with W/8 = w: sum_k w_k (w tau + 1/Q) / (1 + (w tau)^2) = 1/Q; each frequency's equation times Q.
weights fitted(const weights& times, std::span<const double> frequencies_hz, double loss, const quality_law& law) {
    std::array<weights, mechanisms> normal{};
    weights right{};
    for (const double f : frequencies_hz) {
        const double wanted = wanted_loss(f, loss, law);
        weights row{};
        for (std::size_t k = 0; k < mechanisms; ++k) {
            const double x = 2 * std::numbers::pi * f * times[k];
            row[k] = (x + wanted) / (1 + x * x) / wanted;
        }
        for (std::size_t k = 0; k < mechanisms; ++k) {
            right[k] += row[k];
            for (std::size_t m = 0; m < mechanisms; ++m) normal[k][m] += row[k] * row[m];
        }
    }
    // Of fits that are nearly as good the one with even weights, so that neighbouring cells differ little.
    for (std::size_t k = 0; k < mechanisms; ++k) {
        for (std::size_t m = 0; m < mechanisms; ++m)
            normal[k][m] += evenness * ((k == m ? 1.0 : 0.0) - 1.0 / mechanisms) / (loss * loss);
    }
    auto w = non_negative_least_squares(normal, right);
    for (auto& each : w) each *= mechanisms;
    return w;
}

std::complex<double> modulus(const weights& times, const weights& of, double frequency_hz) {
    std::complex<double> m = 1;
    for (std::size_t k = 0; k < mechanisms; ++k) {
        m -= of[k] / mechanisms / std::complex<double>(1, 2 * std::numbers::pi * frequency_hz * times[k]);
    }
    return m;
}

// Phase velocity over sqrt(M_u / rho).
double velocity(const std::complex<double>& m) { return 1 / std::real(1.0 / std::sqrt(m)); }

} // namespace

relaxation::relaxation(double lowest_hz, double highest_hz, double reference_hz, const quality_law& law)
    : reference_hz_(reference_hz) {
    if (!(lowest_hz > 0) || !(lowest_hz < highest_hz / 3) || !std::isfinite(highest_hz)) {
        throw user_error(fmt::format("attenuation: band {} to {} Hz; allowed: 0 < lowest < highest / 3", lowest_hz, highest_hz));
    }
    if (!(reference_hz > 0) || !std::isfinite(reference_hz)) {
        throw user_error(fmt::format("attenuation: reference frequency {} Hz; allowed: more than 0", reference_hz));
    }
    if (!(law.exponent >= 0 && law.exponent < 1) || !(law.corner_hz > 0)) {
        throw user_error(fmt::format("attenuation: Q ~ f^{} above {} Hz; allowed: exponent from 0 to below 1, corner above 0 Hz",
                                     law.exponent, law.corner_hz));
    }
    const double ratio = highest_hz / lowest_hz;
    for (int k = 0; k < mechanisms; ++k) {
        times_[static_cast<std::size_t>(k)] =
            beyond / (2 * std::numbers::pi * lowest_hz * std::pow(ratio * beyond * beyond, double(k) / (mechanisms - 1)));
    }
    std::vector<double> sampled(frequencies);
    for (int n = 0; n < frequencies; ++n)
        sampled[static_cast<std::size_t>(n)] = lowest_hz * std::pow(ratio, double(n) / (frequencies - 1));
    table_.resize(table_size);
    for (int n = 1; n < table_size; ++n) {
        auto& each = table_[static_cast<std::size_t>(n)];
        each.weights = fitted(times_, sampled, n / (lowest_q * (table_size - 1)), law);
        each.unrelaxed = 1 / std::pow(velocity(modulus(times_, each.weights, reference_hz)), 2);
    }
}

relaxation::entry relaxation::interpolated(double q) const {
    const double loss = q > 0 ? 1 / std::max(q, lowest_q) : 0;
    const double place = loss * lowest_q * (table_size - 1);
    const auto below = std::min(static_cast<std::size_t>(place), table_.size() - 2);
    const double t = place - static_cast<double>(below);
    entry found;
    for (std::size_t k = 0; k < mechanisms; ++k) {
        found.weights[k] = (1 - t) * table_[below].weights[k] + t * table_[below + 1].weights[k];
    }
    found.unrelaxed = (1 - t) * table_[below].unrelaxed + t * table_[below + 1].unrelaxed;
    return found;
}

double relaxation::weight(int k, double q) const { return interpolated(q).weights[static_cast<std::size_t>(k)]; }

double relaxation::unrelaxed(double q) const { return interpolated(q).unrelaxed; }

relaxation::response relaxation::at(double frequency_hz, double q) const {
    const auto m = modulus(times_, interpolated(q).weights, frequency_hz);
    return {m.real() / m.imag(), velocity(m)};
}

double bulk_loss(double vp, double vs, double qp, double qs) {
    const double loss_p = qp > 0 ? 1 / qp : 0;
    const double loss_s = qs > 0 ? 1 / qs : 0;
    const double shear_part = 4.0 / 3 * vs * vs / (vp * vp);
    return std::max(0.0, (loss_p - shear_part * loss_s) / (1 - shear_part));
}

} // namespace craton::waves
