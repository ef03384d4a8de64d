#include "sweeps.hpp"

#include <craton/apps/waves/kernels/layered_updates.hpp>
#include <craton/base/up_to_multiple.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace craton::waves {

namespace {

using detail::lanes;

// Which memory the differences have, and where, along their axis, the fields lie that they update: at faces (0) or centres (1).
struct of_velocity {
    static constexpr auto memory = &layer_axis::velocity_memory;
    static constexpr std::size_t place(int axis, int component) { return component != axis ? 1 : 0; }
};
struct of_stress {
    static constexpr auto memory = &layer_axis::stress_memory;
    static constexpr std::size_t place(int axis, int component) { return component == axis ? 1 : 0; }
};

// The x layers.
struct x_layers {
    std::array<const float*, 2> decay{}, gain{}, factor{}; // factor: of damping; null: none
    std::array<layer_part, 2> ends{};                      // lower, upper
    std::array<std::int64_t, 2> folded{};                  // below their cells, the next multiples of their pitches
    std::int64_t between = 0, beyond = 0;                  // vectors that begin at between <= i < beyond have no such cells
    std::int64_t cut = 0;                                  // where a vector would have cells of both ends
};

// What a row has of the y and z layers.
struct layers_across {
    struct of_axis {
        float* memory = nullptr; // of component 0, as if it began at i = 0; null: no layer
        std::array<float, 2> decay{}, gain{};
    };
    std::array<of_axis, 3> axis; // y and z
    std::int64_t pitch = 0;
    float factor[2][2] = {{1, 1}, {1, 1}}; // of damping
};
struct no_layers_across {};

// A vector of cells from i on. x_memory: of the row.
template <class Half, class Vector, class Across> class layers_at {
  public:
    static constexpr bool any = true;
    static constexpr bool across = std::is_same_v<Across, layers_across>;

    [[gnu::always_inline]] layers_at(const x_layers& x, float* x_memory, const Across& row, Vector vector, std::int64_t i)
        : x_(x), x_memory_(x_memory), row_(row), vector_(vector), i_(i), in_x_(i < x.between || i >= x.beyond) {}

    [[nodiscard]] [[gnu::always_inline]] bool on() const { return across || in_x_; }

    // Adds psi, and takes its memory one step on. To be called once for each axis and component that there is.
    template <int axis, int component> [[gnu::always_inline]] void add_psi(lanes& sum, lanes difference) const {
        constexpr std::size_t at = Half::place(axis, component);
        if constexpr (axis == 0) {
            if (!in_x_) return;
            const std::size_t which = i_ < x_.between ? 0 : 1;
            const layer_part& end = x_.ends[which];
            std::int64_t place = i_ - x_.folded[which]; // i % pitch
            if (place >= end.pitch) place -= end.pitch;
            float* const memory = x_memory_ + end.first + component * end.pitch + place;
            const auto cells = cells_with_memory(end);
            const lanes before = cells.load(memory);
            const lanes now =
                detail::multiply_add(vector_.load(x_.decay[at] + i_), before, vector_.load(x_.gain[at] + i_) * difference);
            cells.store(memory, now);
            sum += 0.5F * (now + before);
        } else if constexpr (across) {
            const auto& along = row_.axis[axis];
            if (along.memory == nullptr) return;
            float* const memory = along.memory + component * row_.pitch + i_;
            const lanes before = vector_.load(memory);
            __builtin_prefetch(memory + 3 * row_.pitch, 1); // of the next row, as a rule
            const lanes now = detail::multiply_add(detail::all(along.decay[at]), before, along.gain[at] * difference);
            vector_.store(memory, now);
            sum += 0.5F * (now + before);
        }
    }
    template <int x, int y, int z> [[gnu::always_inline]] lanes damped(lanes field) const {
        if (x_.factor[x] == nullptr) return field;
        lanes factor = vector_.load(x_.factor[x] + i_);
        if constexpr (across) factor *= row_.factor[y][z];
        return field * factor;
    }

  private:
    // Outside of the layer the profiles change nothing: whole vectors have whole lines. A later load of a line that was stored in
    // part would wait for it to reach the cache.
    [[gnu::always_inline]] auto cells_with_memory(const layer_part& end) const {
        if constexpr (std::is_same_v<Vector, detail::whole_vector>) {
            return vector_;
        } else {
            return vector_ & detail::part_of_vector(end.i0 - i_, end.i1 - i_);
        }
    }

    const x_layers& x_;
    float* x_memory_;
    const Across& row_;
    Vector vector_;
    std::int64_t i_;
    bool in_x_;
};

template <class Half> class layered_rows {
  public:
    layered_rows(const brick_shape& shape, const cell_range& cells, const layers_view& layers, const sponge_view* damping)
        : shape_(shape), cells_(cells), layers_(layers), damping_(damping) {
        const layer_axis& along = layers.axis[0];
        x_ = {along.decay, along.gain, {}, layers.ends, {}, 0, shape.nx, shape.nx};
        if (damping != nullptr) x_.factor = damping->factor[0];
        const auto& [lower, upper] = layers.ends;
        for (std::size_t n = 0; n < 2; ++n) {
            const layer_part& end = layers.ends[n];
            if (end.pitch > 0) x_.folded[n] = end.i0 / end.pitch * end.pitch;
        }
        const std::int64_t vector = detail::lanes_per_vector;
        if (lower.i0 < lower.i1) x_.between = base::up_to_multiple(lower.i1, vector);
        if (upper.i0 == upper.i1) return;
        x_.beyond = upper.i0 / vector * vector;
        if (x_.beyond < x_.between) x_.between = x_.beyond = x_.cut = upper.i0;
    }

    // update(vector, i, layers) for all cells of a row.
    template <class Update> [[gnu::always_inline]] void row(std::int64_t j, std::int64_t k, const Update& update) const {
        const std::int64_t of_x = memory_of(0, j, k).at;
        float* const x_memory = of_x < 0 ? nullptr : layers_.axis[0].*Half::memory + of_x;
        const bool across = memory_of(1, j, k).at >= 0 || memory_of(2, j, k).at >= 0;
        const std::int64_t length = detail::lanes_per_vector;
        for (std::int64_t i0 = cells_.i0, i1 = 0; i0 < cells_.i1; i0 = i1) {
            i1 = i0 < x_.cut ? std::min(x_.cut, cells_.i1) : cells_.i1;
            if (!across) {
                detail::for_vectors(i0, i1, [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
                    const no_layers_across none;
                    update(vector, i, layers_at<Half, decltype(vector), no_layers_across>(x_, x_memory, none, vector, i));
                });
                continue;
            }
            const layers_across there = layers_at_row(j, k);
            // As for_vectors, but all as parts: one copy of this code, so that it stays in the first-level cache.
            for (std::int64_t i = i0, next = 0; i < i1; i = next) {
                next = std::min(i / length * length + length, i1);
                const detail::part_of_vector vector(next - i);
                update(vector, i, layers_at<Half, detail::part_of_vector, layers_across>(x_, x_memory, there, vector, i));
            }
        }
    }

  private:
    [[nodiscard]] const layer_row& memory_of(std::size_t axis, std::int64_t j, std::int64_t k) const {
        return layers_.axis[axis].rows[j + k * shape_.ny];
    }

    [[nodiscard]] layers_across layers_at_row(std::int64_t j, std::int64_t k) const {
        layers_across row;
        row.pitch = layers_.whole.pitch;
        for (std::size_t axis = 1; axis < 3; ++axis) {
            const layer_axis& from = layers_.axis[axis];
            const std::int64_t first = memory_of(axis, j, k).at;
            if (first < 0) continue;
            auto& to = row.axis[axis];
            to.memory = from.*Half::memory + first + layers_.whole.first;
            for (std::size_t place = 0; place < 2; ++place) {
                to.decay[place] = from.decay[place][axis == 1 ? j : k];
                to.gain[place] = from.gain[place][axis == 1 ? j : k];
            }
        }
        if (damping_ == nullptr) return row;
        for (std::size_t y = 0; y < 2; ++y) {
            for (std::size_t z = 0; z < 2; ++z) row.factor[y][z] = damping_->factor[1][y][j] * damping_->factor[2][z][k];
        }
        return row;
    }

    brick_shape shape_;
    cell_range cells_;
    const layers_view& layers_;
    const sponge_view* damping_;
    x_layers x_;
};

template <bool under_topography, class Rheology>
[[gnu::noinline]] void update_stress_as(const Rheology& rheology, const brick_shape& shape, const cell_range& cells,
                                        const tensor_field<float>& stress, const vector_field<const float>& v,
                                        const elastic_media& media, const differences& differences, const surface_closure* surface,
                                        const layers_view& layers, const sponge_view* damping) {
    const layered_rows<of_stress> rows(shape, cells, layers, damping);
    detail::stress_sweep<Rheology> sweep(rheology, shape, stress, v, media);
    detail::for_rows<detail::for_half::stress, under_topography>(
        shape, cells, differences, surface, [&](const auto& d, std::int64_t j, std::int64_t k) {
            sweep.of_row(j, k);
            const std::int64_t row = shape.at(0, j, k);
            rows.row(j, k, [&](auto vector, std::int64_t i, const auto& at) __attribute__((always_inline)) {
                sweep.at(row, i, vector, d, at);
            });
        });
}

template <bool under_topography>
[[gnu::noinline]] void update_velocity_as(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                                          const tensor_field<const float>& stress, const elastic_media& media,
                                          const differences& differences, const surface_closure* surface, const layers_view& layers,
                                          const sponge_view* damping) {
    const layered_rows<of_velocity> rows(shape, cells, layers, damping);
    detail::for_rows<detail::for_half::velocity, under_topography>(
        shape, cells, differences, surface, [&](const auto& d, std::int64_t j, std::int64_t k) {
            const std::int64_t row = shape.at(0, j, k);
            rows.row(j, k, [&](auto vector, std::int64_t i, const auto& at) __attribute__((always_inline)) {
                detail::velocity_at(row + i, vector, d, at, shape, v, stress, media.buoyancy);
            });
        });
}

} // namespace

void update_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                     const tensor_field<const float>& stress, const elastic_media& media, const differences& d,
                     const surface_closure* surface, const layers_view& layers, const sponge_view* damping) {
    if (d.reduced != nullptr)
        update_velocity_as<true>(shape, cells, v, stress, media, d, surface, layers, damping);
    else
        update_velocity_as<false>(shape, cells, v, stress, media, d, surface, layers, damping);
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const vector_field<const float>& v, const elastic_media& media, const differences& d,
                   const surface_closure* surface, const layers_view& layers, const sponge_view* damping) {
    const detail::elastic rheology(stress);
    if (d.reduced != nullptr)
        update_stress_as<true>(rheology, shape, cells, stress, v, media, d, surface, layers, damping);
    else
        update_stress_as<false>(rheology, shape, cells, stress, v, media, d, surface, layers, damping);
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const tensor_field<float>& memory, const vector_field<const float>& v, const elastic_media& media,
                   const attenuation_media& attenuation, const differences& d, const surface_closure* surface,
                   const layers_view& layers, const sponge_view* damping) {
    const detail::anelastic rheology(stress, memory, attenuation);
    if (d.reduced != nullptr)
        update_stress_as<true>(rheology, shape, cells, stress, v, media, d, surface, layers, damping);
    else
        update_stress_as<false>(rheology, shape, cells, stress, v, media, d, surface, layers, damping);
}

} // namespace craton::waves
