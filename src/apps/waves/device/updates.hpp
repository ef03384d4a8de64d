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
// column of cells, two cells wide. A warp has 64 cells of a row, begun where a 128-byte line begins, so that it reads and writes
// whole lines; in layers 32, and in narrow ones across x 8 or 16 cells of several rows.
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
// Cells in layers have kernels of their own, which need more registers; they take what is left of odd ranges too.

/// What a step must move through memory for each cell without layers.
constexpr double bytes_per_cell(bool anelastic) { return anelastic ? 176 : 124; }

/// What the kernels of cells in layers know, and those of the others.
template <bool layered> using share_of = std::conditional_t<layered, column_list, columns>;
template <bool layered> using layers_of = std::conditional_t<layered, cell_layers, no_layers>;

/// Cells of a thread in a row; one in layers.
template <bool layered> inline constexpr int wide_of = layered ? 1 : 2;
template <bool layered> using cells_of = std::conditional_t<layered, float, row_of<wide_of<false>>>;

/// The part of a range that threads without layers can take: all cells of each are in it. Kernels with layers take the rest too.
inline cell_range whole_pieces(cell_range cells) {
    cells.i0 = divided_up(cells.i0, wide_of<false>) * wide_of<false>;
    cells.i1 = cells.i1 / wide_of<false> * wide_of<false>;
    return cells;
}

/// v after a half step; where `layered`, psi of its differences too.
template <bool layered> struct velocity_update {
    static constexpr int threads_of_block = layered ? 64 : 512;
    static constexpr int warps_per_processor = layered ? 24 : 16;
    static constexpr int wide = wide_of<layered>;
    using cells = cells_of<layered>;

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
        const auto at_cells = [](const float* from) { return read<cells>(from); };
        cells xz0 = at_cells(xz + n - plane), xz1 = at_cells(xz + n), xz2 = at_cells(xz + n + plane);
        cells yz0 = at_cells(yz + n - plane), yz1 = at_cells(yz + n), yz2 = at_cells(yz + n + plane);
        cells zz0 = at_cells(zz + n - 2 * plane), zz1 = at_cells(zz + n - plane), zz2 = at_cells(zz + n);
        for (std::int64_t k = own.k0; k < own.k1; ++k, n += plane) {
            const cells xz3 = at_cells(xz + n + 2 * plane), yz3 = at_cells(yz + n + 2 * plane), zz3 = at_cells(zz + n + plane);
            // Differences of the three components of stress that move x, y and z.
            axis_terms<cells> along_x{minus<cells>(d, xx + n), plus<cells>(d, xy + n), plus<cells>(d, xz + n)};
            axis_terms<cells> along_y{plus<cells>(d, xy + n, row), minus<cells>(d, yy + n, row), plus<cells>(d, yz + n, row)};
            axis_terms<cells> along_z{difference(d, xz0, xz1, xz2, xz3), difference(d, yz0, yz1, yz2, yz3),
                                      difference(d, zz0, zz1, zz2, zz3)};
            if (k < surface.planes) {
                along_z = {closed_sum<cells>(surface.plus[k], xz + top, plane), closed_sum<cells>(surface.plus[k], yz + top, plane),
                           closed_sum<cells>(surface.minus[k], zz + top, plane)};
            }
            // All that is read before anything is written: a compiler may not move loads over stores that could be to the same
            // place.
            axis_terms<cells> before{at_cells(v.x + n), at_cells(v.y + n), at_cells(v.z + n)};
            [[maybe_unused]] typename layers_of<layered>::cell_memory recalled;
            if constexpr (layered) {
                const cell_layers::cell cell{own.i0, own.j0, k};
                recalled = layers.recalled_velocity(cell, shape);
                layers.damp(cell, before);
                cell_layers::stretch(recalled, along_x, along_y, along_z);
            }
            const cells x = before.x + read<cells>(buoyancy.x, n) * (along_x.x + along_y.x + along_z.x);
            const cells y = before.y + read<cells>(buoyancy.y, n) * (along_x.y + along_y.y + along_z.y);
            const cells z = before.z + read<cells>(buoyancy.z, n) * (along_x.z + along_y.z + along_z.z);
            write(v.x + n, x);
            write(v.y + n, y);
            write(v.z + n, z);
            if constexpr (layered) cell_layers::remember(recalled);
            xz0 = xz1, xz1 = xz2, xz2 = xz3;
            yz0 = yz1, yz1 = yz2, yz2 = yz3;
            zz0 = zz1, zz1 = zz2, zz2 = zz3;
        }
    }
};

/// Stress after a half step; with memory variables where `anelastic`, with psi where `layered`.
template <bool anelastic, bool layered> struct stress_update {
    static constexpr int threads_of_block = layered ? 64 : anelastic ? 384 : 512;
    static constexpr int warps_per_processor = layered ? 20 : anelastic ? 12 : 16;
    static constexpr int wide = wide_of<layered>;
    using cells = cells_of<layered>;

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
        const auto at_cells = [](const float* from) { return read<cells>(from); };
        cells vx0 = at_cells(vx + n - 2 * plane), vx1 = at_cells(vx + n - plane), vx2 = at_cells(vx + n);
        cells vy0 = at_cells(vy + n - 2 * plane), vy1 = at_cells(vy + n - plane), vy2 = at_cells(vy + n);
        cells vz0 = at_cells(vz + n - plane), vz1 = at_cells(vz + n), vz2 = at_cells(vz + n + plane);
        relaxing_column relaxing(*this, own, n);
        for (std::int64_t k = own.k0; k < own.k1; ++k, n += plane) {
            const cells vx3 = at_cells(vx + n + plane), vy3 = at_cells(vy + n + plane), vz3 = at_cells(vz + n + 2 * plane);
            // Differences of the components x, y and z of v.
            const axis_terms<cells> along_x{plus<cells>(d, vx + n), minus<cells>(d, vy + n), minus<cells>(d, vz + n)};
            const axis_terms<cells> along_y{minus<cells>(d, vx + n, row), plus<cells>(d, vy + n, row),
                                            minus<cells>(d, vz + n, row)};
            axis_terms<cells> along_z{difference(d, vx0, vx1, vx2, vx3), difference(d, vy0, vy1, vy2, vy3),
                                      difference(d, vz0, vz1, vz2, vz3)};
            if (k < surface.planes) {
                along_z = {closed_sum<cells>(surface.minus[k], vx + top, plane),
                           closed_sum<cells>(surface.minus[k], vy + top, plane),
                           closed_sum<cells>(surface.plus[k], vz + top, plane)};
            }
            const moduli here{read<cells>(media.lambda, n), 2.0F * read<cells>(media.mu, n), read<cells>(media.mu_xy, n),
                              read<cells>(media.mu_xz, n), read<cells>(media.mu_yz, n)};
            const cell_tensor<cells> increment =
                here.times({along_x.x, along_y.y, along_z.z, along_y.x + along_x.y, along_z.x + along_x.z, along_z.y + along_y.z});
            cell_tensor<cells> before = load(stress, n);
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
        cells lambda, twice_mu, xy, xz, yz;

        [[nodiscard]] CRATON_HOST_DEVICE cell_tensor<cells> times(const cell_tensor<cells>& strain) const {
            const cells pressure = lambda * (strain.xx + strain.yy + strain.zz);
            return {pressure + twice_mu * strain.xx,
                    pressure + twice_mu * strain.yy,
                    pressure + twice_mu * strain.zz,
                    xy * strain.xy,
                    xz * strain.xz,
                    yz * strain.yz};
        }
    };

    [[nodiscard]] CRATON_HOST_DEVICE static cell_tensor<cells> load(const tensor_field<float>& from, std::int64_t n) {
        return {read<cells>(from.xx + n), read<cells>(from.yy + n), read<cells>(from.zz + n),
                read<cells>(from.xy + n), read<cells>(from.xz + n), read<cells>(from.yz + n)};
    }
    // xz and yz on plane 0 of a free surface are not written: they stay 0.
    CRATON_HOST_DEVICE void store(const tensor_field<float>& to, std::int64_t n, std::int64_t k,
                                  const cell_tensor<cells>& values) const {
        write(to.xx + n, values.xx);
        write(to.yy + n, values.yy);
        write(to.zz + n, values.zz);
        write(to.xy + n, values.xy);
        if (k == 0 && surface.planes > 0) return;
        write(to.xz + n, values.xz);
        write(to.yz + n, values.yz);
    }

    // What a column does with the elastic increments. Elastic: adds them.
    struct added {
        CRATON_HOST_DEVICE added(const stress_update&, const cell_range&, std::int64_t) {}
        CRATON_HOST_DEVICE void take(const stress_update& of, std::int64_t n, std::int64_t k, cell_tensor<cells> s,
                                     const cell_tensor<cells>& by) {
            s += by;
            of.store(of.stress, n, k, s);
        }
    };

    // Anelastic: fields.hpp and updates.hpp of the kernels have the formula. Decay alternates between two mechanisms along z; the
    // weights at edges need those of the plane before.
    struct relaxed {
        cells decay_even, decay_odd;         // of even and odd k
        cells w_above, w_x_above, w_y_above; // weight of shear at (i, j), (i - 1, j), (i, j - 1) of the plane above

        CRATON_HOST_DEVICE relaxed(const stress_update& of, const cell_range& own, std::int64_t n) {
            const int column = of.attenuation.parity ^ static_cast<int>((own.i0 & 1) + 2 * (own.j0 & 1));
            const auto decay = [&](int mechanism) {
                if constexpr (wide == 1) {
                    return of.attenuation.decay[mechanism];
                } else {
                    return cells::each([&](int c) { return of.attenuation.decay[mechanism ^ (c & 1)]; });
                }
            };
            decay_even = decay(column);
            decay_odd = decay(column ^ 4);
            const compact_field& weights = of.attenuation.shear;
            const std::int64_t above = n - of.shape.plane;
            w_above = read<cells>(weights, above), w_x_above = before(weights, above, w_above);
            w_y_above = read<cells>(weights, above - of.shape.pitch);
        }
        /// At the cells one before along x, of what stands at the thread's own.
        CRATON_HOST_DEVICE static cells before(const compact_field& of, std::int64_t n, [[maybe_unused]] const cells& own) {
            if constexpr (wide == 1) {
                return of[n - 1];
            } else {
                const float first = of[n - 1];
                return cells::each([&](int c) { return c == 0 ? first : own[c == 0 ? 0 : c - 1]; });
            }
        }
        CRATON_HOST_DEVICE void take(const stress_update& of, std::int64_t n, std::int64_t k, const cell_tensor<cells>& s,
                                     const cell_tensor<cells>& by) {
            const cells decay = (k & 1) != 0 ? decay_odd : decay_even;
            const compact_field& weights = of.attenuation.shear;
            const std::int64_t row = of.shape.pitch;
            const cells w = read<cells>(weights, n), w_x = before(weights, n, w);
            const cells w_y = read<cells>(weights, n - row), w_xy = before(weights, n - row, w_y);
            const cells bulk = read<cells>(of.attenuation.bulk, n);
            const cell_tensor<cells> r = load(of.memory, n);
            // E = stress + r before and, half the increment on, in the middle of the step.
            const cell_tensor<cells> e{s.xx + r.xx, s.yy + r.yy, s.zz + r.zz, s.xy + r.xy, s.xz + r.xz, s.yz + r.yz};
            const cells xx = e.xx + 0.5F * by.xx, yy = e.yy + 0.5F * by.yy, zz = e.zz + 0.5F * by.zz;
            const cells mean = (1.0F / 3) * (xx + yy + zz);
            const auto relax = [&decay](const cells& was, const cells& weighted) { return weighted + decay * (was - weighted); };
            const auto at_edge = [&](const cells& was, const cells& weights_of_four, const cells& e_before,
                                     const cells& increment) {
                return relax(was, 0.25F * weights_of_four * (e_before + 0.5F * increment));
            };
            const cell_tensor<cells> now{relax(r.xx, bulk * mean + w * (xx - mean)),
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
