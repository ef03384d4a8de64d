#include <craton/apps/tomography/kernels/finite_elements.hpp>

#include <algorithm>
#include <cstddef>

namespace craton::tomography {

void lagrange(std::span<const double> nodes, double x, std::span<double> values, std::span<double> derivatives) {
    const std::size_t n = nodes.size();
    for (std::size_t a = 0; a < n; ++a) {
        // Product rule carried along: (p q)' = p' q + p q'.
        double value = 1;
        double derivative = 0;
        for (std::size_t b = 0; b < n; ++b) {
            if (b != a) {
                const double scale = 1 / (nodes[a] - nodes[b]);
                derivative = derivative * (x - nodes[b]) * scale + value * scale;
                value *= (x - nodes[b]) * scale;
            }
        }
        values[a] = value;
        derivatives[a] = derivative;
    }
}

void add_element(std::span<const double> weight, std::span<const double> v, std::int64_t first, std::int64_t bandwidth,
                 std::span<double> band) {
    const std::size_t functions = v.size() / weight.size();
    for (std::size_t b = 0; b < functions; ++b) {
        const std::int64_t column = first + static_cast<std::int64_t>(b);
        for (std::size_t a = 0; a <= b; ++a) {
            double sum = 0;
            for (std::size_t q = 0; q < weight.size(); ++q) {
                sum += weight[q] * v[q * functions + a] * v[q * functions + b];
            }
            const std::int64_t offset = static_cast<std::int64_t>(b - a);
            band[static_cast<std::size_t>(column * (bandwidth + 1) + bandwidth - offset)] += sum;
        }
    }
}

double banded_form(std::span<const double> band, std::int64_t bandwidth, std::span<const double> x) {
    double sum = 0;
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(x.size()); ++j) {
        const double* const column = band.data() + j * (bandwidth + 1) + bandwidth - j;
        double above = 0;
        for (std::int64_t i = std::max<std::int64_t>(0, j - bandwidth); i < j; ++i) {
            above += column[i] * x[static_cast<std::size_t>(i)];
        }
        const double xj = x[static_cast<std::size_t>(j)];
        sum += xj * (2 * above + column[j] * xj);
    }
    return sum;
}

} // namespace craton::tomography
