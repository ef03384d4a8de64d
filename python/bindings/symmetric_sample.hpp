#pragma once

#include <craton/base/error.hpp>
#include <craton/base/matrix_view.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

namespace craton::bindings {

/// In double precision, whose differences do not leave their range.
template <class T> [[nodiscard]] auto wide(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<double>(value);
    } else {
        return std::complex<double>(value);
    }
}

/// Compares some elements of a square block whose rows lie in one piece with their mirror images: of such a block an update reads
/// the lower triangle, which is that much quicker, and a block with an upper triangle alone would add nothing. Throws user_error
/// where a pair differs by more than rounding makes the elements of a product with itself differ.
template <class T> void require_symmetric_sample(base::matrix_view<const T> block, const char* what) {
    const std::int64_t n = block.rows;
    if (block.cols != n || block.col_stride != 1 || n < 2) return;
    constexpr std::uint64_t pairs = 32;
    constexpr std::uint64_t spread = 2654435761; // Knuth's multiplicative hash
    constexpr double of_elements = 1e-3;
    constexpr double of_diagonal = 1e-4; // beyond the rounding of a product in float, which goes with the lengths of its rows
    const auto order = static_cast<std::uint64_t>(n);
    for (std::uint64_t k = 0; k < pairs; ++k) {
        const std::uint64_t first = k * spread % order;
        const std::uint64_t second = (first + 1 + (k * spread >> 8) % (order - 1)) % order;
        const auto a = static_cast<std::int64_t>(std::min(first, second)), b = static_cast<std::int64_t>(std::max(first, second));
        const auto upper = wide(block(a, b)), lower = wide(block(b, a));
        const double difference = std::abs(upper - lower); // NaN where one of them is: not compared
        const double elements = std::max(std::abs(upper), std::abs(lower));
        const double diagonal = std::sqrt(std::abs(wide(block(a, a))) * std::abs(wide(block(b, b))));
        if (!(difference > of_elements * elements && difference > of_diagonal * diagonal)) continue;
        throw user_error(fmt::format("{}: elements [{}, {}] and [{}, {}] differ; allowed: a symmetric block, or one in Fortran "
                                     "order, of which the upper triangle is read",
                                     what, a, b, b, a));
    }
}

} // namespace craton::bindings
