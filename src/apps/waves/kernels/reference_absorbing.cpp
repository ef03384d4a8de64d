#include "reference_differences.hpp"

#include <craton/apps/waves/kernels/absorbing.hpp>

#include <cstddef>

namespace craton::waves::reference {

namespace {

// Memory of a cell's difference along an axis, or null.
float* memory_of(const layers_view& layers, std::size_t axis, std::size_t component, std::int64_t i, std::int64_t j, std::int64_t k,
                 const brick_shape& shape, float* memory) {
    const layer_row& row = layers.axis[axis].rows[j + k * shape.ny];
    if (row.at < 0) return nullptr;
    const auto in = [&](const layer_part& part) { return i >= part.i0 && i < part.i1; };
    const layer_part& part = row.whole != 0 ? layers.whole : in(layers.ends[0]) ? layers.ends[0] : layers.ends[1];
    return in(part) ? memory + row.at + part.first + static_cast<std::int64_t>(component) * part.pitch + i % part.pitch : nullptr;
}

// psi of a difference, and its memory one step on. at: the cell; place: 0 where the updated field lies at faces.
float psi(const layers_view& layers, std::size_t axis, const std::array<std::int64_t, 3>& at,
          const std::array<std::size_t, 3>& place, double difference, float* memory) {
    const double decay = layers.axis[axis].decay[place[axis]][at[axis]];
    const double gain = layers.axis[axis].gain[place[axis]][at[axis]];
    const double before = *memory;
    const double now = decay * before + gain * difference;
    *memory = static_cast<float>(now);
    return static_cast<float>((now + before) / 2);
}

template <class What> void for_cells(const cell_range& cells, const What& what) {
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
            for (std::int64_t i = cells.i0; i < cells.i1; ++i) what(i, j, k);
        }
    }
}

} // namespace

void correct_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                      const tensor_field<const float>& stress, const elastic_media& media, const differences& d,
                      const surface_closure*, const layers_view& layers) {
    const std::array<std::array<const float*, 3>, 3> traction{
        {{stress.xx, stress.xy, stress.xz}, {stress.xy, stress.yy, stress.yz}, {stress.xz, stress.yz, stress.zz}}};
    const std::array<float*, 3> velocity{v.x, v.y, v.z};
    const std::array<compact_field, 3> buoyancy{media.buoyancy.x, media.buoyancy.y, media.buoyancy.z};
    const std::array<std::int64_t, 3> step{1, shape.pitch, shape.plane};
    for_cells(cells, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
            for (std::size_t c = 0; c < 3; ++c) {
                float* const memory = memory_of(layers, axis, c, i, j, k, shape, layers.axis[axis].velocity_memory);
                if (memory == nullptr) continue;
                const float* const f = traction[axis][c] + shape.at(i, j, k);
                const double difference = difference_at(d, shape, true, static_cast<int>(3 * c + axis),
                                                        c == axis ? f - step[axis] : f, step[axis], i, j, k);
                const float extra = psi(layers, axis, {i, j, k}, {c != 0, c != 1, c != 2}, difference, memory);
                velocity[c][shape.at(i, j, k)] += buoyancy[c][shape.at(i, j, k)] * extra;
            }
        }
    });
}

void correct_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                    const vector_field<const float>& v, const elastic_media& media, const differences& d,
                    const surface_closure* surface, const layers_view& layers) {
    const std::array<const float*, 3> velocity{v.x, v.y, v.z};
    const std::array<float*, 3> diagonal{stress.xx, stress.yy, stress.zz};
    const std::array<float*, 3> shear{stress.yz, stress.xz, stress.xy}; // by the axis that is not theirs
    const std::array<compact_field, 3> shear_modulus{media.mu_yz, media.mu_xz, media.mu_xy};
    const std::array<std::int64_t, 3> step{1, shape.pitch, shape.plane};
    for_cells(cells, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
        const std::int64_t cell = shape.at(i, j, k);
        for (std::size_t axis = 0; axis < 3; ++axis) {
            for (std::size_t c = 0; c < 3; ++c) {
                float* const memory = memory_of(layers, axis, c, i, j, k, shape, layers.axis[axis].stress_memory);
                const bool on_surface =
                    surface != nullptr && surface->traction_free && k == 0 && c != axis && (c == 2 || axis == 2);
                if (memory == nullptr || on_surface) continue;
                const float* const f = c == axis ? velocity[c] + cell : velocity[c] + cell - step[axis];
                const double difference = difference_at(d, shape, false, static_cast<int>(3 * c + axis), f, step[axis], i, j, k);
                if (c == axis) {
                    const float extra = psi(layers, axis, {i, j, k}, {1, 1, 1}, difference, memory);
                    for (float* const s : diagonal) s[cell] += media.lambda[cell] * extra;
                    diagonal[axis][cell] += 2 * media.mu[cell] * extra;
                } else {
                    const std::size_t other = 3 - axis - c;
                    std::array<std::size_t, 3> place{0, 0, 0};
                    place[other] = 1;
                    const float extra = psi(layers, axis, {i, j, k}, place, difference, memory);
                    shear[other][cell] += shear_modulus[other][cell] * extra;
                }
            }
        }
    });
}

void damp_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v, const sponge_view& sponge) {
    const auto& f = sponge.factor;
    for_cells(cells, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
        v.x[shape.at(i, j, k)] *= f[0][0][i] * f[1][1][j] * f[2][1][k];
        v.y[shape.at(i, j, k)] *= f[0][1][i] * f[1][0][j] * f[2][1][k];
        v.z[shape.at(i, j, k)] *= f[0][1][i] * f[1][1][j] * f[2][0][k];
    });
}

void damp_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress, const sponge_view& sponge) {
    const auto& f = sponge.factor;
    for_cells(cells, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
        const std::int64_t cell = shape.at(i, j, k);
        const float centre = f[0][1][i] * f[1][1][j] * f[2][1][k];
        stress.xx[cell] *= centre;
        stress.yy[cell] *= centre;
        stress.zz[cell] *= centre;
        stress.xy[cell] *= f[0][0][i] * f[1][0][j] * f[2][1][k];
        stress.xz[cell] *= f[0][0][i] * f[1][1][j] * f[2][0][k];
        stress.yz[cell] *= f[0][1][i] * f[1][0][j] * f[2][0][k];
    });
}

} // namespace craton::waves::reference
