#include "vectors.hpp"

#include <craton/apps/waves/kernels/absorbing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace craton::waves {

namespace {

using detail::lanes;
using detail::lanes_per_vector;

// what(i, vector) along i0 <= i < i1. Vectors begin at i0, not at cache lines: the x layers are hardly longer than one.
template <class What> [[gnu::always_inline]] inline void by_vectors(std::int64_t i0, std::int64_t i1, const What& what) {
    std::int64_t i = i0;
    for (; i + lanes_per_vector <= i1; i += lanes_per_vector) what(i, detail::whole_vector{});
    if (i < i1) what(i, detail::part_of_vector(i1 - i));
}

// Differences of interior formulas, `along` the step of the axis.
struct interior_differences {
    float c1, c2;
    std::int64_t along;

    template <class Vector> [[nodiscard]] lanes plus(const float* f, Vector vector) const {
        return c1 * (vector.load(f + along) - vector.load(f)) + c2 * (vector.load(f + 2 * along) - vector.load(f - along));
    }
    template <class Vector> [[nodiscard]] lanes minus(const float* f, Vector vector) const {
        return c1 * (vector.load(f) - vector.load(f - along)) + c2 * (vector.load(f + along) - vector.load(f - 2 * along));
    }
};

// Those of the first planes under a free surface.
struct surface_differences {
    std::array<float, surface_closure::width> plus_weights{}, minus_weights{}; // times dt / h
    std::int64_t to_surface, along;

    surface_differences(const surface_closure& surface, float dt_by_h, std::int64_t k, std::int64_t plane)
        : to_surface(-k * plane), along(plane) {
        for (std::size_t m = 0; m < surface_closure::width; ++m) {
            plus_weights[m] = dt_by_h * static_cast<float>(surface.plus[static_cast<std::size_t>(k)][m]);
            minus_weights[m] = dt_by_h * static_cast<float>(surface.minus[static_cast<std::size_t>(k)][m]);
        }
    }
    template <class Vector>
    [[nodiscard]] lanes sum(const std::array<float, surface_closure::width>& weights, const float* f, Vector vector) const {
        lanes value{};
        for (std::size_t m = 0; m < surface_closure::width; ++m)
            value += weights[m] * vector.load(f + to_surface + static_cast<std::int64_t>(m) * along);
        return value;
    }
    template <class Vector> [[nodiscard]] lanes plus(const float* f, Vector vector) const { return sum(plus_weights, f, vector); }
    template <class Vector> [[nodiscard]] lanes minus(const float* f, Vector vector) const { return sum(minus_weights, f, vector); }
};

// b and a of a difference at a field that lies, along x, y, z, at faces (0) or centres (1).
struct coefficients {
    lanes decay, gain;
};

// Across x.
class along_row {
  public:
    explicit along_row(const layers_view& layers) : x_(layers.axis[0]) {}
    template <int axis, int at_x, int at_y, int at_z, class Vector>
    [[nodiscard]] coefficients at(std::int64_t i, Vector vector) const {
        return {vector.load(x_.decay[at_x] + i), vector.load(x_.gain[at_x] + i)};
    }

  private:
    const layer_axis& x_;
};

// Across y or z: the same for all cells of a row.
class across_rows {
  public:
    across_rows(const layers_view& layers, std::size_t axis, std::int64_t n) {
        for (std::size_t place = 0; place < 2; ++place) {
            value_[place] = {detail::all(layers.axis[axis].decay[place][n]), detail::all(layers.axis[axis].gain[place][n])};
        }
    }
    template <int axis, int at_x, int at_y, int at_z, class Vector> [[nodiscard]] coefficients at(std::int64_t, Vector) const {
        return value_[axis == 1 ? at_y : at_z];
    }

  private:
    std::array<coefficients, 2> value_;
};

// Of multi-axial layers.
class of_all_axes {
  public:
    of_all_axes(const layers_view& layers, std::int64_t j, std::int64_t k) : layers_(layers), j_(j), k_(k) {}
    template <int axis, int at_x, int at_y, int at_z, class Vector>
    [[nodiscard]] coefficients at(std::int64_t i, Vector vector) const {
        const auto factor = [&](int of) { return of == axis ? 1.0F : layers_.cross; };
        const auto decay = [&](int of, int place) { return (of == axis ? layers_.axis[of].decay : layers_.axis[of].cross)[place]; };
        const auto& [x, y, z] = layers_.axis;
        const lanes b = vector.load(decay(0, at_x) + i) * (decay(1, at_y)[j_] * decay(2, at_z)[k_]);
        const lanes damping =
            factor(0) * vector.load(x.damping[at_x] + i) + (factor(1) * y.damping[at_y][j_] + factor(2) * z.damping[at_z][k_]);
        const lanes rate =
            factor(0) * vector.load(x.rate[at_x] + i) + (factor(1) * y.rate[at_y][j_] + factor(2) * z.rate[at_z][k_]);
        const lanes none = detail::all(1e-30F); // where nothing damps
        return {b, damping / (rate + none) * (b - 1.0F)};
    }

  private:
    const layers_view& layers_;
    std::int64_t j_, k_;
};

// q one step on; psi doubled, that of the step's middle.
template <class Vector> [[nodiscard]] lanes advance(float* memory, const coefficients& c, lanes difference, Vector vector) {
    const lanes before = vector.load(memory);
    const lanes now = c.decay * before + c.gain * difference;
    vector.store(memory, now);
    return now + before;
}

// A piece of row with memory: cells first <= i < last, memory and fields at cell 0 of the row.
struct piece {
    std::int64_t first, last;
    float* memory;
    std::int64_t pitch;
};

struct velocity_step {
    const vector_field<float>& v;
    const tensor_field<const float>& stress;
    const vector_field<const float>& buoyancy;

    template <int axis, class Differences, class Coefficients>
    void operator()(std::int64_t row, const piece& p, bool, const Differences& differences,
                    const Coefficients& coefficients) const {
        const float* const from[3][3] = {
            {stress.xx, stress.xy, stress.xz}, {stress.xy, stress.yy, stress.yz}, {stress.xz, stress.yz, stress.zz}};
        float* const to[3] = {v.x, v.y, v.z};
        const float* const lightness[3] = {buoyancy.x, buoyancy.y, buoyancy.z};
        by_vectors(p.first, p.last, [&](std::int64_t i, auto vector) {
            const auto component = [&]<int c>() {
                const float* const f = from[axis][c] + row + i;
                const lanes difference = c == axis ? differences.minus(f, vector) : differences.plus(f, vector);
                const lanes psi = advance(p.memory + c * p.pitch + i, coefficients.template at < axis, c != 0, c != 1,
                                          c != 2 > (i, vector), difference, vector);
                vector.store(to[c] + row + i, vector.load(to[c] + row + i) + 0.5F * vector.load(lightness[c] + row + i) * psi);
            };
            component.template operator()<0>();
            component.template operator()<1>();
            component.template operator()<2>();
        });
    }
};

struct stress_step {
    const tensor_field<float>& stress;
    const vector_field<const float>& v;
    const elastic_media& media;

    template <int axis, class Differences, class Coefficients>
    void operator()(std::int64_t row, const piece& p, bool on_surface, const Differences& differences,
                    const Coefficients& coefficients) const {
        const float* const from[3] = {v.x, v.y, v.z};
        float* const diagonal[3] = {stress.xx, stress.yy, stress.zz};
        float* const shear[3][3] = {
            {nullptr, stress.xy, stress.xz}, {stress.xy, nullptr, stress.yz}, {stress.xz, stress.yz, nullptr}};
        const float* const mu[3][3] = {
            {nullptr, media.mu_xy, media.mu_xz}, {media.mu_xy, nullptr, media.mu_yz}, {media.mu_xz, media.mu_yz, nullptr}};
        by_vectors(p.first, p.last, [&](std::int64_t i, auto vector) {
            const auto component = [&]<int c>() {
                if (c != axis && (c == 2 || axis == 2) && on_surface) return;
                const float* const f = from[c] + row + i;
                float* const memory = p.memory + c * p.pitch + i;
                const auto add = [&](float* to, lanes what) { vector.store(to + row + i, vector.load(to + row + i) + what); };
                if constexpr (c == axis) {
                    const lanes psi = 0.5F * advance(memory, coefficients.template at<axis, 1, 1, 1>(i, vector),
                                                     differences.plus(f, vector), vector);
                    const lanes isotropic = vector.load(media.lambda + row + i) * psi;
                    const lanes own = isotropic + 2.0F * vector.load(media.mu + row + i) * psi;
                    for (int d = 0; d < 3; ++d) add(diagonal[d], d == axis ? own : isotropic);
                } else {
                    constexpr bool x = axis != 0 && c != 0;
                    constexpr bool y = axis != 1 && c != 1;
                    constexpr bool z = axis != 2 && c != 2;
                    const lanes psi =
                        advance(memory, coefficients.template at<axis, x, y, z>(i, vector), differences.minus(f, vector), vector);
                    add(shear[axis][c], 0.5F * vector.load(mu[axis][c] + row + i) * psi);
                }
            };
            component.template operator()<0>();
            component.template operator()<1>();
            component.template operator()<2>();
        });
    }
};

// One axis of the row (j, k).
template <int axis, class Step>
void correct_row(const brick_shape& shape, const cell_range& cells, std::int64_t j, std::int64_t k, const differences& d,
                 const surface_closure* surface, const layers_view& layers, float* memory, const Step& step) {
    const layer_row& place = layers.axis[axis].rows[j + k * shape.ny];
    if (place.at < 0) return;
    const std::int64_t row = shape.at(0, j, k);
    const std::int64_t along = axis == 0 ? 1 : axis == 1 ? shape.pitch : shape.plane;
    const bool on_surface = surface != nullptr && k == 0;
    const auto with = [&](const piece& p, const auto& coefficients) {
        if (axis == 2 && surface != nullptr && k < surface_closure::planes) {
            const surface_differences differences(*surface, static_cast<float>(d.dt_over_h()), k, shape.plane);
            step.template operator()<axis>(row, p, on_surface, differences, coefficients);
        } else {
            step.template operator()<axis>(row, p, on_surface, interior_differences{d.c1, d.c2, along}, coefficients);
        }
    };
    const auto do_part = [&](const layer_part& part) {
        const piece p{std::max(cells.i0, part.i0), std::min(cells.i1, part.i1), memory + place.at + part.first - part.i0,
                      part.pitch};
        if (p.first >= p.last) return;
        if (layers.cross != 0) {
            with(p, of_all_axes(layers, j, k));
        } else if constexpr (axis == 0) {
            with(p, along_row(layers));
        } else {
            with(p, across_rows(layers, axis, axis == 1 ? j : k));
        }
    };
    if (place.whole != 0) {
        do_part(layers.whole);
    } else {
        for (const auto& end : layers.ends) do_part(end);
    }
}

template <class Step>
void correct(const brick_shape& shape, const cell_range& cells, const differences& d, const surface_closure* surface,
             const layers_view& layers, float* layer_axis::* memory, const Step& step) {
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
            correct_row<0>(shape, cells, j, k, d, surface, layers, layers.axis[0].*memory, step);
            correct_row<1>(shape, cells, j, k, d, surface, layers, layers.axis[1].*memory, step);
            correct_row<2>(shape, cells, j, k, d, surface, layers, layers.axis[2].*memory, step);
        }
    }
}

// field *= fx[i] fy fz along a row.
void damp_row(float* field, const float* fx, float fyz, const cell_range& cells, const sponge_view& sponge) {
    const auto damp = [&](std::int64_t i0, std::int64_t i1) {
        by_vectors(i0, i1, [&](std::int64_t i, auto vector) {
            vector.store(field + i, vector.load(field + i) * (vector.load(fx + i) * fyz));
        });
    };
    if (fyz != 1) return damp(cells.i0, cells.i1);
    damp(cells.i0, std::min(cells.i1, sponge.low));
    damp(std::max(cells.i0, sponge.high), cells.i1);
}

// All fields of a tuple (pointer, place along x, y, z).
struct placed_field {
    float* field;
    std::size_t x, y, z;
};
template <std::size_t count>
void damp(const brick_shape& shape, const cell_range& cells, const std::array<placed_field, count>& fields,
          const sponge_view& sponge) {
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
            for (const auto& f : fields) {
                damp_row(f.field + shape.at(0, j, k), sponge.factor[0][f.x], sponge.factor[1][f.y][j] * sponge.factor[2][f.z][k],
                         cells, sponge);
            }
        }
    }
}

} // namespace

void correct_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                      const tensor_field<const float>& stress, const elastic_media& media, const differences& d,
                      const surface_closure* surface, const layers_view& layers) {
    correct(shape, cells, d, surface, layers, &layer_axis::velocity_memory, velocity_step{v, stress, media.buoyancy});
}

void correct_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                    const vector_field<const float>& v, const elastic_media& media, const differences& d,
                    const surface_closure* surface, const layers_view& layers) {
    correct(shape, cells, d, surface, layers, &layer_axis::stress_memory, stress_step{stress, v, media});
}

void damp_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v, const sponge_view& sponge) {
    damp<3>(shape, cells, {{{v.x, 0, 1, 1}, {v.y, 1, 0, 1}, {v.z, 1, 1, 0}}}, sponge);
}

void damp_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress, const sponge_view& sponge) {
    damp<6>(shape, cells,
            {{{stress.xx, 1, 1, 1},
              {stress.yy, 1, 1, 1},
              {stress.zz, 1, 1, 1},
              {stress.xy, 0, 0, 1},
              {stress.xz, 0, 1, 0},
              {stress.yz, 1, 0, 0}}},
            sponge);
}

} // namespace craton::waves
