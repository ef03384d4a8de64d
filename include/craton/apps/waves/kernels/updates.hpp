#pragma once

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>

namespace craton::waves {

// The steps of the velocity-stress scheme over some cells of a brick. Pure functions: no allocation, no exceptions; calls on
// disjoint ranges may run at the same time. Each has a plain twin in reference_updates.hpp, which it equals to rounding.
//
// `surface`: differences at the free surface when k = 0 of this brick is the surface; null elsewhere. Where it is given and is
// traction_free, xz and yz on plane k = 0 are not touched and stay 0.

/// v += buoyancy * div(stress), d holding dt / h. Elastic traffic: stress 24, v 24, buoyancy 6 bytes per cell.
void update_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                     const tensor_field<const float>& stress, const elastic_media& media, const differences& d,
                     const surface_closure* surface);

/// stress += lambda tr(e) I + 2 mu e, e the strain increments from v, d holding dt / h. Traffic: v 12, stress 48, media 10 bytes
/// per cell.
void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const vector_field<const float>& v, const elastic_media& media, const differences& d,
                   const surface_closure* surface);

/// The same with memory variables r. With E0 = stress + r before and E1 = E0 + elastic increment, r becomes decay r + (1 - decay) W
/// (E0 + E1) / 2 and stress E1 - r. Traffic: as update_stress, r 48, W 8.
void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const tensor_field<float>& memory, const vector_field<const float>& v, const elastic_media& media,
                   const attenuation_media& attenuation, const differences& d, const surface_closure* surface);

} // namespace craton::waves
