#pragma once

#include <craton/apps/waves/kernels/absorbing.hpp>
#include <craton/apps/waves/kernels/updates.hpp>

namespace craton::waves {

// The steps of updates.hpp for cells with perfectly matched layers: to rounding damp_, where `damping` is given, then correct_ of
// absorbing.hpp, then update_, but in one sweep. What the corrections need is at hand then, and layers cost little more than the
// traffic of their memory, 24 bytes per cell and axis. Cells without layers are done as by update_. Pure functions as those are,
// but calls at the same time must not have cells of one x layer in one row.

/// Velocities of a range of cells, corrected in the layers.
void update_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                     const tensor_field<const float>& stress, const elastic_media& media, const differences& d,
                     const surface_closure* surface, const layers_view& layers, const sponge_view* damping);

/// Stresses of a range of cells, corrected in the layers; without attenuation.
void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const vector_field<const float>& v, const elastic_media& media, const differences& d,
                   const surface_closure* surface, const layers_view& layers, const sponge_view* damping);

/// The same with attenuation.
void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const tensor_field<float>& memory, const vector_field<const float>& v, const elastic_media& media,
                   const attenuation_media& attenuation, const differences& d, const surface_closure* surface,
                   const layers_view& layers, const sponge_view* damping);

} // namespace craton::waves
