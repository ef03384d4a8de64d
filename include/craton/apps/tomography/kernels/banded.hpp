#pragma once

#include <cstdint>
#include <span>

namespace craton::tomography {

/// y = A x for a symmetric banded matrix in the upper storage of kernels/finite_elements.hpp; 4 flops per stored element.
void banded_multiply(std::span<const double> band, std::int64_t bandwidth, std::span<const double> x, std::span<double> y);

/// How many eigenvalues of a symmetric banded matrix are negative, by Sylvester's law: the negative pivots of L D L^T. The matrix
/// is overwritten. No pivoting, so a count is doubtful only where a leading minor is singular to rounding. n bandwidth^2
/// multiply-adds.
[[nodiscard]] std::int64_t negative_eigenvalues(std::span<double> band, std::int64_t bandwidth);

} // namespace craton::tomography
