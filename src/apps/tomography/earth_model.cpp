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
        {0, 1221.5e3, {13.0885, 0, -8.8381, 0}, {11.2622, 0, -6.3640, 0}, {3.6678, 0, -4.4475, 0}, 84.6, 1327.7},
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

earth_layer anisotropic_upper_mantle(double inner_radius_m, double outer_radius_m, double q_mu) {
    earth_layer layer{inner_radius_m,         outer_radius_m,          {2.6910, 0.6924, 0, 0},
                      {0.8317, 7.2180, 0, 0}, {5.8582, -1.4678, 0, 0}, q_mu};
    layer.anisotropic = true;
    layer.vph = {3.5908, 4.6172, 0, 0};
    layer.vsh = {-1.0839, 5.7176, 0, 0};
    layer.eta = {3.3687, -2.4778, 0, 0};
    return layer;
}

void add_crust(std::vector<earth_layer>& layers) {
    layers.push_back({6346.6e3, 6356e3, {2.900, 0, 0, 0}, {6.800, 0, 0, 0}, {3.900, 0, 0, 0}, 600});
    layers.push_back({6356e3, 6368e3, {2.600, 0, 0, 0}, {5.800, 0, 0, 0}, {3.200, 0, 0, 0}, 600});
}

void add_ocean(std::vector<earth_layer>& layers) {
    layers.push_back({6368e3, earth_radius_m, {1.020, 0, 0, 0}, {1.450, 0, 0, 0}, {0, 0, 0, 0}, infinity});
}

std::vector<earth_layer> prem_isotropic_layers() {
    std::vector<earth_layer> layers = prem_below_220_km();
    layers.push_back(upper_mantle(6151e3, 6291e3, 80));
    layers.push_back(upper_mantle(6291e3, 6346.6e3, 600));
    add_crust(layers);
    return layers;
}

void check_layer(const std::string& name, const earth_layer& layer, double begin) {
    if (layer.inner_radius_m != begin || !(layer.outer_radius_m > begin)) {
        throw user_error(fmt::format("earth model {}: a layer from {} to {} m; allowed: one that starts at {} m and ends above",
                                     name, layer.inner_radius_m, layer.outer_radius_m, begin));
    }
    for (const double radius : {layer.inner_radius_m, layer.outer_radius_m}) {
        const material at = layer.evaluate(radius);
        if (!(at.density_kg_m3 > 0 && at.vp_m_s > 0 && at.vph_m_s > 0)) {
            throw user_error(fmt::format("earth model {}: density {} kg/m^3, vp {} m/s at {} m; allowed: positive values", name,
                                         at.density_kg_m3, at.vp_m_s, radius));
        }
    }
}

} // namespace

love_parameters material::love() const {
    love_parameters out;
    out.A = density_kg_m3 * vph_m_s * vph_m_s;
    out.C = density_kg_m3 * vp_m_s * vp_m_s;
    out.L = shear_modulus_Pa();
    out.N = density_kg_m3 * vsh_m_s * vsh_m_s;
    out.F = eta * (out.A - 2 * out.L);
    return out;
}

love_parameters material::loss() const {
    const love_parameters m = love();
    const double bulk = m.voigt_bulk_modulus() / q_kappa;
    const double shear = fluid() ? 0 : m.voigt_shear_modulus() / q_mu;
    return {bulk + 4 * shear / 3, bulk + 4 * shear / 3, bulk - 2 * shear / 3, m.L / q_mu, m.N / q_mu};
}

material earth_layer::evaluate(double radius_m) const {
    const double x = radius_m / earth_radius_m;
    const double vpv = 1e3 * polynomial(vp, x);
    const double vsv = 1e3 * polynomial(vs, x);
    material out{1e3 * polynomial(density, x), vpv, vsv, q_mu, vpv, vsv, 1, q_kappa};
    if (anisotropic) {
        out.vph_m_s = 1e3 * polynomial(vph, x);
        out.vsh_m_s = 1e3 * polynomial(vsh, x);
        out.eta = polynomial(eta, x);
    }
    return out;
}

double earth_layer::mass_below_kg(double radius_m) const {
    const auto integral = [this](double r) { // of rho r^2
        const double x = r / earth_radius_m;
        double sum = 0;
        for (std::size_t i = density.size(); i-- > 0;) {
            sum = sum * x + density[i] / static_cast<double>(i + 3);
        }
        return 1e3 * sum * r * r * r;
    };
    return 4 * std::numbers::pi * (integral(radius_m) - integral(inner_radius_m));
}

earth_model::earth_model(std::string name, std::vector<earth_layer> layers) : name_(std::move(name)), layers_(std::move(layers)) {
    double below = 0;
    for (const earth_layer& layer : layers_) {
        mass_kg_.push_back(below);
        below += layer.mass_below_kg(layer.outer_radius_m);
    }
}

earth_model earth_model::prem() {
    std::vector<earth_layer> layers = prem_below_220_km();
    layers.push_back(anisotropic_upper_mantle(6151e3, 6291e3, 80));
    layers.push_back(anisotropic_upper_mantle(6291e3, 6346.6e3, 600));
    add_crust(layers);
    add_ocean(layers);
    return {"prem", std::move(layers)};
}

earth_model earth_model::prem_isotropic() { return {"prem_isotropic", prem_isotropic_layers()}; }

earth_model earth_model::prem_isotropic_ocean() {
    std::vector<earth_layer> layers = prem_isotropic_layers();
    add_ocean(layers);
    return {"prem_isotropic_ocean", std::move(layers)};
}

earth_model earth_model::prem_iso_light() {
    std::vector<earth_layer> layers = prem_below_220_km();
    layers.push_back(upper_mantle(6151e3, 6291e3, 80));
    layers.push_back(upper_mantle(6291e3, earth_radius_m, 600));
    return {"prem_iso_light", std::move(layers)};
}

earth_model earth_model::by_name(std::string_view name) {
    for (const auto& make :
         {&earth_model::prem_isotropic, &earth_model::prem_iso_light, &earth_model::prem, &earth_model::prem_isotropic_ocean}) {
        earth_model model = make();
        if (model.name() == name) {
            return model;
        }
    }
    throw user_error(
        fmt::format("earth model: '{}' is unknown; allowed: prem_isotropic, prem_iso_light, prem, prem_isotropic_ocean", name));
}

earth_model earth_model::from_layers(std::string name, std::vector<earth_layer> layers) {
    double begin = 0;
    bool fluid_below = false;
    bool mantle = false;
    for (const earth_layer& layer : layers) {
        check_layer(name, layer, begin);
        begin = layer.outer_radius_m;
        mantle = mantle || (fluid_below && !layer.fluid());
        fluid_below = fluid_below || layer.fluid();
    }
    if (!mantle) {
        throw user_error(
            fmt::format("earth model {}: {} layers, none of them solid above a fluid; allowed: a mantle above a fluid core", name,
                        layers.size()));
    }
    return {std::move(name), std::move(layers)};
}

earth_model earth_model::from_table(std::string name, std::span<const earth_row> rows) {
    std::vector<earth_layer> layers;
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
        const earth_row& below = rows[i];
        const earth_row& above = rows[i + 1];
        if (!(above.radius_m >= below.radius_m)) {
            throw user_error(
                fmt::format("earth model {}: row {} is at a radius of {} m, below the row before it, {} m; allowed: rows "
                            "from the centre up",
                            name, i + 2, above.radius_m, below.radius_m));
        }
        if (above.radius_m == below.radius_m) continue;
        // a + b x, in km/s and g/cm^3, through the values at both ends
        const double x = below.radius_m / earth_radius_m;
        const double width = above.radius_m / earth_radius_m - x;
        const auto line = [&](double at_below, double at_above) {
            const double slope = (at_above - at_below) / width;
            return std::array<double, 4>{1e-3 * (at_below - slope * x), 1e-3 * slope, 0, 0};
        };
        const auto quality = [](double one, double other) { return one > 0 && other > 0 ? 2 / (1 / one + 1 / other) : infinity; };
        earth_layer layer{below.radius_m,
                          above.radius_m,
                          line(below.density_kg_m3, above.density_kg_m3),
                          line(below.vpv_m_s, above.vpv_m_s),
                          line(below.vsv_m_s, above.vsv_m_s),
                          quality(below.q_mu, above.q_mu),
                          quality(below.q_kappa, above.q_kappa)};
        const auto isotropic = [](const earth_row& row) {
            return row.vph_m_s == row.vpv_m_s && row.vsh_m_s == row.vsv_m_s && row.eta == 1;
        };
        layer.anisotropic = !(isotropic(below) && isotropic(above));
        layer.vph = line(below.vph_m_s, above.vph_m_s);
        layer.vsh = line(below.vsh_m_s, above.vsh_m_s);
        layer.eta = line(1e3 * below.eta, 1e3 * above.eta);
        layers.push_back(layer);
    }
    return from_layers(std::move(name), std::move(layers));
}

double earth_model::cmb_radius_m() const {
    double radius = 0;
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
        if (layers_[i].fluid() && !layers_[i + 1].fluid()) {
            radius = layers_[i].outer_radius_m;
        }
    }
    return radius;
}

double earth_model::solid_surface_radius_m() const {
    std::size_t top = layers_.size() - 1;
    while (top > 0 && layers_[top].fluid()) {
        --top;
    }
    return layers_[top].outer_radius_m;
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

double earth_model::gravity_m_s2(double radius_m) const {
    if (radius_m == 0) {
        return 0;
    }
    std::size_t i = 0;
    while (i + 1 < layers_.size() && radius_m >= layers_[i].outer_radius_m) {
        ++i;
    }
    return gravitational_constant * (mass_kg_[i] + layers_[i].mass_below_kg(radius_m)) / (radius_m * radius_m);
}

double dispersed_shear_modulus_Pa(const material& at, double omega_rad_s) {
    return at.shear_modulus_Pa() * (1 + 2 / (std::numbers::pi * at.q_mu) * std::log(omega_rad_s / (2 * std::numbers::pi)));
}

love_parameters dispersed_love_parameters(const material& at, double omega_rad_s) {
    const love_parameters m = at.love();
    const love_parameters loss = at.loss();
    const double step = 2 / std::numbers::pi * std::log(omega_rad_s / (2 * std::numbers::pi));
    return {m.A + step * loss.A, m.C + step * loss.C, m.F + step * loss.F, m.L + step * loss.L, m.N + step * loss.N};
}

} // namespace craton::tomography
