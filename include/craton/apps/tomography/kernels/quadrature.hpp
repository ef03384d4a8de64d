#pragma once

#include <span>

namespace craton::tomography {

/// Gauss-Legendre points (increasing) and weights on [-1, 1]; exact to degree 2n - 1.
void gauss_legendre(std::span<double> points, std::span<double> weights);

/// Gauss-Lobatto points (increasing, ends included) on [-1, 1]; at least two.
void gauss_lobatto(std::span<double> points);

} // namespace craton::tomography
