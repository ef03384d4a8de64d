#pragma once

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>

#include <array>
#include <cstdint>

namespace craton::waves {

// Layers that absorb what leaves the grid, as corrections to v and stress just before the main update of the same cells.
//
// Perfectly matched layers, unsplit, with a complex-frequency-shifted stretch (Roden and Gedney 2000; Komatitsch and Martin 2007;
// kappa = 1): in the layers across
// an axis each difference D f along it becomes D f + psi, where psi follows
//     dpsi/dt + (d + alpha) psi = -d D f,
// d the damping and alpha the shift at the place of the field that is updated. With q = b q' + a D f, b = exp(-(d + alpha) dt), a =
// d / (d + alpha) (b - 1),
// q' the value before, psi is (q + q') / 2: second order in time and passive. q is what is stored, in the layers alone: 3
// differences in the step of v and 3 in that of stress.
//
// Multi-axial layers (Meza-Fajardo and Papageorgiou 2008) stretch the other two axes too, by p d. With all three stretches divided
// by the one that they
// share, this is a loss p d of v and of stress themselves, a sponge in the same layers: damp_ and then correct_, and no memory but
// that of p = 0.
//
// Everything goes by the cells' global indices: how the grid is cut in bricks, and cells in ranges, does not change a bit of the
// result.

/// Where a row (j, k) of a brick has memory of one axis: `at` < 0 nowhere; else, `whole` 0, for its cells in the x layers, or 1,
/// for all.
struct layer_row {
    std::int64_t at = -1;
    std::int64_t whole = 0;
};

/// Cells i0 <= i < i1 of rows, at most `pitch`, that share the memory at + first + component * pitch + i % pitch for components 0,
/// 1,
/// 2. `first` and `pitch` are multiples of 16, and each line of 16 cells that has some of these has a line of memory of its own: a
/// vector of cells has its memory in a line, and finds 0 there for cells that are none of these.
struct layer_part {
    std::int64_t i0 = 0, i1 = 0;
    std::int64_t first = 0; ///< behind layer_row::at
    std::int64_t pitch = 0;
};

/// One axis of a brick. Profiles have an element per cell of the brick along the axis, [0] at lower faces, [1] at centres, readable
/// for 16 elements more.
struct layer_axis {
    std::array<const float*, 2> decay{}; ///< b
    std::array<const float*, 2> gain{};  ///< a
    const layer_row* rows = nullptr;     ///< [j + k * ny]
    float* velocity_memory = nullptr;
    float* stress_memory = nullptr;
};

/// What the kernels see of absorbing_layers: plain pointers, to host or to device memory.
struct layers_view {
    std::array<layer_axis, 3> axis{};
    std::array<layer_part, 2> ends{}; ///< the x layers, lower and upper; empty ones have i0 = i1
    layer_part whole{};
};

/// v += buoyancy * psi of div(stress), and psi one step on. To be called once per step for every cell, before update_velocity of
/// the same cells, with the same fields.
/// `surface` as for the update. Calls on disjoint ranges may run at the same time. No allocation, no exceptions. Traffic: memory 24
/// bytes per cell and axis of layers; what else is read the update reads again.
void correct_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                      const tensor_field<const float>& stress, const elastic_media& media, const differences& d,
                      const surface_closure* surface, const layers_view& layers);

/// stress += moduli * psi of the strain increments; as correct_velocity, before update_stress of the same cells, with or without
/// memory variables.
void correct_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                    const vector_field<const float>& v, const elastic_media& media, const differences& d,
                    const surface_closure* surface, const layers_view& layers);

/// A sponge (Cerjan et al. 1985): factors per axis, [0] at lower faces, [1] at centres, an element per cell of the brick, readable
/// for 16 elements more.
struct sponge_view {
    std::array<std::array<const float*, 2>, 3> factor{};
    std::int64_t low = 0, high = 0; ///< low <= i < high: the x factors are 1 there
};

/// v *= the product of the factors where v is. Before or after the update of the same cells, once per step. As correct_velocity.
void damp_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v, const sponge_view& sponge);
void damp_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress, const sponge_view& sponge);

namespace reference {

/// The same in plain loops over single cells.
void correct_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                      const tensor_field<const float>& stress, const elastic_media& media, const differences& d,
                      const surface_closure* surface, const layers_view& layers);
void correct_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                    const vector_field<const float>& v, const elastic_media& media, const differences& d,
                    const surface_closure* surface, const layers_view& layers);
void damp_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v, const sponge_view& sponge);
void damp_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress, const sponge_view& sponge);

} // namespace reference
} // namespace craton::waves
