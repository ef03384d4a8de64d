#include <craton/apps/tomography/kernels/banded.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace craton::tomography {

void banded_multiply(std::span<const double> band, std::int64_t bandwidth, std::span<const double> x, std::span<double> y) {
    const std::int64_t n = static_cast<std::int64_t>(x.size());
    std::fill(y.begin(), y.end(), 0.0);
    for (std::int64_t j = 0; j < n; ++j) {
        const double* const column = band.data() + j * (bandwidth + 1) + bandwidth - j;
        const double xj = x[static_cast<std::size_t>(j)];
        double sum = column[j] * xj;
        for (std::int64_t i = std::max<std::int64_t>(0, j - bandwidth); i < j; ++i) {
            y[static_cast<std::size_t>(i)] += column[i] * xj;
            sum += column[i] * x[static_cast<std::size_t>(i)];
        }
        y[static_cast<std::size_t>(j)] += sum;
    }
}

std::int64_t negative_eigenvalues(std::span<double> band, std::int64_t bandwidth) {
    const std::int64_t rows = bandwidth + 1;
    const std::int64_t n = static_cast<std::int64_t>(band.size()) / rows;
    // Row by row, element (j, j + i) at j * rows + i: the elimination then runs along contiguous memory.
    std::vector<double> row(band.size(), 0.0);
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i <= std::min(bandwidth, n - 1 - j); ++i) {
            row[static_cast<std::size_t>(j * rows + i)] = band[static_cast<std::size_t>((j + i) * rows + bandwidth - i)];
        }
    }
    std::int64_t negative = 0;
    for (std::int64_t j = 0; j < n; ++j) {
        const double* const pivot_row = row.data() + j * rows;
        double pivot = pivot_row[0];
        if (pivot == 0) {
            pivot = std::numeric_limits<double>::min(); // either sign is right for an eigenvalue of zero
        }
        negative += pivot < 0 ? 1 : 0;
        for (std::int64_t i = 1; i <= std::min(bandwidth, n - 1 - j); ++i) {
            const double factor = pivot_row[i] / pivot;
            double* const below = row.data() + (j + i) * rows;
            for (std::int64_t k = i; k <= bandwidth; ++k) {
                below[k - i] -= factor * pivot_row[k];
            }
        }
    }
    return negative;
}

} // namespace craton::tomography
