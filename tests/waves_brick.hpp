#pragma once

#include "waves_media.hpp"

#include <craton/apps/waves/kernels/fields.hpp>
#include <craton/apps/waves/point_weights.hpp>
#include <craton/apps/waves/recorders.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace craton::tests {

/// A brick with arrays of its own, for tests of what only reads them.
class plain_brick {
  public:
    explicit plain_brick(const array::domain& cells) {
        place_.cells = cells;
        auto& shape = place_.shape;
        shape.nx = cells.extent(0);
        shape.ny = cells.extent(1);
        shape.nz = cells.extent(2);
        shape.pitch = (shape.nx + 2 * waves::halo + 15) / 16 * 16;
        shape.plane = shape.pitch * (shape.ny + 2 * waves::halo);
        for (auto& one : arrays_)
            one.assign(static_cast<std::size_t>(shape.plane * (shape.nz + 2 * waves::halo) + 16),
                       1e30F); // what no reader may touch
    }

    static constexpr std::size_t stress = 3, memory = 9, lambda = 15, mu = 16, mu_xy = 17, mu_xz = 18,
                                 mu_yz = 19; // places of arrays
    [[nodiscard]] float* array(std::size_t n) { return arrays_[n].data() + place_.shape.at(waves::halo, waves::halo, waves::halo); }

    /// value(x, y, z), in units of cells, at every own cell of an array that lies where a field does.
    template <class Value> void fill(std::size_t n, const waves::staggering& where, Value value) {
        const auto& c = place_.cells;
        for (std::int64_t k = c.low[2]; k < c.high[2]; ++k) {
            for (std::int64_t j = c.low[1]; j < c.high[1]; ++j) {
                for (std::int64_t i = c.low[0]; i < c.high[0]; ++i) {
                    const auto at = [&](std::int64_t m, std::size_t d) { return static_cast<double>(m) + (where[d] ? 0.0 : 0.5); };
                    array(n)[place_.shape.at(i - c.low[0], j - c.low[1], k - c.low[2])] =
                        static_cast<float>(value(at(i, 0), at(j, 1), at(k, 2)));
                }
            }
        }
    }

    [[nodiscard]] const waves::brick_place& place() const { return place_; }
    [[nodiscard]] waves::brick_view view(bool with_memory = false) {
        waves::brick_view made;
        made.place = place_;
        made.velocity = {array(0), array(1), array(2)};
        made.stress = {array(3), array(4), array(5), array(6), array(7), array(8)};
        if (with_memory) made.memory = {array(9), array(10), array(11), array(12), array(13), array(14)};
        const auto medium = [&](std::size_t n) { return copies_.of(arrays_[n], array(n)); };
        made.media.lambda = medium(lambda);
        made.media.mu = medium(mu);
        made.media.mu_xy = medium(mu_xy);
        made.media.mu_xz = medium(mu_xz);
        made.media.mu_yz = medium(mu_yz);
        return made;
    }

  private:
    waves::brick_place place_;
    std::array<std::vector<float>, 20> arrays_;
    compact_copies copies_;
};

/// A grid cut in so many bricks along each axis, as even as can be; brick number n.
inline array::domain brick_of(const array::index3& cells, const array::index3& cuts, std::int64_t n) {
    const array::index3 at{n % cuts[0], n / cuts[0] % cuts[1], n / (cuts[0] * cuts[1])};
    array::domain own;
    for (std::size_t d = 0; d < 3; ++d) {
        own.low[d] = cells[d] * at[d] / cuts[d];
        own.high[d] = cells[d] * (at[d] + 1) / cuts[d];
    }
    return own;
}

} // namespace craton::tests
