#include <craton/apps/tomography/crust.hpp>

#include "layer_map.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace craton::tomography {

earth_model with_crust(const earth_model& earth, double moho_m, double new_moho_m, double change) {
    const double top = earth.solid_surface_radius_m();
    const auto boundaries = earth.discontinuities_m();
    if (std::ranges::find(boundaries, moho_m) == boundaries.end() || moho_m <= earth.cmb_radius_m() || moho_m >= top) {
        throw user_error(
            fmt::format("crust: {} m is no boundary below the crust; allowed: a discontinuity of {}", moho_m, earth.name()));
    }
    if (!(new_moho_m > earth.cmb_radius_m() && new_moho_m < top && std::isfinite(change))) {
        throw user_error(fmt::format("crust: a Moho at {} m and a change of {}; allowed: radii from {} to {} m, a finite change",
                                     new_moho_m, change, earth.cmb_radius_m(), top));
    }
    const double factor = std::exp(change);
    std::vector<earth_layer> layers;
    for (const earth_layer& layer : earth.layers()) {
        if (layer.outer_radius_m <= moho_m) { // below: its own part, and as far up as the new Moho where it is the last
            if (layer.inner_radius_m >= new_moho_m) continue;
            layers.push_back(layer);
            layers.back().outer_radius_m = layer.outer_radius_m == moho_m ? new_moho_m : std::min(layer.outer_radius_m, new_moho_m);
        } else if (layer.outer_radius_m <= top) {
            const auto moved = [&](double r) { return r == top ? top : top - (top - new_moho_m) / (top - moho_m) * (top - r); };
            earth_layer of_crust = mapped(layer, layers.back().outer_radius_m, moved(layer.outer_radius_m));
            for (auto* const speeds : {&of_crust.vp, &of_crust.vs, &of_crust.vph, &of_crust.vsh}) {
                for (double& coefficient : *speeds) coefficient *= factor;
            }
            layers.push_back(of_crust);
        } else {
            layers.push_back(layer);
        }
    }
    return earth_model::from_layers(fmt::format("{}, Moho at {:g} m, ln Vs {:+g}", earth.name(), new_moho_m, change),
                                    std::move(layers));
}

} // namespace craton::tomography
