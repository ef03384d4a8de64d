#pragma once

#include "host_device.hpp"

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace craton::waves::device {

// The updates of updates.hpp, a thread per column of cells. A warp has 32 cells of a row, begun where a 128-byte line begins, so
// that it reads and writes whole lines; a block has 8 rows. Threads go down along z: of fields that are differenced along z each
// value is read once per column and kept in registers for the four planes that need it; neighbours along x and y come from the
// first-level cache, or the second, since blocks beside each other go down at about the same pace (all blocks of a 132-processor
// device together hold about 2.7e5 columns, 4 bytes x 14 arrays x 4 planes of them: 60 MB at most, mostly shared lines).
//
// Device memory then moves little more than what must be moved, per cell
//     velocity 54 B (stress 24, v 12 + 12, buoyancy 6), stress 70 B (v 12, stress 24 + 24, media 10): 124 B a step,
//     anelastic + 52 B (memory variables 24 + 24, weights 4): 176 B,
// so that a device that copies 4.3 TB/s cannot do more than 34.7e9 elastic or 24.4e9 anelastic cells per second. A thread that
// begins a column reads three planes more of three arrays: 36 bytes per column and `depth` cells.

/// surface_closure times dt / h, in single precision.
struct closed_differences {
    int planes = 0; ///< 0: no surface
    float plus[surface_closure::planes][surface_closure::width] = {};
    float minus[surface_closure::planes][surface_closure::width] = {};
};

inline closed_differences closed_differences_of(const surface_closure* surface, const differences& d) {
    closed_differences closed;
    if (surface == nullptr) return closed;
    closed.planes = surface_closure::planes;
    for (std::size_t k = 0; k < surface_closure::planes; ++k) {
        for (std::size_t n = 0; n < surface_closure::width; ++n) {
            closed.plus[k][n] = static_cast<float>(d.dt_over_h() * surface->plus[k][n]);
            closed.minus[k][n] = static_cast<float>(d.dt_over_h() * surface->minus[k][n]);
        }
    }
    return closed;
}

/// The difference from four values in a row. From faces to centres i - 1, i, i + 1, i + 2; from centres to faces i - 2, i - 1, i, i
/// + 1.
CRATON_HOST_DEVICE inline float difference(const differences& d, float a, float b, float c, float e) {
    return d.c1 * (c - b) + d.c2 * (e - a);
}
CRATON_HOST_DEVICE inline float plus(const differences& d, const float* f, std::int64_t s) {
    return difference(d, f[-s], f[0], f[s], f[2 * s]);
}
CRATON_HOST_DEVICE inline float minus(const differences& d, const float* f, std::int64_t s) {
    return difference(d, f[-2 * s], f[-s], f[0], f[s]);
}

/// A weighted sum over the planes below the surface; `column` is at plane 0.
CRATON_HOST_DEVICE inline float closed_sum(const float (&row)[surface_closure::width], const float* column, std::int64_t plane) {
    float sum = 0;
    for (int n = 0; n < surface_closure::width; ++n) sum += row[n] * column[n * plane];
    return sum;
}

/// How a range of cells is shared out: columns of `depth` cells.
struct columns {
    cell_range cells;
    std::int64_t depth = 1;

    static constexpr int rows = threads / warp; ///< of a block

    [[nodiscard]] launch_shape shape() const {
        launch_shape found;
        found.blocks_x = divided_up(cells.i1 - line_start(), warp);
        found.blocks_y = divided_up(cells.j1 - cells.j0, rows);
        found.blocks_z = divided_up(cells.k1 - cells.k0, depth);
        found.threads_x = warp;
        found.threads_y = rows;
        return found;
    }
    // The first cell of a line at or before i0 >= 0.
    [[nodiscard]] CRATON_HOST_DEVICE std::int64_t line_start() const { return cells.i0 / warp * warp; }

    /// A thread's cells: i0 = i1 when it has none.
    [[nodiscard]] CRATON_HOST_DEVICE cell_range of(const place& at) const {
        cell_range own;
        own.i0 = line_start() + at.block_x * warp + at.thread_x;
        own.j0 = cells.j0 + at.block_y * rows + at.thread_y;
        own.k0 = cells.k0 + at.block_z * depth;
        const bool inside = own.i0 >= cells.i0 && own.i0 < cells.i1 && own.j0 < cells.j1;
        own.i1 = own.i0 + (inside ? 1 : 0);
        own.j1 = own.j0 + 1;
        own.k1 = own.k0 + depth < cells.k1 ? own.k0 + depth : cells.k1;
        return own;
    }
};

/// Columns as long as there are still enough of them to fill a large device a few times over.
inline columns columns_of(const cell_range& cells) {
    constexpr std::int64_t enough = std::int64_t{1} << 20, shortest = 16, longest = 128;
    std::int64_t depth = cells.cells() / enough;
    depth = depth < shortest ? shortest : depth > longest ? longest : depth;
    return {cells, depth};
}

/// update_velocity.
struct velocity_columns {
    columns share;
    brick_shape shape;
    vector_field<float> v;
    tensor_field<const float> stress;
    compact_vector buoyancy;
    differences d;
    closed_differences surface;

    CRATON_HOST_DEVICE void operator()(const place& at) const {
        const cell_range own = share.of(at);
        if (own.i0 == own.i1) return;
        const float* __restrict__ xx = stress.xx;
        const float* __restrict__ yy = stress.yy;
        const float* __restrict__ zz = stress.zz;
        const float* __restrict__ xy = stress.xy;
        const float* __restrict__ xz = stress.xz;
        const float* __restrict__ yz = stress.yz;
        const std::int64_t row = shape.pitch, plane = shape.plane;
        std::int64_t n = own.i0 + own.j0 * row + own.k0 * plane;
        const std::int64_t top = n - own.k0 * plane; // the column's plane 0
        float xz0 = xz[n - plane], xz1 = xz[n], xz2 = xz[n + plane];
        float yz0 = yz[n - plane], yz1 = yz[n], yz2 = yz[n + plane];
        float zz0 = zz[n - 2 * plane], zz1 = zz[n - plane], zz2 = zz[n];
        for (std::int64_t k = own.k0; k < own.k1; ++k, n += plane) {
            const float xz3 = xz[n + 2 * plane], yz3 = yz[n + 2 * plane], zz3 = zz[n + plane];
            float xz_z = difference(d, xz0, xz1, xz2, xz3);
            float yz_z = difference(d, yz0, yz1, yz2, yz3);
            float zz_z = difference(d, zz0, zz1, zz2, zz3);
            if (k < surface.planes) {
                xz_z = closed_sum(surface.plus[k], xz + top, plane);
                yz_z = closed_sum(surface.plus[k], yz + top, plane);
                zz_z = closed_sum(surface.minus[k], zz + top, plane);
            }
            // All that is read before anything is written: a compiler may not move loads over stores that could be to the same
            // place.
            const float x = v.x[n] + buoyancy.x[n] * (minus(d, xx + n, 1) + plus(d, xy + n, row) + xz_z);
            const float y = v.y[n] + buoyancy.y[n] * (plus(d, xy + n, 1) + minus(d, yy + n, row) + yz_z);
            const float z = v.z[n] + buoyancy.z[n] * (plus(d, xz + n, 1) + plus(d, yz + n, row) + zz_z);
            v.x[n] = x;
            v.y[n] = y;
            v.z[n] = z;
            xz0 = xz1, xz1 = xz2, xz2 = xz3;
            yz0 = yz1, yz1 = yz2, yz2 = yz3;
            zz0 = zz1, zz1 = zz2, zz2 = zz3;
        }
    }
};

/// update_stress; with memory variables where `anelastic`.
template <bool anelastic> struct stress_columns {
    columns share;
    brick_shape shape;
    tensor_field<float> stress, memory;
    vector_field<const float> v;
    elastic_media media;
    attenuation_media attenuation;
    differences d;
    closed_differences surface;

    CRATON_HOST_DEVICE void operator()(const place& at) const {
        const cell_range own = share.of(at);
        if (own.i0 == own.i1) return;
        const float* __restrict__ vx = v.x;
        const float* __restrict__ vy = v.y;
        const float* __restrict__ vz = v.z;
        const std::int64_t row = shape.pitch, plane = shape.plane;
        std::int64_t n = own.i0 + own.j0 * row + own.k0 * plane;
        const std::int64_t top = n - own.k0 * plane;
        float vx0 = vx[n - 2 * plane], vx1 = vx[n - plane], vx2 = vx[n];
        float vy0 = vy[n - 2 * plane], vy1 = vy[n - plane], vy2 = vy[n];
        float vz0 = vz[n - plane], vz1 = vz[n], vz2 = vz[n + plane];
        relaxing_column relaxing(*this, own, n);
        for (std::int64_t k = own.k0; k < own.k1; ++k, n += plane) {
            const float vx3 = vx[n + plane], vy3 = vy[n + plane], vz3 = vz[n + 2 * plane];
            float vx_z = difference(d, vx0, vx1, vx2, vx3);
            float vy_z = difference(d, vy0, vy1, vy2, vy3);
            float vz_z = difference(d, vz0, vz1, vz2, vz3);
            if (k < surface.planes) {
                vx_z = closed_sum(surface.minus[k], vx + top, plane);
                vy_z = closed_sum(surface.minus[k], vy + top, plane);
                vz_z = closed_sum(surface.plus[k], vz + top, plane);
            }
            const float exx = plus(d, vx + n, 1), eyy = plus(d, vy + n, row);
            const float pressure = media.lambda[n] * (exx + eyy + vz_z);
            const float twice_mu = 2 * media.mu[n];
            relaxing.take(*this, n, k,
                          {pressure + twice_mu * exx, pressure + twice_mu * eyy, pressure + twice_mu * vz_z,
                           media.mu_xy[n] * (minus(d, vx + n, row) + minus(d, vy + n, 1)),
                           media.mu_xz[n] * (vx_z + minus(d, vz + n, 1)), media.mu_yz[n] * (vy_z + minus(d, vz + n, row))});
            vx0 = vx1, vx1 = vx2, vx2 = vx3;
            vy0 = vy1, vy1 = vy2, vy2 = vy3;
            vz0 = vz1, vz1 = vz2, vz2 = vz3;
        }
    }

  private:
    // Six components at one cell's indices.
    struct tensor {
        float xx, yy, zz, xy, xz, yz;
    };
    [[nodiscard]] CRATON_HOST_DEVICE static tensor load(const tensor_field<float>& from, std::int64_t n) {
        return {from.xx[n], from.yy[n], from.zz[n], from.xy[n], from.xz[n], from.yz[n]};
    }
    // xz and yz on plane 0 of a free surface are not written: they stay 0.
    CRATON_HOST_DEVICE void store(const tensor_field<float>& to, std::int64_t n, std::int64_t k, const tensor& values) const {
        to.xx[n] = values.xx;
        to.yy[n] = values.yy;
        to.zz[n] = values.zz;
        to.xy[n] = values.xy;
        if (k == 0 && surface.planes > 0) return;
        to.xz[n] = values.xz;
        to.yz[n] = values.yz;
    }

    // What a column does with the elastic increments. Elastic: adds them.
    struct added {
        CRATON_HOST_DEVICE added(const stress_columns&, const cell_range&, std::int64_t) {}
        CRATON_HOST_DEVICE void take(const stress_columns& of, std::int64_t n, std::int64_t k, const tensor& by) {
            const tensor s = load(of.stress, n);
            of.store(of.stress, n, k, {s.xx + by.xx, s.yy + by.yy, s.zz + by.zz, s.xy + by.xy, s.xz + by.xz, s.yz + by.yz});
        }
    };

    // Anelastic: fields.hpp and updates.hpp have the formula. Decay alternates between two mechanisms along z; the weights at edges
    // need those of the plane before.
    struct relaxed {
        float decay_even, decay_odd;         // of even and odd k
        float w_above, w_x_above, w_y_above; // weight of shear at (i, j), (i - 1, j), (i, j - 1) of the plane above

        CRATON_HOST_DEVICE relaxed(const stress_columns& of, const cell_range& own, std::int64_t n) {
            const int column = of.attenuation.parity ^ static_cast<int>((own.i0 & 1) + 2 * (own.j0 & 1));
            decay_even = of.attenuation.decay[column];
            decay_odd = of.attenuation.decay[column ^ 4];
            const compact_field& weights = of.attenuation.shear;
            const std::int64_t above = n - of.shape.plane;
            w_above = weights[above], w_x_above = weights[above - 1], w_y_above = weights[above - of.shape.pitch];
        }
        CRATON_HOST_DEVICE void take(const stress_columns& of, std::int64_t n, std::int64_t k, const tensor& by) {
            const float decay = (k & 1) != 0 ? decay_odd : decay_even;
            const compact_field& weights = of.attenuation.shear;
            const std::int64_t row = of.shape.pitch;
            const float w = weights[n], w_x = weights[n - 1], w_y = weights[n - row], w_xy = weights[n - 1 - row];
            const float bulk = of.attenuation.bulk[n];
            const tensor s = load(of.stress, n);
            const tensor r = load(of.memory, n);
            // E = stress + r before and, half the increment on, in the middle of the step.
            const tensor e{s.xx + r.xx, s.yy + r.yy, s.zz + r.zz, s.xy + r.xy, s.xz + r.xz, s.yz + r.yz};
            const float xx = e.xx + 0.5F * by.xx, yy = e.yy + 0.5F * by.yy, zz = e.zz + 0.5F * by.zz;
            const float mean = (xx + yy + zz) * (1.0F / 3);
            const auto relax = [decay](float before, float weighted) { return decay * before + (1 - decay) * weighted; };
            const auto at_edge = [&](float before, float weights_of_four, float e_before, float increment) {
                return relax(before, 0.25F * weights_of_four * (e_before + 0.5F * increment));
            };
            const tensor now{relax(r.xx, bulk * mean + w * (xx - mean)),
                             relax(r.yy, bulk * mean + w * (yy - mean)),
                             relax(r.zz, bulk * mean + w * (zz - mean)),
                             at_edge(r.xy, w + w_x + w_y + w_xy, e.xy, by.xy),
                             at_edge(r.xz, w + w_x + w_above + w_x_above, e.xz, by.xz),
                             at_edge(r.yz, w + w_y + w_above + w_y_above, e.yz, by.yz)};
            of.store(of.memory, n, k, now);
            of.store(of.stress, n, k,
                     {e.xx + by.xx - now.xx, e.yy + by.yy - now.yy, e.zz + by.zz - now.zz, e.xy + by.xy - now.xy,
                      e.xz + by.xz - now.xz, e.yz + by.yz - now.yz});
            w_above = w, w_x_above = w_x, w_y_above = w_y;
        }
    };

    using relaxing_column = std::conditional_t<anelastic, relaxed, added>;
};

} // namespace craton::waves::device
