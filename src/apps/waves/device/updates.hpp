#pragma once

#include "columns.hpp"
#include "layers.hpp"

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace craton::waves::device {

// The updates of kernels/updates.hpp, and in absorbing layers the corrections of kernels/absorbing.hpp with them, a thread per
// column of cells. A warp has 32 cells of a row, begun where a 128-byte line begins, so that it reads and writes whole lines; in
// narrow layers across x, 8 or 16 cells of several rows.
// Threads go down along z: of fields that are differenced along z each value is read once per column and kept in registers for the
// four planes that need it; neighbours along x and y come from the first-level cache, or the second, since blocks beside each other
// go down at about the same pace (all blocks of a 132-processor device together hold about 1e5 columns, 4 bytes x 14 arrays x 4
// planes of them: 23 MB).
//
// Device memory then moves little more than what must be moved, bytes_per_cell(): an elastic velocity 54 (stress 24, v 12 + 12,
// buoyancy 6), its stress 70 (v 12, stress 24 + 24, media 10), anelastic 52 more (memory variables 24 + 24, weights 4). Layers add
// 24 per cell and axis of layers to each of the two. A thread that begins a column reads three planes more of three arrays: 36
// bytes per column and `depth` cells.
//
// Cells in layers have kernels of their own, which need more registers.

/// What a step must move through memory for each cell without layers.
constexpr double bytes_per_cell(bool anelastic) { return anelastic ? 176 : 124; }

/// What the kernels of cells in layers know, and those of the others.
template <bool layered> using share_of = std::conditional_t<layered, column_list, columns>;
template <bool layered> using layers_of = std::conditional_t<layered, cell_layers, no_layers>;

/// v after a half step; where `layered`, psi of its differences too.
template <bool layered> struct velocity_update {
    static constexpr int threads_of_block = layered ? 256 : 384;
    static constexpr int warps_per_processor = layered ? 16 : 24;

    share_of<layered> share;
    brick_shape shape;
    vector_field<float> v;
    tensor_field<const float> stress;
    compact_vector buoyancy;
    differences d;
    closed_differences surface;
    layers_of<layered> layers;

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
            // Differences of the three components of stress that move x, y and z.
            axis_terms along_x{minus(d, xx + n, 1), plus(d, xy + n, 1), plus(d, xz + n, 1)};
            axis_terms along_y{plus(d, xy + n, row), minus(d, yy + n, row), plus(d, yz + n, row)};
            axis_terms along_z{difference(d, xz0, xz1, xz2, xz3), difference(d, yz0, yz1, yz2, yz3),
                               difference(d, zz0, zz1, zz2, zz3)};
            if (k < surface.planes) {
                along_z = {closed_sum(surface.plus[k], xz + top, plane), closed_sum(surface.plus[k], yz + top, plane),
                           closed_sum(surface.minus[k], zz + top, plane)};
            }
            // All that is read before anything is written: a compiler may not move loads over stores that could be to the same
            // place.
            axis_terms before{v.x[n], v.y[n], v.z[n]};
            [[maybe_unused]] typename layers_of<layered>::cell_memory recalled;
            if constexpr (layered) {
                const cell_layers::cell cell{own.i0, own.j0, k};
                recalled = layers.recalled_velocity(cell, shape);
                layers.damp(cell, before);
                cell_layers::stretch(recalled, along_x, along_y, along_z);
            }
            const float x = before.x + buoyancy.x[n] * (along_x.x + along_y.x + along_z.x);
            const float y = before.y + buoyancy.y[n] * (along_x.y + along_y.y + along_z.y);
            const float z = before.z + buoyancy.z[n] * (along_x.z + along_y.z + along_z.z);
            v.x[n] = x;
            v.y[n] = y;
            v.z[n] = z;
            if constexpr (layered) cell_layers::remember(recalled);
            xz0 = xz1, xz1 = xz2, xz2 = xz3;
            yz0 = yz1, yz1 = yz2, yz2 = yz3;
            zz0 = zz1, zz1 = zz2, zz2 = zz3;
        }
    }
};

/// Stress after a half step; with memory variables where `anelastic`, with psi where `layered`.
template <bool anelastic, bool layered> struct stress_update {
    static constexpr int threads_of_block = layered ? 256 : anelastic ? 512 : 384;
    static constexpr int warps_per_processor = layered || anelastic ? 16 : 24;

    share_of<layered> share;
    brick_shape shape;
    tensor_field<float> stress, memory;
    vector_field<const float> v;
    elastic_media media;
    attenuation_media attenuation;
    differences d;
    closed_differences surface;
    layers_of<layered> layers;

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
            // Differences of the components x, y and z of v.
            const axis_terms along_x{plus(d, vx + n, 1), minus(d, vy + n, 1), minus(d, vz + n, 1)};
            const axis_terms along_y{minus(d, vx + n, row), plus(d, vy + n, row), minus(d, vz + n, row)};
            axis_terms along_z{difference(d, vx0, vx1, vx2, vx3), difference(d, vy0, vy1, vy2, vy3),
                               difference(d, vz0, vz1, vz2, vz3)};
            if (k < surface.planes) {
                along_z = {closed_sum(surface.minus[k], vx + top, plane), closed_sum(surface.minus[k], vy + top, plane),
                           closed_sum(surface.plus[k], vz + top, plane)};
            }
            const moduli here{media.lambda[n], 2 * media.mu[n], media.mu_xy[n], media.mu_xz[n], media.mu_yz[n]};
            const cell_tensor increment =
                here.times({along_x.x, along_y.y, along_z.z, along_y.x + along_x.y, along_z.x + along_x.z, along_z.y + along_y.z});
            cell_tensor before = load(stress, n);
            [[maybe_unused]] typename layers_of<layered>::cell_memory recalled;
            if constexpr (layered) {
                const cell_layers::cell cell{own.i0, own.j0, k};
                recalled = layers.recalled_stress(cell, shape);
                layers.damp(cell, before);
                before += here.times(cell_layers::psi_of_strain(recalled, along_x, along_y, along_z, k > 0 || surface.planes == 0));
            }
            relaxing.take(*this, n, k, before, increment);
            if constexpr (layered) cell_layers::remember(recalled);
            vx0 = vx1, vx1 = vx2, vx2 = vx3;
            vy0 = vy1, vy1 = vy2, vy2 = vy3;
            vz0 = vz1, vz1 = vz2, vz2 = vz3;
        }
    }

  private:
    // Of a cell, in Pa; of the shears at its edges.
    struct moduli {
        float lambda, twice_mu, xy, xz, yz;

        [[nodiscard]] CRATON_HOST_DEVICE cell_tensor times(const cell_tensor& strain) const {
            const float pressure = lambda * (strain.xx + strain.yy + strain.zz);
            return {pressure + twice_mu * strain.xx,
                    pressure + twice_mu * strain.yy,
                    pressure + twice_mu * strain.zz,
                    xy * strain.xy,
                    xz * strain.xz,
                    yz * strain.yz};
        }
    };

    [[nodiscard]] CRATON_HOST_DEVICE static cell_tensor load(const tensor_field<float>& from, std::int64_t n) {
        return {from.xx[n], from.yy[n], from.zz[n], from.xy[n], from.xz[n], from.yz[n]};
    }
    // xz and yz on plane 0 of a free surface are not written: they stay 0.
    CRATON_HOST_DEVICE void store(const tensor_field<float>& to, std::int64_t n, std::int64_t k, const cell_tensor& values) const {
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
        CRATON_HOST_DEVICE added(const stress_update&, const cell_range&, std::int64_t) {}
        CRATON_HOST_DEVICE void take(const stress_update& of, std::int64_t n, std::int64_t k, cell_tensor s,
                                     const cell_tensor& by) {
            s += by;
            of.store(of.stress, n, k, s);
        }
    };

    // Anelastic: fields.hpp and updates.hpp of the kernels have the formula. Decay alternates between two mechanisms along z; the
    // weights at edges need those of the plane before.
    struct relaxed {
        float decay_even, decay_odd;         // of even and odd k
        float w_above, w_x_above, w_y_above; // weight of shear at (i, j), (i - 1, j), (i, j - 1) of the plane above

        CRATON_HOST_DEVICE relaxed(const stress_update& of, const cell_range& own, std::int64_t n) {
            const int column = of.attenuation.parity ^ static_cast<int>((own.i0 & 1) + 2 * (own.j0 & 1));
            decay_even = of.attenuation.decay[column];
            decay_odd = of.attenuation.decay[column ^ 4];
            const compact_field& weights = of.attenuation.shear;
            const std::int64_t above = n - of.shape.plane;
            w_above = weights[above], w_x_above = weights[above - 1], w_y_above = weights[above - of.shape.pitch];
        }
        CRATON_HOST_DEVICE void take(const stress_update& of, std::int64_t n, std::int64_t k, const cell_tensor& s,
                                     const cell_tensor& by) {
            const float decay = (k & 1) != 0 ? decay_odd : decay_even;
            const compact_field& weights = of.attenuation.shear;
            const std::int64_t row = of.shape.pitch;
            const float w = weights[n], w_x = weights[n - 1], w_y = weights[n - row], w_xy = weights[n - 1 - row];
            const float bulk = of.attenuation.bulk[n];
            const cell_tensor r = load(of.memory, n);
            // E = stress + r before and, half the increment on, in the middle of the step.
            const cell_tensor e{s.xx + r.xx, s.yy + r.yy, s.zz + r.zz, s.xy + r.xy, s.xz + r.xz, s.yz + r.yz};
            const float xx = e.xx + 0.5F * by.xx, yy = e.yy + 0.5F * by.yy, zz = e.zz + 0.5F * by.zz;
            const float mean = (xx + yy + zz) * (1.0F / 3);
            const auto relax = [decay](float before, float weighted) { return decay * before + (1 - decay) * weighted; };
            const auto at_edge = [&](float before, float weights_of_four, float e_before, float increment) {
                return relax(before, 0.25F * weights_of_four * (e_before + 0.5F * increment));
            };
            const cell_tensor now{relax(r.xx, bulk * mean + w * (xx - mean)),
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
