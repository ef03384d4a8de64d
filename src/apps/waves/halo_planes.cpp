#include "halo_planes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace craton::waves {

std::vector<array::ghost_planes> halos_of(half_step half) {
    const brick_shape cube{4, 4, 4, 16, 64};
    const auto plan = halo_plan_of(cube, {true, true, true}, {true, true, true});
    std::map<std::pair<int, int>, array::ghost_planes> wanted; // by array and axis
    for (const auto& planes : plan.take[static_cast<std::size_t>(half)]) {
        const auto& c = planes.cells;
        const int axis = c.i0 < 0 || c.i0 == 4 ? 0 : c.j0 < 0 || c.j0 == 4 ? 1 : 2;
        const auto array = static_cast<int>(planes.which);
        const std::array<std::int64_t, 3> first{c.i0, c.j0, c.k0}, last{c.i1, c.j1, c.k1};
        const auto d = static_cast<std::size_t>(axis);
        auto& halo_of = wanted.try_emplace({array, axis}, array::ghost_planes{array, axis, 0, 0}).first->second;
        (first[d] < 0 ? halo_of.low : halo_of.high) = static_cast<int>(last[d] - first[d]);
    }
    std::vector<array::ghost_planes> found;
    for (const auto& each : wanted) found.push_back(each.second);
    return found;
}

} // namespace craton::waves
