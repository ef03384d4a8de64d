#include <craton/apps/tomography/kernels/noise_filter.hpp>

#include <cmath>
#include <cstddef>

namespace craton::tomography {

double noise_filter::weight() const { return 1 / (sigma * std::sqrt((1 - correlation) * (1 + correlation))); }

void whiten(const noise_filter& noise, std::span<const double> r, std::span<double> white) {
    if (noise.correlation == 0) { // to the last bit a division
        for (std::size_t t = 0; t < r.size(); ++t) white[t] = r[t] / noise.sigma;
        return;
    }
    const double weight = noise.weight();
    double before = 0;
    for (std::size_t t = 0; t < r.size(); ++t) {
        const double now = r[t];
        white[t] = t == 0 ? now * noise.first_weight() : (now - noise.correlation * before) * weight;
        before = now;
    }
}

void whiten_transposed(const noise_filter& noise, std::span<const double> white, std::span<double> r) {
    if (noise.correlation == 0) {
        whiten(noise, white, r);
        return;
    }
    const double weight = noise.weight();
    for (std::size_t t = 0; t < r.size(); ++t) {
        const double own = white[t] * (t == 0 ? noise.first_weight() : weight);
        r[t] = t + 1 < r.size() ? own - noise.correlation * weight * white[t + 1] : own;
    }
}

template <class T>
void whiten_panel(const noise_filter& noise, std::span<const float> panel, std::int64_t columns, std::span<T> white) {
    const auto n = static_cast<std::size_t>(columns);
    if (noise.correlation == 0) {
        for (std::size_t e = 0; e < panel.size(); ++e) white[e] = static_cast<T>(static_cast<double>(panel[e]) / noise.sigma);
        return;
    }
    const double weight = noise.weight();
    for (std::size_t e = 0; e < n && e < panel.size(); ++e)
        white[e] = static_cast<T>(static_cast<double>(panel[e]) * noise.first_weight());
    for (std::size_t e = n; e < panel.size(); ++e) {
        const double difference = static_cast<double>(panel[e]) - noise.correlation * static_cast<double>(panel[e - n]);
        white[e] = static_cast<T>(difference * weight);
    }
}

template void whiten_panel(const noise_filter&, std::span<const float>, std::int64_t, std::span<float>);
template void whiten_panel(const noise_filter&, std::span<const float>, std::int64_t, std::span<double>);

} // namespace craton::tomography
