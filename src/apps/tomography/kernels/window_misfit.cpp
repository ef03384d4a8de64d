#include <craton/apps/tomography/kernels/window_misfit.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <numeric>

namespace craton::tomography {

namespace {

constexpr double noise = 1.0;

double hilbert_of(std::size_t lag) { return lag % 2 == 0 ? 0.0 : 2.0 / (std::numbers::pi * static_cast<double>(lag)); }

// x' per sample: five-point differences inside, shorter ones at the ends.
void differentiate(std::span<const double> x, std::span<double> out) {
    const std::size_t n = x.size();
    for (std::size_t t = 0; t < n; ++t) {
        if (t >= 2 && t + 2 < n) {
            out[t] = (8.0 * (x[t + 1] - x[t - 1]) - (x[t + 2] - x[t - 2])) / 12.0;
        } else {
            const std::size_t left = t == 0 ? 0 : t - 1;
            const std::size_t right = std::min(t + 1, n - 1);
            out[t] = left == right ? 0.0 : (x[right] - x[left]) / static_cast<double>(right - left);
        }
    }
}

// How alike d[t + shift] and g[t] are, between -1 and 1, where both are in the window; 0 where that has less than half of g.
double correlation(std::span<const double> d, std::span<const double> g, std::int64_t shift, double energy) {
    const auto n = static_cast<std::int64_t>(g.size());
    double sum = 0, of_d = 0, of_g = 0;
    for (std::int64_t t = std::max<std::int64_t>(0, -shift); t < std::min(n, n - shift); ++t) {
        const double late = d[static_cast<std::size_t>(t + shift)];
        const double here = g[static_cast<std::size_t>(t)];
        sum += late * here;
        of_d += late * late;
        of_g += here * here;
    }
    return of_d > 0 && of_g > 0.5 * energy ? sum / std::sqrt(of_d * of_g) : 0.0;
}

void envelope_of(std::span<const double> x, std::vector<double>& transform, std::span<double> out) {
    transform.resize(x.size());
    hilbert_transform(x, transform);
    for (std::size_t t = 0; t < x.size(); ++t) out[t] = std::sqrt(x[t] * x[t] + transform[t] * transform[t] + noise * noise);
}

} // namespace

void hilbert_transform(std::span<const double> x, std::span<double> out) {
    for (std::size_t t = 0; t < x.size(); ++t) {
        double sum = 0;
        for (std::size_t lag = 1; lag <= t; lag += 2) sum += hilbert_of(lag) * x[t - lag];
        for (std::size_t lag = 1; t + lag < x.size(); lag += 2) sum -= hilbert_of(lag) * x[t + lag];
        out[t] = sum;
    }
}

double delay(std::span<const double> d, std::span<const double> g, std::int64_t furthest) {
    furthest = std::min(furthest, static_cast<std::int64_t>(g.size()) - 1);
    const double energy = std::inner_product(g.begin(), g.end(), g.begin(), 0.0);
    std::int64_t best = 0;
    double largest = correlation(d, g, 0, energy);
    for (std::int64_t shift = -furthest; shift <= furthest; ++shift) {
        const double found = correlation(d, g, shift, energy);
        if (found > largest) {
            largest = found;
            best = shift;
        }
    }
    const double before = correlation(d, g, best - 1, energy);
    const double after = correlation(d, g, best + 1, energy);
    const double cosine = (before + after) / (2.0 * largest); // of one sample's phase
    if (!(largest > 0) || !(std::abs(cosine) < 1.0) || std::max(before, after) > largest) return static_cast<double>(best);
    const double phase = std::acos(cosine);
    return static_cast<double>(best) + std::atan2(after - before, 2.0 * largest * std::sin(phase)) / phase;
}

window_misfit::window_misfit(misfit_kind kind, std::span<const double> g) : kind_(kind), g_(g.begin(), g.end()) {
    if (kind == misfit_kind::arrival_time) {
        along_.resize(g.size());
        differentiate(g, along_);
        for (const double value : along_) speed_ += value * value;
        speed_ = std::sqrt(speed_);
        for (double& value : along_) value = speed_ > 0 ? value / speed_ : 0.0;
    } else if (kind == misfit_kind::envelope) {
        std::vector<double> envelope(g.size());
        envelope_of(g, across_, envelope);
        along_.assign(g.begin(), g.end());
        for (std::size_t t = 0; t < g.size(); ++t) {
            along_[t] /= envelope[t];
            across_[t] /= envelope[t];
        }
    }
}

void window_misfit::residual(std::span<const double> d, std::int64_t furthest, std::span<double> e) const {
    if (kind_ == misfit_kind::waveform) {
        std::ranges::transform(d, g_, e.begin(), std::minus<>());
    } else if (kind_ == misfit_kind::arrival_time) {
        e[0] = speed_ > 0 ? -delay(d, g_, furthest) * speed_ : 0.0;
    } else {
        std::vector<double> transform;
        std::vector<double> predicted(g_.size());
        envelope_of(g_, transform, predicted);
        envelope_of(d, transform, e);
        std::ranges::transform(e, predicted, e.begin(), std::minus<>());
    }
}

template <class T> void window_misfit::derivative(std::span<const T> from, std::int64_t columns, std::span<T> to) const {
    const auto n = static_cast<std::size_t>(columns);
    const std::size_t k = g_.size();
    const auto add = [&](double weight, std::size_t row, T* sum) {
        const auto scale = static_cast<T>(weight);
        const T* const x = from.data() + row * n;
        for (std::size_t j = 0; j < n; ++j) sum[j] += scale * x[j];
    };
    if (kind_ == misfit_kind::waveform) {
        std::ranges::copy(from, to.begin());
        return;
    }
    std::ranges::fill(to, T{0});
    if (kind_ == misfit_kind::arrival_time) {
        for (std::size_t t = 0; t < k; ++t) add(along_[t], t, to.data());
        return;
    }
    for (std::size_t t = 0; t < k; ++t) {
        T* const sum = to.data() + t * n;
        add(along_[t], t, sum);
        for (std::size_t lag = 1; lag <= t; lag += 2) add(across_[t] * hilbert_of(lag), t - lag, sum);
        for (std::size_t lag = 1; t + lag < k; lag += 2) add(-across_[t] * hilbert_of(lag), t + lag, sum);
    }
}

void window_misfit::derivative_transposed(std::span<const double> e, std::span<double> out) const {
    if (kind_ == misfit_kind::waveform) {
        std::ranges::copy(e, out.begin());
    } else if (kind_ == misfit_kind::arrival_time) {
        std::ranges::transform(along_, out.begin(), [&](double value) { return value * e[0]; });
    } else {
        std::vector<double> of_transform(e.size());
        std::ranges::transform(across_, e, of_transform.begin(), std::multiplies<>());
        hilbert_transform(of_transform, out); // H^T = -H
        for (std::size_t t = 0; t < e.size(); ++t) out[t] = along_[t] * e[t] - out[t];
    }
}

template void window_misfit::derivative(std::span<const float>, std::int64_t, std::span<float>) const;
template void window_misfit::derivative(std::span<const double>, std::int64_t, std::span<double>) const;

} // namespace craton::tomography
