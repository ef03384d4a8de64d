#include <craton/apps/waves/kernels/fourier_sums.hpp>

#include <algorithm>
#include <array>

namespace craton::waves {

namespace {

constexpr std::int64_t tile_columns = 64; // four vectors of the widest processors: they stay in registers
constexpr std::int64_t tile_rows = 4;     // rows that share the values of a tile

// One tile, whose rows and columns are known to the compiler where it is whole.
template <std::int64_t Rows>
void add_tile(const float* phases, const float* values, std::int64_t samples, std::int64_t columns, std::int64_t wide,
              float* sums) {
    std::array<std::array<float, tile_columns>, Rows> of{};
    for (std::int64_t r = 0; r < Rows; ++r) std::copy_n(sums + r * columns, wide, of[static_cast<std::size_t>(r)].begin());
    for (std::int64_t n = 0; n < samples; ++n) {
        const float* const value = values + n * columns;
        for (std::int64_t r = 0; r < Rows; ++r) {
            const float phase = phases[r * samples + n];
            float* const sum = of[static_cast<std::size_t>(r)].data();
            if (wide == tile_columns) {
                for (std::int64_t c = 0; c < tile_columns; ++c) sum[c] += phase * value[c];
            } else {
                for (std::int64_t c = 0; c < wide; ++c) sum[c] += phase * value[c];
            }
        }
    }
    for (std::int64_t r = 0; r < Rows; ++r) std::copy_n(of[static_cast<std::size_t>(r)].begin(), wide, sums + r * columns);
}

} // namespace

void add_to_fourier_sums(std::span<const float> phases, std::span<const float> values, std::int64_t rows, std::int64_t samples,
                         std::int64_t columns, std::span<float> sums) {
    for (std::int64_t first = 0; first < columns; first += tile_columns) {
        const std::int64_t wide = std::min(tile_columns, columns - first);
        std::int64_t row = 0;
        for (; row + tile_rows <= rows; row += tile_rows)
            add_tile<tile_rows>(phases.data() + row * samples, values.data() + first, samples, columns, wide,
                                sums.data() + row * columns + first);
        for (; row < rows; ++row)
            add_tile<1>(phases.data() + row * samples, values.data() + first, samples, columns, wide,
                        sums.data() + row * columns + first);
    }
}

} // namespace craton::waves
