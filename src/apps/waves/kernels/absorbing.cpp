#include "vectors.hpp"

#include <craton/apps/waves/kernels/absorbing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace craton::waves {

namespace {

using detail::lanes;

// Differences of interior formulas, `along` the step of the axis.
class interior_differences {
  public:
    interior_differences(const differences& d, std::int64_t along)
        : c1_(detail::all(d.c1)), c2_(detail::all(d.c2)), along_(along) {}

    template <class Vector> [[gnu::always_inline]] lanes plus(Vector vector, const float* f) const {
        return c1_ * (vector.load(f + along_) - vector.load(f)) + c2_ * (vector.load(f + 2 * along_) - vector.load(f - along_));
    }
    template <class Vector> [[gnu::always_inline]] lanes minus(Vector vector, const float* f) const {
        return c1_ * (vector.load(f) - vector.load(f - along_)) + c2_ * (vector.load(f + along_) - vector.load(f - 2 * along_));
    }

  private:
    lanes c1_, c2_;
    std::int64_t along_;
};

// b and a of a difference.
struct coefficients {
    lanes decay, gain;
};

// Along `axis`, for fields that lie, along x, y, z, at faces (0) or centres (1). Here those of the axis alone, `n` a cell along it.
class of_one_axis {
  public:
    of_one_axis(const layer_axis& axis, std::int64_t n) {
        for (std::size_t at = 0; at < 2; ++at) value_[at] = {detail::all(axis.decay[at][n]), detail::all(axis.gain[at][n])};
    }
    // From n on.
    template <class Vector> of_one_axis(const layer_axis& axis, std::int64_t n, Vector vector) {
        for (std::size_t at = 0; at < 2; ++at) value_[at] = {vector.load(axis.decay[at] + n), vector.load(axis.gain[at] + n)};
    }
    template <int axis, int x, int y, int z, class Vector> [[gnu::always_inline]] coefficients at(Vector, std::int64_t) const {
        return value_[axis == 0 ? x : axis == 1 ? y : z];
    }

  private:
    std::array<coefficients, 2> value_;
};

// The memory of three components, all loaded before any is stored: short rows lie close together, and a load that finds a part of a
// vector on its way
// to memory in its range waits.
template <class Vector> class memory_of_axis {
  public:
    [[gnu::always_inline]] memory_of_axis(Vector vector, float* memory, std::int64_t pitch)
        : vector_(vector), at_{memory, memory + pitch, memory + 2 * pitch},
          q_{vector.load(at_[0]), vector.load(at_[1]), vector.load(at_[2])} {}

    // q one step on; psi doubled, that of the step's middle.
    [[gnu::always_inline]] lanes advance(std::size_t component, const coefficients& c, lanes difference) const {
        const lanes now = c.decay * q_[component] + c.gain * difference;
        vector_.store(at_[component], now);
        return now + q_[component];
    }

  private:
    Vector vector_;
    std::array<float*, 3> at_;
    lanes q_[3];
};

template <class Vector> [[gnu::always_inline]] inline void add(Vector vector, float* sum, lanes increment) {
    vector.store(sum, vector.load(sum) + increment);
}

// What is done for the differences along `axis` with a vector of cells: n their index in the fields, i along x, memory that of
// component 0.
class velocity_step {
  public:
    velocity_step(const vector_field<float>& v, const tensor_field<const float>& stress, const elastic_media& media)
        : v_(v), stress_(stress), buoyancy_(media.buoyancy) {}

    template <int axis, class Vector, class Differences, class Coefficients>
    [[gnu::always_inline]] void of_axis(Vector vector, std::int64_t n, std::int64_t i, float* memory, std::int64_t pitch,
                                        const Differences& d, const Coefficients& c) const {
        const memory_of_axis<Vector> q(vector, memory, pitch);
        of_component<axis, 0>(vector, n, i, q, d, c, v_.x, buoyancy_.x,
                              axis == 0   ? stress_.xx
                              : axis == 1 ? stress_.xy
                                          : stress_.xz);
        of_component<axis, 1>(vector, n, i, q, d, c, v_.y, buoyancy_.y,
                              axis == 0   ? stress_.xy
                              : axis == 1 ? stress_.yy
                                          : stress_.yz);
        of_component<axis, 2>(vector, n, i, q, d, c, v_.z, buoyancy_.z,
                              axis == 0   ? stress_.xz
                              : axis == 1 ? stress_.yz
                                          : stress_.zz);
    }

  private:
    template <int axis, int component, class Vector, class Differences, class Coefficients>
    [[gnu::always_inline]] static void of_component(Vector vector, std::int64_t n, std::int64_t i, const memory_of_axis<Vector>& q,
                                                    const Differences& d, const Coefficients& c, float* v,
                                                    const compact_field& buoyancy, const float* traction) {
        const lanes difference = component == axis ? d.minus(vector, traction + n) : d.plus(vector, traction + n);
        const coefficients here = c.template at < axis, component != 0, component != 1, component != 2 > (vector, i);
        add(vector, v + n, 0.5F * detail::load(buoyancy, n) * q.advance(component, here, difference));
    }

    vector_field<float> v_;
    tensor_field<const float> stress_;
    compact_vector buoyancy_;
};

class stress_step {
  public:
    stress_step(const tensor_field<float>& stress, const vector_field<const float>& v, const elastic_media& media, bool on_surface)
        : stress_(stress), v_(v), media_(media), on_surface_(on_surface) {}

    template <int axis, class Vector, class Differences, class Coefficients>
    [[gnu::always_inline]] void of_axis(Vector vector, std::int64_t n, std::int64_t i, float* memory, std::int64_t pitch,
                                        const Differences& d, const Coefficients& c) const {
        const std::array<const float*, 3> v{v_.x, v_.y, v_.z};
        const memory_of_axis<Vector> q(vector, memory, pitch);
        normal<axis>(vector, n, q, d.plus(vector, v[axis] + n), c.template at<axis, 1, 1, 1>(vector, i));
        if constexpr (axis != 2) {
            constexpr int other = 1 - axis;
            edge(vector, n, q, other, d.minus(vector, v[other] + n), c.template at<axis, 0, 0, 1>(vector, i), stress_.xy,
                 media_.mu_xy);
        }
        if (on_surface_) return;
        if constexpr (axis != 1) {
            constexpr int other = 2 - axis;
            edge(vector, n, q, other, d.minus(vector, v[other] + n), c.template at<axis, 0, 1, 0>(vector, i), stress_.xz,
                 media_.mu_xz);
        }
        if constexpr (axis != 0) {
            constexpr int other = 3 - axis;
            edge(vector, n, q, other, d.minus(vector, v[other] + n), c.template at<axis, 1, 0, 0>(vector, i), stress_.yz,
                 media_.mu_yz);
        }
    }

  private:
    template <int axis, class Vector>
    [[gnu::always_inline]] void normal(Vector vector, std::int64_t n, const memory_of_axis<Vector>& q, lanes difference,
                                       const coefficients& c) const {
        const lanes psi = 0.5F * q.advance(axis, c, difference);
        const lanes isotropic = detail::load(media_.lambda, n) * psi;
        const lanes own = isotropic + 2.0F * detail::load(media_.mu, n) * psi;
        add(vector, stress_.xx + n, axis == 0 ? own : isotropic);
        add(vector, stress_.yy + n, axis == 1 ? own : isotropic);
        add(vector, stress_.zz + n, axis == 2 ? own : isotropic);
    }
    template <class Vector>
    [[gnu::always_inline]] static void edge(Vector vector, std::int64_t n, const memory_of_axis<Vector>& q, std::size_t component,
                                            lanes difference, const coefficients& c, float* stress, const compact_field& mu) {
        add(vector, stress + n, 0.5F * detail::load(mu, n) * q.advance(component, c, difference));
    }

    tensor_field<float> stress_;
    vector_field<const float> v_;
    elastic_media media_;
    bool on_surface_;
};

// One plane k of a range: how each of its rows is done.
template <class Step> class plane_of_layers {
  public:
    plane_of_layers(const brick_shape& shape, const cell_range& cells, std::int64_t k, const differences& d,
                    const layers_view& layers, float* layer_axis::* memory, const Step& step)
        : shape_(shape), cells_(cells), k_(k), d_(d), layers_(layers), memory_(memory), step_(step) {}

    // The x layers: vector by vector, and for each down the rows, which share its coefficients.
    void across_x() const {
        const layer_axis& x = layers_.axis[0];
        const layer_row* const rows = x.rows + k_ * shape_.ny;
        const interior_differences d(d_, 1);
        for (const layer_part& end : layers_.ends) {
            if (end.i0 >= end.i1) continue; // nor is there memory
            float* const memory = x.*memory_ + end.first;
            detail::for_vectors(std::max(cells_.i0, end.i0), std::min(cells_.i1, end.i1),
                                [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
                                    const of_one_axis coefficients(x, i, vector);
                                    const Step step = step_;
                                    for (std::int64_t j = cells_.j0; j < cells_.j1; ++j)
                                        step.template of_axis<0>(vector, shape_.at(i, j, k_), i,
                                                                 memory + rows[j].at + i % end.pitch, end.pitch, d, coefficients);
                                });
        }
    }
    void across_y() const {
        for (std::int64_t j = cells_.j0; j < cells_.j1; ++j)
            if (has_memory(1, j)) row<1>(j, layers_.whole, interior_differences(d_, shape_.pitch), of_one_axis(layers_.axis[1], j));
    }
    void across_z() const {
        const of_one_axis coefficients(layers_.axis[2], k_);
        for (std::int64_t j = cells_.j0; j < cells_.j1; ++j)
            if (has_memory(2, j)) row<2>(j, layers_.whole, interior_differences(d_, shape_.plane), coefficients);
    }

  private:
    [[nodiscard]] bool has_memory(std::size_t axis, std::int64_t j) const {
        return layers_.axis[axis].rows[j + k_ * shape_.ny].at >= 0;
    }

    template <int axis, class Differences, class Coefficients>
    void row(std::int64_t j, const layer_part& part, const Differences& d, const Coefficients& coefficients) const {
        const layer_axis& along = layers_.axis[axis];
        float* const memory = along.*memory_ + along.rows[j + k_ * shape_.ny].at + part.first;
        const std::int64_t n = shape_.at(0, j, k_);
        const Step step = step_;
        detail::for_vectors(std::max(cells_.i0, part.i0), std::min(cells_.i1, part.i1),
                            [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
                                step.template of_axis<axis>(vector, n + i, i, memory + i % part.pitch, part.pitch, d, coefficients);
                            });
    }

    const brick_shape& shape_;
    const cell_range& cells_;
    std::int64_t k_;
    const differences& d_;
    const layers_view& layers_;
    float* layer_axis::* memory_;
    const Step& step_;
};

template <class Step>
void correct(const brick_shape& shape, const cell_range& cells, std::int64_t k, const differences& d, const layers_view& layers,
             float* layer_axis::* memory, const Step& step) {
    const plane_of_layers<Step> plane(shape, cells, k, d, layers, memory, step);
    plane.across_x();
    plane.across_y();
    plane.across_z();
}

// A field, and whether it lies at lower faces (0) or centres (1) along x, y, z.
struct placed_field {
    float* field;
    std::size_t x, y, z;
};

// One plane k of a range.
class plane_of_sponge {
  public:
    plane_of_sponge(const brick_shape& shape, const cell_range& cells, std::int64_t k, const placed_field& of,
                    const sponge_view& sponge)
        : cells_(cells), pitch_(shape.pitch), field_(of.field + shape.at(0, 0, k)), fx_(sponge.factor[0][of.x]),
          fy_(sponge.factor[1][of.y]), fz_(sponge.factor[2][of.z][k]) {}

    // Rows that are damped all along.
    void rows() const {
        for (std::int64_t j = cells_.j0; j < cells_.j1; ++j) {
            const float fyz = fy_[j] * fz_;
            if (fyz == 1) continue;
            detail::for_vectors(cells_.i0, cells_.i1, [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
                float* const f = field_ + j * pitch_ + i;
                vector.store(f, vector.load(f) * (vector.load(fx_ + i) * fyz));
            });
        }
    }
    // Cells i0 <= i < i1 of the others: vector by vector, down the rows.
    void ends(std::int64_t i0, std::int64_t i1) const {
        detail::for_vectors(std::max(i0, cells_.i0), std::min(i1, cells_.i1),
                            [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
                                const lanes fx = vector.load(fx_ + i);
                                for (std::int64_t j = cells_.j0; j < cells_.j1; ++j) {
                                    float* const f = field_ + j * pitch_ + i;
                                    if (fy_[j] * fz_ == 1) vector.store(f, vector.load(f) * fx);
                                }
                            });
    }

  private:
    cell_range cells_;
    std::int64_t pitch_;
    float* field_;
    const float *fx_, *fy_;
    float fz_;
};

template <std::size_t count>
void damp(const brick_shape& shape, const cell_range& cells, const std::array<placed_field, count>& fields,
          const sponge_view& sponge) {
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        for (const auto& of : fields) {
            const plane_of_sponge plane(shape, cells, k, of, sponge);
            plane.rows();
            plane.ends(0, sponge.low);
            plane.ends(sponge.high, shape.nx);
        }
    }
}

} // namespace

void correct_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                      const tensor_field<const float>& stress, const elastic_media& media, const differences& d,
                      const surface_closure*, const layers_view& layers) {
    const velocity_step step(v, stress, media);
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) correct(shape, cells, k, d, layers, &layer_axis::velocity_memory, step);
}

void correct_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                    const vector_field<const float>& v, const elastic_media& media, const differences& d,
                    const surface_closure* surface, const layers_view& layers) {
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        const stress_step step(stress, v, media, surface != nullptr && surface->traction_free && k == 0);
        correct(shape, cells, k, d, layers, &layer_axis::stress_memory, step);
    }
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
