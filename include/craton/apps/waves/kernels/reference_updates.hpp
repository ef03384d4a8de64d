#pragma once

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>

namespace craton::waves::reference {

// updates.hpp in plain loops over single cells, for tests: one formula per field, in the order in which they are written down.

/// Velocities, then stresses without and with attenuation, of a range of cells.
void update_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                     const tensor_field<const float>& stress, const elastic_media& media, const differences& d,
                     const surface_closure* surface);
void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const vector_field<const float>& v, const elastic_media& media, const differences& d,
                   const surface_closure* surface);
void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const tensor_field<float>& memory, const vector_field<const float>& v, const elastic_media& media,
                   const attenuation_media& attenuation, const differences& d, const surface_closure* surface);

} // namespace craton::waves::reference
