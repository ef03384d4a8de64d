#include <craton/apps/waves/kernels/interface_planes.hpp>

#include <algorithm>
#include <cstddef>

namespace craton::waves {

namespace {

constexpr std::int64_t thirds_reached = 2 * fine_per_coarse - 1;
constexpr std::int64_t reach = 2; // coarse cells

// The fine place that lies upon the coarse one, among a coarse cell's.
std::int64_t upon(bool face) { return face ? 0 : fine_per_coarse / 2; }

// A fine place beside a coarse cell's, as the cell that has it and its number there.
struct fine_place {
    std::int64_t cell, number;
};
fine_place place_of(std::int64_t from_first) {
    const std::int64_t cell = (from_first + reach * fine_per_coarse) / fine_per_coarse - reach;
    return {cell, from_first - cell * fine_per_coarse};
}

} // namespace

void take_to_plane(const brick_shape& shape, const float* field, const surface_closure& closure, std::int64_t j0, std::int64_t j1,
                   const plane_of_ninths<float>& into) {
    std::array<float, surface_closure::width> row{};
    for (std::size_t n = 0; n < row.size(); ++n) row[n] = static_cast<float>(-closure.minus[0][n]);
    for (std::int64_t j = fine_per_coarse * j0; j < fine_per_coarse * j1; ++j) {
        const float* const last = field + shape.at(0, j, shape.nz - 1);
        float* const to = into.first + j / fine_per_coarse * into.pitch + j % fine_per_coarse * fine_per_coarse * into.part;
        for (std::int64_t i = 0; i < shape.nx; ++i) {
            float sum = 0;
            for (std::size_t n = 0; n < row.size(); ++n) sum += row[n] * last[i - static_cast<std::int64_t>(n) * shape.plane];
            to[i / fine_per_coarse + i % fine_per_coarse * into.part] = sum;
        }
    }
}

void to_coarse(const plane_of_ninths<const float>& fine, const in_plane& where, std::int64_t nx, std::int64_t j0, std::int64_t j1,
               const coarse_plane<float>& into) {
    for (std::int64_t j = j0; j < j1; ++j) {
        float* const sum = into.first + j * into.pitch;
        std::fill(sum, sum + nx, 0.0F);
        for (std::int64_t q = -thirds_reached; q <= thirds_reached; ++q) {
            const double of_y = detail::cubic_weight(q);
            const auto y = place_of(upon(where[1]) + q);
            for (std::int64_t p = -thirds_reached; p <= thirds_reached; ++p) {
                const auto weight = static_cast<float>(of_y * detail::cubic_weight(p) / (fine_per_coarse * fine_per_coarse));
                if (weight == 0) continue;
                const auto x = place_of(upon(where[0]) + p);
                const float* const from =
                    fine.first + x.cell + (j + y.cell) * fine.pitch + (x.number + fine_per_coarse * y.number) * fine.part;
                for (std::int64_t i = 0; i < nx; ++i) sum[i] += weight * from[i];
            }
        }
    }
}

void to_fine(const coarse_plane<const float>& coarse, const in_plane& where, const brick_shape& shape, std::int64_t j0,
             std::int64_t j1, float* field) {
    const std::int64_t nx = shape.nx / fine_per_coarse;
    for (std::int64_t j = j0; j < j1; ++j) {
        for (std::int64_t b = 0; b < fine_per_coarse; ++b) {
            float* const row = field + shape.at(0, fine_per_coarse * j + b, shape.nz);
            for (std::int64_t a = 0; a < fine_per_coarse; ++a) {
                std::array<float, (2 * reach + 1) * (2 * reach + 1)> weights{};
                for (std::int64_t t = -reach; t <= reach; ++t) {
                    for (std::int64_t s = -reach; s <= reach; ++s)
                        weights[static_cast<std::size_t>(s + reach + (2 * reach + 1) * (t + reach))] =
                            static_cast<float>(detail::cubic_weight(a - upon(where[0]) - fine_per_coarse * s) *
                                               detail::cubic_weight(b - upon(where[1]) - fine_per_coarse * t));
                }
                for (std::int64_t i = 0; i < nx; ++i) {
                    float sum = 0;
                    for (std::int64_t t = -reach; t <= reach; ++t) {
                        const float* const from = coarse.first + i + (j + t) * coarse.pitch;
                        for (std::int64_t s = -reach; s <= reach; ++s)
                            sum += weights[static_cast<std::size_t>(s + reach + (2 * reach + 1) * (t + reach))] * from[s];
                    }
                    row[fine_per_coarse * i + a] = sum;
                }
            }
        }
    }
}

} // namespace craton::waves
