#include "sweeps.hpp"

#include <craton/apps/waves/kernels/layered_updates.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

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

// What a run of cells of a row has of the layers.
struct run_of_layers {
    struct of_axis {
        float* memory = nullptr; // of component 0, as if it began at i = 0; null: no layer
        std::int64_t pitch = 0;
        std::array<float, 2> decay{}, gain{}; // y and z
    };
    std::array<of_axis, 3> axis;
    std::array<const float*, 2> decay_x{}, gain_x{}, factor_x{}; // factor null: 1
    std::int64_t x0 = 0, x1 = 0;                                 // cells with memory of x
    float factor[2][2] = {{1, 1}, {1, 1}};                       // of damping by y and z
};

// A vector of such cells, in_x: of the x layers, across: of y or z layers.
template <class Half, class Vector, bool in_x, bool across> class layers_at {
  public:
    static constexpr bool any = true;

    [[gnu::always_inline]] layers_at(const run_of_layers& run, Vector vector, std::int64_t i) : run_(run), vector_(vector), i_(i) {
        if constexpr (!in_x) return;
        const auto& x = run_.axis[0];
        with_memory_ = vector & detail::part_of_vector(run.x0 - i, run.x1 - i);
        // All loaded before any is stored: the components' rows are short and close together.
        for (int n = 0; n < 3; ++n) {
            q_[n] = with_memory_.load(x.memory + n * x.pitch + i_);
        }
    }

    // Memory one step on. To be called once for each axis and component that there is.
    template <int axis, int component> [[gnu::always_inline]] lanes psi(lanes difference) const {
        constexpr std::size_t at = Half::place(axis, component);
        const auto& along = run_.axis[axis];
        float* const memory = along.memory + component * along.pitch + i_;
        if constexpr (axis == 0 ? !in_x : !across) {
            return lanes{};
        } else if constexpr (axis == 0) {
            const lanes now = detail::multiply_add(vector_.load(run_.decay_x[at] + i_), q_[component],
                                                   vector_.load(run_.gain_x[at] + i_) * difference);
            with_memory_.store(memory, now);
            return 0.5F * (now + q_[component]);
        } else {
            if (along.memory == nullptr) return lanes{};
            const lanes before = vector_.load(memory);
            __builtin_prefetch(memory + 3 * along.pitch, 1); // of the next row, as a rule
            const lanes now = detail::multiply_add(detail::all(along.decay[at]), before, along.gain[at] * difference);
            vector_.store(memory, now);
            return 0.5F * (now + before);
        }
    }
    template <int axis, int component> [[gnu::always_inline]] lanes stretched(lanes difference) const {
        if constexpr (axis == 0 ? !in_x : !across) return difference;
        return difference + psi<axis, component>(difference);
    }
    template <int x, int y, int z> [[gnu::always_inline]] lanes damped(lanes field) const {
        const float of_row = run_.factor[y][z];
        if constexpr (!in_x) return field * of_row;
        return run_.factor_x[x] != nullptr ? field * (of_row * vector_.load(run_.factor_x[x] + i_)) : field * of_row;
    }

  private:
    const run_of_layers& run_;
    Vector vector_;
    std::int64_t i_;
    detail::part_of_vector with_memory_{0}; // of x
    lanes q_[3];                            // of x
};

// Rows cut in runs: the x layers, rounded to whole vectors, and what is between them.
template <class Half> class layered_rows {
  public:
    layered_rows(const brick_shape& shape, const cell_range& cells, const layers_view& layers, const sponge_view* damping)
        : shape_(shape), cells_(cells), layers_(layers), damping_(damping) {
        const auto& [lower, upper] = layers.ends;
        const std::int64_t vector = detail::lanes_per_vector;
        first_ = 0;
        last_ = shape.nx;
        if (lower.i0 < lower.i1) first_ = (lower.i1 + vector - 1) / vector * vector;
        if (upper.i0 < upper.i1) {
            first_ = std::min(first_, upper.i0);
            last_ = std::max(first_, upper.i0 / vector * vector);
        }
    }

    // update(vector, i, layers) for all cells of a row.
    template <class Update> [[gnu::always_inline]] void row(std::int64_t j, std::int64_t k, const Update& update) const {
        run_of_layers run = across(j, k);
        const bool inside = run.axis[1].memory == nullptr && run.axis[2].memory == nullptr;
        const std::array<std::int64_t, 4> cuts{cells_.i0, std::clamp(first_, cells_.i0, cells_.i1),
                                               std::clamp(last_, cells_.i0, cells_.i1), cells_.i1};
        for (std::size_t n = 0; n < 3; ++n) {
            if (cuts[n] == cuts[n + 1]) continue;
            along_x(run, n, j, k);
            if (n == 1 && inside) {
                detail::for_vectors(cuts[n], cuts[n + 1], [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
                    update(vector, i, detail::without_layers{});
                });
            } else if (n == 1) {
                run_of<false, true>(run, cuts[n], cuts[n + 1], update);
            } else if (inside) {
                run_of<true, false>(run, cuts[n], cuts[n + 1], update);
            } else {
                run_of<true, true>(run, cuts[n], cuts[n + 1], update);
            }
        }
    }

  private:
    template <bool in_x, bool across, class Update>
    [[gnu::always_inline]] static void run_of(const run_of_layers& run, std::int64_t i0, std::int64_t i1, const Update& update) {
        // As for_vectors, but all as parts: one copy of this code, so that it stays in the first-level cache.
        const std::int64_t length = detail::lanes_per_vector;
        for (std::int64_t i = i0, next = 0; i < i1; i = next) {
            next = std::min(i / length * length + length, i1);
            const detail::part_of_vector vector(next - i);
            update(vector, i, layers_at<Half, detail::part_of_vector, in_x, across>(run, vector, i));
        }
    }

    [[nodiscard]] const layer_row& memory_of(std::size_t axis, std::int64_t j, std::int64_t k) const {
        return layers_.axis[axis].rows[j + k * shape_.ny];
    }

    // All but what belongs to the x layers.
    [[nodiscard]] run_of_layers across(std::int64_t j, std::int64_t k) const {
        run_of_layers run;
        for (std::size_t axis = 1; axis < 3; ++axis) {
            const layer_axis& from = layers_.axis[axis];
            const std::int64_t row = memory_of(axis, j, k).at;
            if (row < 0) continue;
            auto& to = run.axis[axis];
            to.memory = from.*Half::memory + row + layers_.whole.first - layers_.whole.i0;
            to.pitch = layers_.whole.pitch;
            for (std::size_t at = 0; at < 2; ++at) {
                to.decay[at] = from.decay[at][axis == 1 ? j : k];
                to.gain[at] = from.gain[at][axis == 1 ? j : k];
            }
        }
        if (damping_ == nullptr) return run;
        for (std::size_t y = 0; y < 2; ++y) {
            for (std::size_t z = 0; z < 2; ++z) run.factor[y][z] = damping_->factor[1][y][j] * damping_->factor[2][z][k];
        }
        return run;
    }
    // n: the lower end (0), between (1), the upper end (2).
    void along_x(run_of_layers& run, std::size_t n, std::int64_t j, std::int64_t k) const {
        auto& x = run.axis[0];
        x.memory = nullptr;
        run.x0 = run.x1 = 0;
        run.factor_x = {};
        if (n == 1) return;
        const layer_part& end = layers_.ends[n / 2];
        x.memory = layers_.axis[0].*Half::memory + memory_of(0, j, k).at + end.first - end.i0;
        x.pitch = end.pitch;
        run.x0 = end.i0;
        run.x1 = end.i1;
        run.decay_x = layers_.axis[0].decay;
        run.gain_x = layers_.axis[0].gain;
        if (damping_ != nullptr) run.factor_x = damping_->factor[0];
    }

    brick_shape shape_;
    cell_range cells_;
    const layers_view& layers_;
    const sponge_view* damping_;
    std::int64_t first_, last_; // between the x layers
};

template <class Rheology>
void update_stress_as(const Rheology& rheology, const brick_shape& shape, const cell_range& cells,
                      const tensor_field<float>& stress, const vector_field<const float>& v, const elastic_media& media,
                      const differences& differences, const surface_closure* surface, const layers_view& layers,
                      const sponge_view* damping) {
    const layered_rows<of_stress> rows(shape, cells, layers, damping);
    detail::stress_sweep<Rheology> sweep(rheology, shape, stress, v, media);
    detail::for_rows(shape, cells, differences, surface, [&](const auto& d, std::int64_t j, std::int64_t k) {
        sweep.of_row(j, k);
        const std::int64_t row = shape.at(0, j, k);
        rows.row(j, k, [&](auto vector, std::int64_t i, const auto& at) __attribute__((always_inline)) {
            sweep.at(row, i, vector, d, at);
        });
    });
}

} // namespace

void update_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                     const tensor_field<const float>& stress, const elastic_media& media, const differences& differences,
                     const surface_closure* surface, const layers_view& layers, const sponge_view* damping) {
    const layered_rows<of_velocity> rows(shape, cells, layers, damping);
    detail::for_rows(shape, cells, differences, surface, [&](const auto& d, std::int64_t j, std::int64_t k) {
        const std::int64_t row = shape.at(0, j, k);
        rows.row(j, k, [&](auto vector, std::int64_t i, const auto& at) __attribute__((always_inline)) {
            detail::velocity_at(row + i, vector, d, at, shape, v, stress, media.buoyancy);
        });
    });
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const vector_field<const float>& v, const elastic_media& media, const differences& d,
                   const surface_closure* surface, const layers_view& layers, const sponge_view* damping) {
    update_stress_as(detail::elastic(stress), shape, cells, stress, v, media, d, surface, layers, damping);
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const tensor_field<float>& memory, const vector_field<const float>& v, const elastic_media& media,
                   const attenuation_media& attenuation, const differences& d, const surface_closure* surface,
                   const layers_view& layers, const sponge_view* damping) {
    update_stress_as(detail::anelastic(stress, memory, attenuation), shape, cells, stress, v, media, d, surface, layers, damping);
}

} // namespace craton::waves
