#include <craton/apps/waves/step_engine.hpp>

#include <cstddef>

namespace craton::waves {

float* brick_fields::first(field which) const {
    const std::array<float*, field_count> all{v.x,       v.y,       v.z,       stress.xx, stress.yy, stress.zz, stress.xy, stress.xz,
                                              stress.yz, memory.xx, memory.yy, memory.zz, memory.xy, memory.xz, memory.yz};
    return all[static_cast<std::size_t>(which)];
}

namespace {

// One side's planes: ghosts of this brick, or the neighbour's, which are this brick's outermost.
cell_range planes_beside(const brick_shape& shape, std::size_t axis, bool high, bool ghosts) {
    cell_range cells{0, shape.nx, 0, shape.ny, 0, shape.nz};
    const auto set = [&](std::int64_t& from, std::int64_t& to) {
        const std::int64_t side = high ? to : from;
        const bool above = high == ghosts;
        from = above ? side : side - halo;
        to = from + halo;
    };
    if (axis == 0) set(cells.i0, cells.i1);
    if (axis == 1) set(cells.j0, cells.j1);
    if (axis == 2) set(cells.k0, cells.k1);
    return cells;
}

} // namespace

halo_plan halo_plan_of(const brick_shape& shape, const std::array<bool, 3>& low, const std::array<bool, 3>& high) {
    const std::array<std::array<field, 3>, 3> differenced{{{field::xx, field::xy, field::xz},
                                                           {field::xy, field::yy, field::yz},
                                                           {field::xz, field::yz, field::zz}}};
    halo_plan plan;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        for (const bool upper : {false, true}) {
            if (!(upper ? high : low)[axis]) continue;
            const cell_range own = planes_beside(shape, axis, upper, false);
            const cell_range ghosts = planes_beside(shape, axis, upper, true);
            for (const field v : {field::vx, field::vy, field::vz}) {
                plan.give[0].push_back({v, own});
                plan.take[0].push_back({v, ghosts});
            }
            for (const field s : differenced[axis]) {
                plan.give[1].push_back({s, own});
                plan.take[1].push_back({s, ghosts});
            }
        }
    }
    return plan;
}

} // namespace craton::waves
