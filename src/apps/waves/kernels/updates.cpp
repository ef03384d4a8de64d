#include "sweeps.hpp"

#include <craton/apps/waves/kernels/updates.hpp>

namespace craton::waves {

namespace {

template <class Rheology>
void update_stress_as(const Rheology& rheology, const brick_shape& shape, const cell_range& cells,
                      const tensor_field<float>& stress, const vector_field<const float>& v, const elastic_media& media,
                      const differences& differences, const surface_closure* surface) {
    detail::stress_sweep<Rheology> sweep(rheology, shape, stress, v, media);
    detail::for_rows<detail::for_half::stress>(
        shape, cells, differences, surface, [&](const auto& d, std::int64_t j, std::int64_t k) {
            sweep.of_row(j, k);
            const std::int64_t row = shape.at(0, j, k);
            detail::for_vectors(cells.i0, cells.i1, [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
                sweep.at(row, i, vector, d, detail::without_layers{});
            });
        });
}

} // namespace

void update_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                     const tensor_field<const float>& stress, const elastic_media& media, const differences& differences,
                     const surface_closure* surface) {
    detail::for_rows<detail::for_half::velocity>(
        shape, cells, differences, surface, [&](const auto& d, std::int64_t j, std::int64_t k) {
            const std::int64_t row = shape.at(0, j, k);
            detail::for_vectors(cells.i0, cells.i1, [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
                detail::velocity_at(row + i, vector, d, detail::without_layers{}, shape, v, stress, media.buoyancy);
            });
        });
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const vector_field<const float>& v, const elastic_media& media, const differences& d,
                   const surface_closure* surface) {
    update_stress_as(detail::elastic(stress), shape, cells, stress, v, media, d, surface);
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const tensor_field<float>& memory, const vector_field<const float>& v, const elastic_media& media,
                   const attenuation_media& attenuation, const differences& d, const surface_closure* surface) {
    update_stress_as(detail::anelastic(stress, memory, attenuation), shape, cells, stress, v, media, d, surface);
}

} // namespace craton::waves
