#pragma once

#include <cstdint>
#include <span>

namespace craton::tomography {

/// Values and derivatives at x of the Lagrange polynomials through the nodes.
void lagrange(std::span<const double> nodes, double x, std::span<double> values, std::span<double> derivatives);

/// A symmetric banded matrix in LAPACK's upper storage: element (i, j), i <= j, at band[j * (bandwidth + 1) + bandwidth + i - j].
/// Adds sum_q weight[q] v[q, a] v[q, b] for all pairs of an element's basis functions; v (points x functions, row major) is the
/// operator applied to each function at each quadrature point. points * functions^2 multiply-adds.
void add_element(std::span<const double> weight, std::span<const double> v, std::int64_t first, std::int64_t bandwidth,
                 std::span<double> band);

/// x^T A x.
[[nodiscard]] double banded_form(std::span<const double> band, std::int64_t bandwidth, std::span<const double> x);

} // namespace craton::tomography
