#include <craton/apps/tomography/kernels/low_pass.hpp>

#include <algorithm>
#include <cstddef>

namespace craton::tomography {

template <class T>
void low_pass_panel(std::span<const double> taps, std::span<const T> from, std::int64_t columns, std::span<T> to) {
    if (taps.empty()) {
        std::ranges::copy(from, to.begin());
        return;
    }
    const auto n = static_cast<std::size_t>(columns);
    const std::size_t k = n == 0 ? 0 : from.size() / n;
    const std::size_t reach = taps.size() - 1;
    for (std::size_t t = 0; t < k; ++t) {
        T* const sum = to.data() + t * n;
        std::fill_n(sum, n, T{0});
        for (std::size_t u = t < reach ? 0 : t - reach; u < std::min(k, t + reach + 1); ++u) {
            const auto tap = static_cast<T>(taps[u < t ? t - u : u - t]);
            const T* const row = from.data() + u * n;
            for (std::size_t j = 0; j < n; ++j) sum[j] += tap * row[j];
        }
    }
}

void low_pass(std::span<const double> taps, std::span<const double> x, std::span<double> y) { low_pass_panel(taps, x, 1, y); }

template void low_pass_panel(std::span<const double>, std::span<const float>, std::int64_t, std::span<float>);
template void low_pass_panel(std::span<const double>, std::span<const double>, std::int64_t, std::span<double>);

} // namespace craton::tomography
