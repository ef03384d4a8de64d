#include "sweeps.hpp"

#include <craton/apps/waves/kernels/updates.hpp>

namespace craton::waves {

namespace {

template <bool under_topography, class Rheology>
[[gnu::noinline]] void update_stress_as(const Rheology& rheology, const brick_shape& shape, const cell_range& cells,
                                        const tensor_field<float>& stress, const vector_field<const float>& v,
                                        const elastic_media& media, const differences& differences,
                                        const surface_closure* surface) {
    detail::stress_sweep<Rheology> sweep(rheology, shape, stress, v, media);
    detail::for_rows<detail::for_half::stress, under_topography>(
        shape, cells, differences, surface, [&](const auto& d, std::int64_t j, std::int64_t k) {
            sweep.of_row(j, k);
            const std::int64_t row = shape.at(0, j, k);
            detail::for_vectors(cells.i0, cells.i1, [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
                sweep.at(row, i, vector, d, detail::without_layers{});
            });
        });
}

template <bool under_topography>
[[gnu::noinline]] void update_velocity_as(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                                          const tensor_field<const float>& stress, const elastic_media& media,
                                          const differences& differences, const surface_closure* surface) {
    detail::for_rows<detail::for_half::velocity, under_topography>(
        shape, cells, differences, surface, [&](const auto& d, std::int64_t j, std::int64_t k) {
            const std::int64_t row = shape.at(0, j, k);
            detail::for_vectors(cells.i0, cells.i1, [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
                detail::velocity_at(row + i, vector, d, detail::without_layers{}, shape, v, stress, media.buoyancy);
            });
        });
}

} // namespace

void update_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                     const tensor_field<const float>& stress, const elastic_media& media, const differences& d,
                     const surface_closure* surface) {
    if (d.reduced != nullptr)
        update_velocity_as<true>(shape, cells, v, stress, media, d, surface);
    else
        update_velocity_as<false>(shape, cells, v, stress, media, d, surface);
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const vector_field<const float>& v, const elastic_media& media, const differences& d,
                   const surface_closure* surface) {
    const detail::elastic rheology(stress);
    if (d.reduced != nullptr)
        update_stress_as<true>(rheology, shape, cells, stress, v, media, d, surface);
    else
        update_stress_as<false>(rheology, shape, cells, stress, v, media, d, surface);
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const tensor_field<float>& memory, const vector_field<const float>& v, const elastic_media& media,
                   const attenuation_media& attenuation, const differences& d, const surface_closure* surface) {
    const detail::anelastic rheology(stress, memory, attenuation);
    if (d.reduced != nullptr)
        update_stress_as<true>(rheology, shape, cells, stress, v, media, d, surface);
    else
        update_stress_as<false>(rheology, shape, cells, stress, v, media, d, surface);
}

} // namespace craton::waves
