#pragma once

#include <cstdint>
#include <span>

namespace craton::waves {

/// Adds some samples of many series to their Fourier sums:
///     sums[row][column] += sum over samples n of phases[row][n] values[n][column],
/// a row for the cosine and a row for the sine of each frequency. Arrays are whole and row by row: phases rows x samples, values
/// samples x columns, sums rows x columns. Each sum is formed in the order of the samples, whatever the columns are cut into.
void add_to_fourier_sums(std::span<const float> phases, std::span<const float> values, std::int64_t rows, std::int64_t samples,
                         std::int64_t columns, std::span<float> sums);

} // namespace craton::waves
