#include <craton/apps/waves/step_engine.hpp>

#include <cstddef>

namespace craton::waves {

float* brick_fields::first(stored_field which) const {
    const std::array<float*, stored_fields> all{v.x,       v.y,       v.z,       stress.xx, stress.yy,
                                                stress.zz, stress.xy, stress.xz, stress.yz, memory.xx,
                                                memory.yy, memory.zz, memory.xy, memory.xz, memory.yz};
    return all[static_cast<std::size_t>(which)];
}

namespace {

struct differenced_field {
    stored_field which;
    std::size_t axis;
    bool on_faces; // along the axis
};

using enum stored_field;
constexpr std::array<differenced_field, 9> velocities{{{vx, 0, true},
                                                       {vy, 0, false},
                                                       {vz, 0, false},
                                                       {vx, 1, false},
                                                       {vy, 1, true},
                                                       {vz, 1, false},
                                                       {vx, 2, false},
                                                       {vy, 2, false},
                                                       {vz, 2, true}}};
constexpr std::array<differenced_field, 9> stresses{{{xx, 0, false},
                                                     {xy, 0, true},
                                                     {xz, 0, true},
                                                     {xy, 1, true},
                                                     {yy, 1, false},
                                                     {yz, 1, true},
                                                     {xz, 2, true},
                                                     {yz, 2, true},
                                                     {zz, 2, false}}};

// Cells of a brick, planes from <= n < to along an axis.
cell_range planes_of(const brick_shape& shape, std::size_t axis, std::int64_t from, std::int64_t to) {
    cell_range cells{0, shape.nx, 0, shape.ny, 0, shape.nz};
    if (axis == 0) cells.i0 = from, cells.i1 = to;
    if (axis == 1) cells.j0 = from, cells.j1 = to;
    if (axis == 2) cells.k0 = from, cells.k1 = to;
    return cells;
}

} // namespace

halo_plan halo_plan_of(const brick_shape& shape, const std::array<bool, 3>& low, const std::array<bool, 3>& high) {
    halo_plan plan;
    const std::array<std::int64_t, 3> count{shape.nx, shape.ny, shape.nz};
    for (std::size_t half = 0; half < 2; ++half) {
        for (const auto& [which, axis, on_faces] : half == 0 ? velocities : stresses) {
            const std::int64_t below = on_faces ? 1 : 2, above = on_faces ? 2 : 1, n = count[axis];
            if (low[axis]) {
                plan.take[half].push_back({which, planes_of(shape, axis, -below, 0)});
                plan.give[half].push_back({which, planes_of(shape, axis, 0, above)});
            }
            if (high[axis]) {
                plan.take[half].push_back({which, planes_of(shape, axis, n, n + above)});
                plan.give[half].push_back({which, planes_of(shape, axis, n - below, n)});
            }
        }
    }
    return plan;
}

} // namespace craton::waves
