#pragma once

#include "columns.hpp"

#include <craton/apps/waves/kernels/absorbing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace craton::waves::device {

// The corrections of absorbing.hpp, all axes of a cell by one thread. They read fields that the update of the same cells reads
// again: 24 bytes of memory per cell and axis of layers, and 60 to 80 bytes of fields where there are layers, at 200^3 with layers
// of 10 cells on five sides a quarter of the cells.

/// Slabs of `cells` that are not in `inside`, disjoint.
inline std::vector<cell_range> without(const cell_range& cells, const cell_range& inside) {
    const cell_range in{std::max(cells.i0, inside.i0), std::min(cells.i1, inside.i1), std::max(cells.j0, inside.j0),
                        std::min(cells.j1, inside.j1), std::max(cells.k0, inside.k0), std::min(cells.k1, inside.k1)};
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

/// What both corrections of perfectly matched layers share.
struct matched_layers {
    columns share;
    brick_shape shape;
    layers_view layers; ///< pointers to where the fields are
    elastic_media media;
    differences d;
    closed_differences surface;

    /// Where a cell's difference along an axis has its memory; component c at memory[c * pitch]. Null: nowhere.
    struct memory_place {
        float* memory = nullptr;
        std::int64_t pitch = 0;
    };
    [[nodiscard]] CRATON_HOST_DEVICE memory_place memory_of(int axis, float* memory, std::int64_t i, std::int64_t j,
                                                            std::int64_t k) const {
        const layer_row& row = layers.axis[axis].rows[j + k * shape.ny];
        if (row.at < 0) return {};
        const layer_part& part = row.whole != 0 ? layers.whole : i < layers.ends[0].i1 ? layers.ends[0] : layers.ends[1];
        if (i < part.i0 || i >= part.i1) return {};
        return {memory + row.at + part.first + i % part.pitch, part.pitch};
    }

    /// psi of a difference whose field lies at faces (0) or centres (1) along x, y, z; its memory one step on.
    [[nodiscard]] CRATON_HOST_DEVICE float psi(int axis, const std::int64_t (&at)[3], const int (&place)[3], float difference,
                                               float& memory) const {
        const float decay = layers.axis[axis].decay[place[axis]][at[axis]];
        const float gain = layers.axis[axis].gain[place[axis]][at[axis]];
        const float before = memory;
        memory = decay * before + gain * difference;
        return 0.5F * (memory + before);
    }

    [[nodiscard]] CRATON_HOST_DEVICE float plus_along(int axis, const float* f, std::int64_t step, std::int64_t k) const {
        return axis == 2 && k < surface.planes ? closed_sum(surface.plus[k], f - k * step, step) : plus(d, f, step);
    }
    [[nodiscard]] CRATON_HOST_DEVICE float minus_along(int axis, const float* f, std::int64_t step, std::int64_t k) const {
        return axis == 2 && k < surface.planes ? closed_sum(surface.minus[k], f - k * step, step) : minus(d, f, step);
    }
};

/// correct_velocity.
struct matched_velocity {
    matched_layers in;
    vector_field<float> v;
    tensor_field<const float> stress;

    CRATON_HOST_DEVICE void operator()(const place& at) const {
        const cell_range own = in.share.of(at);
        if (own.i0 == own.i1) return;
        for (std::int64_t k = own.k0; k < own.k1; ++k) correct(own.i0, own.j0, k);
    }

  private:
    CRATON_HOST_DEVICE void correct(std::int64_t i, std::int64_t j, std::int64_t k) const {
        const std::int64_t n = in.shape.at(i, j, k);
        const float* const x[3] = {stress.xx, stress.xy, stress.xz};
        const float* const y[3] = {stress.xy, stress.yy, stress.yz};
        const float* const z[3] = {stress.xz, stress.yz, stress.zz};
        float psi[3] = {};
        add_axis<0>(psi, x, 1, n, i, j, k);
        add_axis<1>(psi, y, in.shape.pitch, n, i, j, k);
        add_axis<2>(psi, z, in.shape.plane, n, i, j, k);
        v.x[n] += in.media.buoyancy.x[n] * psi[0];
        v.y[n] += in.media.buoyancy.y[n] * psi[1];
        v.z[n] += in.media.buoyancy.z[n] * psi[2];
    }

    template <int axis>
    CRATON_HOST_DEVICE void add_axis(float (&psi)[3], const float* const (&from)[3], std::int64_t step, std::int64_t n,
                                     std::int64_t i, std::int64_t j, std::int64_t k) const {
        const auto memory = in.memory_of(axis, in.layers.axis[axis].velocity_memory, i, j, k);
        if (memory.memory == nullptr) return;
        const std::int64_t at[3] = {i, j, k};
        for (int c = 0; c < 3; ++c) {
            const int where[3] = {c != 0, c != 1, c != 2};
            const float difference =
                c == axis ? in.minus_along(axis, from[c] + n, step, k) : in.plus_along(axis, from[c] + n, step, k);
            psi[c] += in.psi(axis, at, where, difference, memory.memory[c * memory.pitch]);
        }
    }
};

/// correct_stress.
struct matched_stress {
    matched_layers in;
    tensor_field<float> stress;
    vector_field<const float> v;

    CRATON_HOST_DEVICE void operator()(const place& at) const {
        const cell_range own = in.share.of(at);
        if (own.i0 == own.i1) return;
        for (std::int64_t k = own.k0; k < own.k1; ++k) correct(own.i0, own.j0, k);
    }

  private:
    // psi of the strain increments: those of the normal strains, and of the two shears along each axis, added where they belong.
    struct strains {
        float xx = 0, yy = 0, zz = 0, xy = 0, xz = 0, yz = 0;
    };

    CRATON_HOST_DEVICE void correct(std::int64_t i, std::int64_t j, std::int64_t k) const {
        const std::int64_t n = in.shape.at(i, j, k);
        const std::int64_t at[3] = {i, j, k};
        const bool edges = k > 0 || in.surface.planes == 0;
        strains psi;
        if (const auto x = in.memory_of(0, in.layers.axis[0].stress_memory, i, j, k); x.memory != nullptr) {
            psi.xx = in.psi(0, at, {1, 1, 1}, plus(in.d, v.x + n, 1), x.memory[0]);
            psi.xy += in.psi(0, at, {0, 0, 1}, minus(in.d, v.y + n, 1), x.memory[x.pitch]);
            if (edges) psi.xz += in.psi(0, at, {0, 1, 0}, minus(in.d, v.z + n, 1), x.memory[2 * x.pitch]);
        }
        if (const auto y = in.memory_of(1, in.layers.axis[1].stress_memory, i, j, k); y.memory != nullptr) {
            const std::int64_t row = in.shape.pitch;
            psi.xy += in.psi(1, at, {0, 0, 1}, minus(in.d, v.x + n, row), y.memory[0]);
            psi.yy = in.psi(1, at, {1, 1, 1}, plus(in.d, v.y + n, row), y.memory[y.pitch]);
            if (edges) psi.yz += in.psi(1, at, {1, 0, 0}, minus(in.d, v.z + n, row), y.memory[2 * y.pitch]);
        }
        if (const auto z = in.memory_of(2, in.layers.axis[2].stress_memory, i, j, k); z.memory != nullptr) {
            const std::int64_t plane = in.shape.plane;
            if (edges) {
                psi.xz += in.psi(2, at, {0, 1, 0}, in.minus_along(2, v.x + n, plane, k), z.memory[0]);
                psi.yz += in.psi(2, at, {1, 0, 0}, in.minus_along(2, v.y + n, plane, k), z.memory[z.pitch]);
            }
            psi.zz = in.psi(2, at, {1, 1, 1}, in.plus_along(2, v.z + n, plane, k), z.memory[2 * z.pitch]);
        }
        const float isotropic = in.media.lambda[n] * (psi.xx + psi.yy + psi.zz);
        const float twice_mu = 2 * in.media.mu[n];
        stress.xx[n] += isotropic + twice_mu * psi.xx;
        stress.yy[n] += isotropic + twice_mu * psi.yy;
        stress.zz[n] += isotropic + twice_mu * psi.zz;
        stress.xy[n] += in.media.mu_xy[n] * psi.xy;
        if (!edges) return;
        stress.xz[n] += in.media.mu_xz[n] * psi.xz;
        stress.yz[n] += in.media.mu_yz[n] * psi.yz;
    }
};

/// damp_velocity and damp_stress.
struct sponge_cells {
    columns share;
    brick_shape shape;
    sponge_view sponge;
    vector_field<float> v; ///< null: stress
    tensor_field<float> stress;

    CRATON_HOST_DEVICE void operator()(const place& at) const {
        const cell_range own = share.of(at);
        if (own.i0 == own.i1) return;
        for (std::int64_t k = own.k0; k < own.k1; ++k) damp(own.i0, own.j0, k);
    }

  private:
    [[nodiscard]] CRATON_HOST_DEVICE float factor(std::int64_t i, std::int64_t j, std::int64_t k, int x, int y, int z) const {
        return sponge.factor[0][x][i] * sponge.factor[1][y][j] * sponge.factor[2][z][k];
    }
    CRATON_HOST_DEVICE void damp(std::int64_t i, std::int64_t j, std::int64_t k) const {
        const std::int64_t n = shape.at(i, j, k);
        if (v.x != nullptr) {
            v.x[n] *= factor(i, j, k, 0, 1, 1);
            v.y[n] *= factor(i, j, k, 1, 0, 1);
            v.z[n] *= factor(i, j, k, 1, 1, 0);
            return;
        }
        const float centre = factor(i, j, k, 1, 1, 1);
        stress.xx[n] *= centre;
        stress.yy[n] *= centre;
        stress.zz[n] *= centre;
        stress.xy[n] *= factor(i, j, k, 0, 0, 1);
        stress.xz[n] *= factor(i, j, k, 0, 1, 0);
        stress.yz[n] *= factor(i, j, k, 1, 0, 0);
    }
};

} // namespace craton::waves::device
