#pragma once

#include <craton/apps/tomography/earth_model.hpp>

namespace craton::tomography {

/// The Earth with another crust, the solid layers above its Moho: the Moho at another radius, the crust's layers as thick in
/// proportion, ln Vs and ln Vp there changed alike. The mantle goes on as its uppermost layer, or ends earlier. Throws user_error
/// unless `moho_m` is a boundary between a layer and the solid crust, and new_moho_m lies between the core and the solid surface.
[[nodiscard]] earth_model with_crust(const earth_model& earth, double moho_m, double new_moho_m, double change);

} // namespace craton::tomography
