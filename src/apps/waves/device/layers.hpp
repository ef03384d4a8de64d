#pragma once

#include "host_device.hpp"

#include <craton/apps/waves/kernels/absorbing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace craton::waves::device {

// The corrections of kernels/absorbing.hpp for single cells, as the update of the cell takes them, from the differences that it
// has: they move little through memory but their own 24 bytes per cell and axis of layers in each half step. (Kernels of their own,
// before the update, took twice as long at 200^3 as the update of the whole grid.)

/// Cells of both.
inline cell_range common(const cell_range& a, const cell_range& b) {
    return {std::max(a.i0, b.i0), std::min(a.i1, b.i1), std::max(a.j0, b.j0),
            std::min(a.j1, b.j1), std::max(a.k0, b.k0), std::min(a.k1, b.k1)};
}

/// Slabs of `cells` that are not in `inside`, disjoint.
inline std::vector<cell_range> without(const cell_range& cells, const cell_range& inside) {
    const cell_range in = common(cells, inside);
    if (cells.empty()) return {};
    if (in.empty()) return {cells};
    std::vector<cell_range> slabs;
    for (const auto& slab :
         {cell_range{cells.i0, cells.i1, cells.j0, cells.j1, cells.k0, in.k0},
          cell_range{cells.i0, cells.i1, cells.j0, cells.j1, in.k1, cells.k1},
          cell_range{cells.i0, cells.i1, cells.j0, in.j0, in.k0, in.k1},
          cell_range{cells.i0, cells.i1, in.j1, cells.j1, in.k0, in.k1}, cell_range{cells.i0, in.i0, in.j0, in.j1, in.k0, in.k1},
          cell_range{in.i1, cells.i1, in.j0, in.j1, in.k0, in.k1}}) {
        if (!slab.empty()) slabs.push_back(slab);
    }
    return slabs;
}

/// Cells of a brick that no layer touches, from views of host memory; empty ranges when there are none.
inline cell_range untouched(const brick_shape& shape, const layers_view& layers) {
    cell_range found{layers.ends[0].i1, layers.ends[1].i0, shape.ny, 0, shape.nz, 0};
    for (std::int64_t n = 0; n < shape.ny * shape.nz; ++n) {
        const bool whole = std::any_of(layers.axis.begin(), layers.axis.end(),
                                       [&](const layer_axis& axis) { return axis.rows[n].at >= 0 && axis.rows[n].whole != 0; });
        if (whole) continue;
        const std::int64_t j = n % shape.ny, k = n / shape.ny;
        found.j0 = std::min(found.j0, j), found.j1 = std::max(found.j1, j + 1);
        found.k0 = std::min(found.k0, k), found.k1 = std::max(found.k1, k + 1);
    }
    return found;
}
inline cell_range untouched(const brick_shape& shape, const sponge_view& sponge) {
    const std::array<std::int64_t, 3> count{shape.nx, shape.ny, shape.nz};
    std::array<std::int64_t, 3> low{}, high{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto free = [&](std::int64_t n) { return sponge.factor[axis][0][n] == 1 && sponge.factor[axis][1][n] == 1; };
        low[axis] = 0;
        while (low[axis] < count[axis] && !free(low[axis])) ++low[axis];
        high[axis] = low[axis];
        while (high[axis] < count[axis] && free(high[axis])) ++high[axis];
    }
    return {low[0], high[0], low[1], high[1], low[2], high[2]};
}

/// Three values that belong together: a vector, or the differences along one axis of three fields.
template <class Cells = float> struct axis_terms {
    Cells x, y, z;
};

/// Six components at one cell's indices.
template <class Cells = float> struct cell_tensor {
    Cells xx{}, yy{}, zz{}, xy{}, xz{}, yz{};

    CRATON_HOST_DEVICE cell_tensor& operator+=(const cell_tensor& by) {
        xx += by.xx, yy += by.yy, zz += by.zz, xy += by.xy, xz += by.xz, yz += by.yz;
        return *this;
    }
};

/// The kernels of cells that no layer touches.
struct no_layers {
    struct cell_memory {};
};

/// What layers do to single cells: perfectly matched ones, a sponge, or both. Pointers to device memory.
///
/// A device waits long for what it reads, and a compiler lets no read pass a write that could be to the same place. So a cell's
/// memory is read as a whole (recalled), then the differences are stretched, then it is written.
struct cell_layers {
    layers_view view;
    sponge_view sponge;
    bool matched = false, damped = false;

    struct cell {
        std::int64_t i, j, k;
    };

    /// q of a cell's differences along one axis, and what takes it a step on.
    struct axis_memory {
        float* first = nullptr; ///< null: the cell is in no layer across this axis
        std::int64_t pitch = 0;
        axis_terms<> q{};
        float decay[2] = {}, gain[2] = {}; ///< at faces, at centres

        /// psi of a difference at a face or centre; q one step on.
        CRATON_HOST_DEVICE float psi(float difference, int where, float& of_q) const {
            const float before = of_q;
            of_q = decay[where] * before + gain[where] * difference;
            return 0.5F * (of_q + before);
        }
    };
    struct cell_memory {
        axis_memory x, y, z;
    };

    [[nodiscard]] CRATON_HOST_DEVICE cell_memory recalled_velocity(const cell& at, const brick_shape& shape) const {
        return recalled(at, shape, {view.axis[0].velocity_memory, view.axis[1].velocity_memory, view.axis[2].velocity_memory});
    }
    [[nodiscard]] CRATON_HOST_DEVICE cell_memory recalled_stress(const cell& at, const brick_shape& shape) const {
        return recalled(at, shape, {view.axis[0].stress_memory, view.axis[1].stress_memory, view.axis[2].stress_memory});
    }
    CRATON_HOST_DEVICE static void remember(const cell_memory& memory) {
        for (const axis_memory* each : {&memory.x, &memory.y, &memory.z}) {
            if (each->first == nullptr) continue;
            each->first[0] = each->q.x;
            each->first[each->pitch] = each->q.y;
            each->first[2 * each->pitch] = each->q.z;
        }
    }

    /// Adds psi to the differences that move v: along an axis those of the components of v in turn, of which that along the axis
    /// lies at faces and the others at centres.
    CRATON_HOST_DEVICE static void stretch(cell_memory& memory, axis_terms<>& along_x, axis_terms<>& along_y,
                                           axis_terms<>& along_z) {
        if (axis_memory& x = memory.x; x.first != nullptr) {
            along_x.x += x.psi(along_x.x, 0, x.q.x);
            along_x.y += x.psi(along_x.y, 1, x.q.y);
            along_x.z += x.psi(along_x.z, 1, x.q.z);
        }
        if (axis_memory& y = memory.y; y.first != nullptr) {
            along_y.x += y.psi(along_y.x, 1, y.q.x);
            along_y.y += y.psi(along_y.y, 0, y.q.y);
            along_y.z += y.psi(along_y.z, 1, y.q.z);
        }
        if (axis_memory& z = memory.z; z.first != nullptr) {
            along_z.x += z.psi(along_z.x, 1, z.q.x);
            along_z.y += z.psi(along_z.y, 1, z.q.y);
            along_z.z += z.psi(along_z.z, 0, z.q.z);
        }
    }

    /// psi of the strain increment, from the differences of v. Without `edges` (the plane of a free surface) xz and yz have none.
    CRATON_HOST_DEVICE static cell_tensor<> psi_of_strain(cell_memory& memory, const axis_terms<>& along_x,
                                                          const axis_terms<>& along_y, const axis_terms<>& along_z, bool edges) {
        cell_tensor<> found;
        if (axis_memory& x = memory.x; x.first != nullptr) {
            found.xx = x.psi(along_x.x, 1, x.q.x);
            found.xy += x.psi(along_x.y, 0, x.q.y);
            if (edges) found.xz += x.psi(along_x.z, 0, x.q.z);
        }
        if (axis_memory& y = memory.y; y.first != nullptr) {
            found.xy += y.psi(along_y.x, 0, y.q.x);
            found.yy = y.psi(along_y.y, 1, y.q.y);
            if (edges) found.yz += y.psi(along_y.z, 0, y.q.z);
        }
        if (axis_memory& z = memory.z; z.first != nullptr) {
            if (edges) found.xz += z.psi(along_z.x, 0, z.q.x);
            if (edges) found.yz += z.psi(along_z.y, 0, z.q.y);
            found.zz = z.psi(along_z.z, 1, z.q.z);
        }
        return found;
    }

    /// The sponge's part; before the update of the cell.
    CRATON_HOST_DEVICE void damp(const cell& at, axis_terms<>& v) const {
        if (!damped) return;
        v.x *= factor(at, 0, 1, 1);
        v.y *= factor(at, 1, 0, 1);
        v.z *= factor(at, 1, 1, 0);
    }
    CRATON_HOST_DEVICE void damp(const cell& at, cell_tensor<>& stress) const {
        if (!damped) return;
        const float centre = factor(at, 1, 1, 1);
        stress.xx *= centre;
        stress.yy *= centre;
        stress.zz *= centre;
        stress.xy *= factor(at, 0, 0, 1);
        stress.xz *= factor(at, 0, 1, 0);
        stress.yz *= factor(at, 1, 0, 0);
    }

  private:
    [[nodiscard]] CRATON_HOST_DEVICE cell_memory recalled(const cell& at, const brick_shape& shape,
                                                          const vector_field<float>& memory) const {
        if (!matched) return {};
        const std::int64_t n = at.j + at.k * shape.ny;
        const layer_row rows[3] = {view.axis[0].rows[n], view.axis[1].rows[n], view.axis[2].rows[n]};
        return {recalled(view.axis[0], at.i, rows[0], memory.x, at), recalled(view.axis[1], at.j, rows[1], memory.y, at),
                recalled(view.axis[2], at.k, rows[2], memory.z, at)};
    }
    // At cell n of the axis.
    [[nodiscard]] CRATON_HOST_DEVICE axis_memory recalled(const layer_axis& axis, std::int64_t n, const layer_row& row,
                                                          float* memory, const cell& at) const {
        if (row.at < 0) return {};
        const layer_part& part = row.whole != 0 ? view.whole : at.i < view.ends[0].i1 ? view.ends[0] : view.ends[1];
        if (at.i < part.i0 || at.i >= part.i1) return {};
        axis_memory found;
        found.first = memory + row.at + part.first + static_cast<std::uint32_t>(at.i) % static_cast<std::uint32_t>(part.pitch);
        found.pitch = part.pitch;
        found.q = {found.first[0], found.first[part.pitch], found.first[2 * part.pitch]};
        for (int where = 0; where < 2; ++where) {
            found.decay[where] = axis.decay[where][n];
            found.gain[where] = axis.gain[where][n];
        }
        return found;
    }

    [[nodiscard]] CRATON_HOST_DEVICE float factor(const cell& at, int x, int y, int z) const {
        return sponge.factor[0][x][at.i] * sponge.factor[1][y][at.j] * sponge.factor[2][z][at.k];
    }
};

} // namespace craton::waves::device
