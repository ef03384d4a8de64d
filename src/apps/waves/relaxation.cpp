#include <craton/apps/waves/relaxation.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <span>

namespace craton::waves {

namespace {

constexpr int frequencies = 64;
constexpr int table_size = 129;

using times = std::array<double, mechanisms>;

// Where Q is that of the corner times this.
double quality_over_corner(double frequency_hz, const quality_law& law) {
    return frequency_hz <= law.corner_hz ? 1 : std::pow(frequency_hz / law.corner_hz, law.exponent);
}

// Over M_u: cells of all mechanisms one after the other, so the harmonic mean of their moduli, which is what waves through the
// pattern see (Graves and Day 2003).
std::complex<double> modulus(const times& of, double weight, double frequency_hz) {
    std::complex<double> compliance = 0;
    for (const double tau : of)
        compliance += 1.0 / (1.0 - weight / std::complex<double>(1, 2 * std::numbers::pi * frequency_hz * tau));
    return static_cast<double>(mechanisms) / compliance;
}

double loss_of(const std::complex<double>& m) { return m.imag() / m.real(); }

// Loss that a weight gives, over that wanted, frequency by frequency.
std::vector<double> achieved(const times& of, double weight, std::span<const double> frequencies_hz, double loss,
                             const quality_law& law) {
    std::vector<double> found;
    for (const double f : frequencies_hz) found.push_back(loss_of(modulus(of, weight, f)) * quality_over_corner(f, law) / loss);
    return found;
}

// The weight whose loss is as wanted in the mean; the mean grows with the weight.
double fitted_weight(const times& of, std::span<const double> frequencies_hz, double loss, const quality_law& law) {
    double low = 0, high = 1;
    for (int n = 0; n < 50; ++n) {
        const double middle = 0.5 * (low + high);
        const auto found = achieved(of, middle, frequencies_hz, loss, law);
        (std::accumulate(found.begin(), found.end(), 0.0) < static_cast<double>(found.size()) ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

// How far the law is missed at a loss in the middle of those of rock, by frequency.
class misses {
  public:
    misses(std::span<const double> frequencies_hz, const quality_law& law) : frequencies_hz_(frequencies_hz), law_(law) {}

    [[nodiscard]] std::vector<double> at(const times& log_times) const {
        constexpr double loss = 1.0 / 35;
        times of{};
        for (std::size_t k = 0; k < mechanisms; ++k) of[k] = std::exp(log_times[k]);
        auto found = achieved(of, fitted_weight(of, frequencies_hz_, loss, law_), frequencies_hz_, loss, law_);
        for (double& each : found) each -= 1;
        return found;
    }

  private:
    std::span<const double> frequencies_hz_;
    quality_law law_;
};

double square(std::span<const double> of) {
    double sum = 0;
    for (const double each : of) sum += each * each;
    return sum;
}

// Solves a small symmetric positive system in place, by Cholesky.
times solved(std::array<times, mechanisms> a, times b) {
    for (std::size_t i = 0; i < mechanisms; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = a[i][j];
            for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
            a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
        }
    }
    for (std::size_t i = 0; i < mechanisms; ++i) {
        for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (std::size_t i = mechanisms; i-- > 0;) {
        for (std::size_t k = i + 1; k < mechanisms; ++k) b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
    return b;
}

// Levenberg and Marquardt's step from p.
times stepped(const misses& shape, const times& p, std::span<const double> now, double damping) {
    constexpr double h = 1e-4;
    std::array<std::vector<double>, mechanisms> slopes;
    for (std::size_t k = 0; k < mechanisms; ++k) {
        auto moved = p;
        moved[k] += h;
        slopes[k] = shape.at(moved);
        for (std::size_t n = 0; n < now.size(); ++n) slopes[k][n] = (slopes[k][n] - now[n]) / h;
    }
    std::array<times, mechanisms> normal{};
    times right{};
    for (std::size_t k = 0; k < mechanisms; ++k) {
        for (std::size_t m = 0; m < mechanisms; ++m) {
            for (std::size_t n = 0; n < now.size(); ++n) normal[k][m] += slopes[k][n] * slopes[m][n];
        }
        for (std::size_t n = 0; n < now.size(); ++n) right[k] -= slopes[k][n] * now[n];
        normal[k][k] += damping;
    }
    auto next = solved(normal, right);
    for (std::size_t k = 0; k < mechanisms; ++k) next[k] += p[k];
    return next;
}

times fitted_times(const misses& shape, double lowest_hz, double highest_hz) {
    constexpr double beyond = 2; // a first guess reaches past the band by this factor
    times p{};
    for (std::size_t k = 0; k < mechanisms; ++k) {
        const double along = static_cast<double>(k) / (mechanisms - 1);
        p[k] = -std::log(2 * std::numbers::pi * lowest_hz / beyond * std::pow(highest_hz / lowest_hz * beyond * beyond, along));
    }
    auto now = shape.at(p);
    double damping = 1e-2;
    for (int n = 0; n < 60 && damping < 1e6; ++n) {
        const auto tried = stepped(shape, p, now, damping);
        const auto there = shape.at(tried);
        if (square(there) < square(now)) {
            p = tried;
            now = there;
            damping /= 4;
        } else {
            damping *= 8;
        }
    }
    for (double& each : p) each = std::exp(each);
    return p;
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
    std::vector<double> sampled;
    for (int n = 0; n < frequencies; ++n) {
        sampled.push_back(lowest_hz * std::pow(highest_hz / lowest_hz, static_cast<double>(n) / (frequencies - 1)));
    }
    times_ = fitted_times(misses(sampled, law), lowest_hz, highest_hz);
    table_.resize(table_size);
    for (int n = 1; n < table_size; ++n) {
        auto& each = table_[static_cast<std::size_t>(n)];
        each.weight = fitted_weight(times_, sampled, n / (lowest_q * (table_size - 1)), law);
        each.unrelaxed = 1 / std::pow(velocity(modulus(times_, each.weight, reference_hz)), 2);
    }
}

relaxation::entry relaxation::interpolated(double q) const {
    const double loss = q > 0 ? 1 / std::max(q, lowest_q) : 0;
    const double place = loss * lowest_q * (table_size - 1);
    const auto below = std::min(static_cast<std::size_t>(place), table_.size() - 2);
    const double t = place - static_cast<double>(below);
    const auto between = [t](double a, double b) { return (1 - t) * a + t * b; };
    return {between(table_[below].weight, table_[below + 1].weight), between(table_[below].unrelaxed, table_[below + 1].unrelaxed)};
}

double relaxation::weight(double q) const { return interpolated(q).weight; }

double relaxation::unrelaxed(double q) const { return interpolated(q).unrelaxed; }

relaxation::response relaxation::at(double frequency_hz, double q) const {
    const auto m = modulus(times_, interpolated(q).weight, frequency_hz);
    return {m.real() / m.imag(), velocity(m)};
}

double bulk_loss(double vp, double vs, double qp, double qs) {
    const double loss_p = qp > 0 ? 1 / qp : 0;
    const double loss_s = qs > 0 ? 1 / qs : 0;
    const double shear_part = 4.0 / 3 * vs * vs / (vp * vp);
    return std::max(0.0, (loss_p - shear_part * loss_s) / (1 - shear_part));
}

} // namespace craton::waves
