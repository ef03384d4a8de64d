#include <craton/apps/tomography/radial_mesh.hpp>

#include <craton/apps/tomography/kernels/quadrature.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace craton::tomography {

namespace {

/// Appends a layer's nodes, of elements no longer than element_m, without its lowest.
void append_layer(const earth_layer& layer, std::span<const double> points, double element_m, std::vector<double>& nodes) {
    const double thickness = layer.outer_radius_m - layer.inner_radius_m;
    const int count = static_cast<int>(std::ceil(thickness / element_m));
    for (int e = 0; e < count; ++e) {
        const double bottom = layer.inner_radius_m + thickness * e / count;
        const double height = thickness / count;
        for (std::size_t p = 1; p + 1 < points.size(); ++p) {
            nodes.push_back(bottom + 0.5 * height * (1 + points[p]));
        }
        nodes.push_back(e + 1 == count ? layer.outer_radius_m : bottom + height);
    }
}

double slowest_m_s(const earth_layer& layer) {
    double slowest = std::numeric_limits<double>::infinity();
    for (const double radius : {layer.inner_radius_m, layer.outer_radius_m}) {
        const material at = layer.evaluate(radius);
        slowest = std::min(slowest, at.fluid() ? at.vp_m_s : std::min(at.vs_m_s, at.vsh_m_s));
    }
    return slowest;
}

} // namespace

radial_mesh radial_mesh::build(const earth_model& earth, int order, double element_m) {
    std::vector<double> points(static_cast<std::size_t>(order) + 1);
    gauss_lobatto(points);
    std::vector<double> nodes{earth.cmb_radius_m()};
    for (const earth_layer& layer : earth.layers()) {
        if (layer.inner_radius_m >= earth.cmb_radius_m() && layer.outer_radius_m <= earth.solid_surface_radius_m()) {
            append_layer(layer, points, element_m, nodes);
        }
    }
    return {std::move(nodes), order};
}

radial_mesh radial_mesh::whole_earth(const earth_model& earth, int order, double period_s, double elements_per_wavelength) {
    std::vector<double> points(static_cast<std::size_t>(order) + 1);
    gauss_lobatto(points);
    std::vector<double> nodes{0.0};
    const auto layers = earth.layers();
    for (std::size_t i = 0; i < layers.size(); ++i) {
        double speed = slowest_m_s(layers[i]);
        if (layers[i].fluid()) {
            // Interface waves decay into the fluid within their wavelength along the boundary, which the solid's shear waves set.
            speed = std::min(speed, i > 0 ? slowest_m_s(layers[i - 1]) : speed);
            speed = std::min(speed, i + 1 < layers.size() ? slowest_m_s(layers[i + 1]) : speed);
        }
        append_layer(layers[i], points, speed * period_s / elements_per_wavelength, nodes);
    }
    return {std::move(nodes), order};
}

radial_mesh::radial_mesh(std::vector<double> nodes_m, int order) : nodes_m_(std::move(nodes_m)), order_(order) {
    const bool whole = order_ >= 1 && nodes_m_.size() > 1 && (nodes_m_.size() - 1) % static_cast<std::size_t>(order_) == 0;
    if (!whole ||
        std::adjacent_find(nodes_m_.begin(), nodes_m_.end(), [](double a, double b) { return !(a < b); }) != nodes_m_.end()) {
        throw user_error(
            fmt::format("radial mesh: {} nodes are not increasing radii of whole elements of order {}", nodes_m_.size(), order_));
    }
}

std::span<const double> radial_mesh::element_nodes_m(std::int64_t element) const {
    const std::size_t order = static_cast<std::size_t>(order_);
    return std::span(nodes_m_).subspan(static_cast<std::size_t>(element) * order, order + 1);
}

std::int64_t radial_mesh::find(double radius_m) const {
    const std::int64_t above = std::upper_bound(nodes_m_.begin(), nodes_m_.end(), radius_m) - nodes_m_.begin();
    return std::clamp<std::int64_t>((above - 1) / order_, 0, elements() - 1);
}

} // namespace craton::tomography
