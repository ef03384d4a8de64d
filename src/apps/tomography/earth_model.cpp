#include <craton/apps/tomography/earth_model.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace craton::tomography {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double polynomial(const std::array<double, 4>& c, double x) { return ((c[3] * x + c[2]) * x + c[1]) * x + c[0]; }

/// Table I of Dziewonski & Anderson (1981) up to 220 km depth.
std::vector<earth_layer> prem_below_220_km() {
    const std::array<double, 4> lower_mantle_density{7.9565, -6.4761, 5.5283, -3.0807};
    return {
        {0, 1221.5e3, {13.0885, 0, -8.8381, 0}, {11.2622, 0, -6.3640, 0}, {3.6678, 0, -4.4475, 0}, 84.6},
        {1221.5e3, 3480e3, {12.5815, -1.2638, -3.6426, -5.5281}, {11.0487, -4.0362, 4.8023, -13.5732}, {0, 0, 0, 0}, infinity},
        {3480e3, 3630e3, lower_mantle_density, {15.3891, -5.3181, 5.5242, -2.5514}, {6.9254, 1.4672, -2.0834, 0.9783}, 312},
        {3630e3, 5600e3, lower_mantle_density, {24.9520, -40.4673, 51.4832, -26.6419}, {11.1671, -13.7818, 17.4575, -9.2777}, 312},
        {5600e3, 5701e3, lower_mantle_density, {29.2766, -23.6027, 5.5242, -2.5514}, {22.3459, -17.2473, -2.0834, 0.9783}, 312},
        {5701e3, 5771e3, {5.3197, -1.4836, 0, 0}, {19.0957, -9.8672, 0, 0}, {9.9839, -4.9324, 0, 0}, 143},
        {5771e3, 5971e3, {11.2494, -8.0298, 0, 0}, {39.7027, -32.6166, 0, 0}, {22.3512, -18.5856, 0, 0}, 143},
        {5971e3, 6151e3, {7.1089, -3.8045, 0, 0}, {20.3926, -12.2569, 0, 0}, {8.9496, -4.4597, 0, 0}, 143},
    };
}

/// Low-velocity zone and lid share their isotropic polynomials; only Q changes between them, at 80 km depth.
earth_layer upper_mantle(double inner_radius_m, double outer_radius_m, double q_mu) {
    return {inner_radius_m, outer_radius_m, {2.6910, 0.6924, 0, 0}, {4.1875, 3.9382, 0, 0}, {2.1519, 2.3481, 0, 0}, q_mu};
}

} // namespace

material earth_layer::evaluate(double radius_m) const {
    const double x = radius_m / earth_radius_m;
    return {1e3 * polynomial(density, x), 1e3 * polynomial(vp, x), 1e3 * polynomial(vs, x), q_mu};
}

earth_model::earth_model(std::string name, std::vector<earth_layer> layers) : name_(std::move(name)), layers_(std::move(layers)) {}

earth_model earth_model::prem_isotropic() {
    std::vector<earth_layer> layers = prem_below_220_km();
    layers.push_back(upper_mantle(6151e3, 6291e3, 80));
    layers.push_back(upper_mantle(6291e3, 6346.6e3, 600));
    layers.push_back({6346.6e3, 6356e3, {2.900, 0, 0, 0}, {6.800, 0, 0, 0}, {3.900, 0, 0, 0}, 600});
    layers.push_back({6356e3, 6368e3, {2.600, 0, 0, 0}, {5.800, 0, 0, 0}, {3.200, 0, 0, 0}, 600});
    return {"prem_isotropic", std::move(layers)};
}

earth_model earth_model::prem_iso_light() {
    std::vector<earth_layer> layers = prem_below_220_km();
    layers.push_back(upper_mantle(6151e3, 6291e3, 80));
    layers.push_back(upper_mantle(6291e3, earth_radius_m, 600));
    return {"prem_iso_light", std::move(layers)};
}

earth_model earth_model::by_name(std::string_view name) {
    if (name == "prem_isotropic") {
        return prem_isotropic();
    }
    if (name == "prem_iso_light") {
        return prem_iso_light();
    }
    throw user_error(fmt::format("earth model: '{}' is unknown; allowed: prem_isotropic, prem_iso_light", name));
}

double earth_model::cmb_radius_m() const {
    double radius = 0;
    for (const earth_layer& layer : layers_) {
        if (layer.evaluate(layer.outer_radius_m).vs_m_s == 0) {
            radius = layer.outer_radius_m;
        }
    }
    return radius;
}

std::vector<double> earth_model::discontinuities_m() const {
    std::vector<double> boundaries;
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
        boundaries.push_back(layers_[i].outer_radius_m);
    }
    return boundaries;
}

material earth_model::evaluate(double radius_m, bool below) const {
    if (!(radius_m >= 0 && radius_m <= surface_radius_m())) {
        throw user_error(
            fmt::format("earth model {}: radius {} m is outside; allowed: 0 to {} m", name_, radius_m, surface_radius_m()));
    }
    for (const earth_layer& layer : layers_) {
        if (radius_m < layer.outer_radius_m || (below && radius_m == layer.outer_radius_m)) {
            return layer.evaluate(radius_m);
        }
    }
    return layers_.back().evaluate(radius_m);
}

double dispersed_shear_modulus_Pa(const material& at, double omega_rad_s) {
    return at.shear_modulus_Pa() * (1 + 2 / (std::numbers::pi * at.q_mu) * std::log(omega_rad_s / (2 * std::numbers::pi)));
}

} // namespace craton::tomography
