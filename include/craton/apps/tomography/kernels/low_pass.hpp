#pragma once

#include <cstdint>
#include <span>

namespace craton::tomography {

/// A symmetric filter F of the samples of one window, which counts as zero beyond its ends:
///     (F x)[t] = sum over |s| <= m of taps[|s|] x[t + s],    m = taps.size() - 1.
/// Without taps F is the identity. F^T = F, so a misfit |F W r|^2 has the gradient G^T W^T F (F W r).
///
/// y = F x: 2 (2 m + 1) flops per sample. x and y must not overlap.
void low_pass(std::span<const double> taps, std::span<const double> x, std::span<double> y);

/// F G of k x n rows: 2 (2 m + 1) flops per element on rows that stay in the cache. `from` and `to` must not overlap.
template <class T>
void low_pass_panel(std::span<const double> taps, std::span<const T> from, std::int64_t columns, std::span<T> to);

extern template void low_pass_panel(std::span<const double>, std::span<const float>, std::int64_t, std::span<float>);
extern template void low_pass_panel(std::span<const double>, std::span<const double>, std::int64_t, std::span<double>);

} // namespace craton::tomography
