#include <craton/apps/tomography/model_basis.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <numbers>
#include <utility>

namespace craton::tomography {

model_basis::model_basis(int level, std::vector<double> radial_knots_m, int parameters)
    : lateral_(level), radial_(std::move(radial_knots_m)), parameters_(parameters) {
    if (parameters != 1 && parameters != 2) {
        throw user_error(fmt::format("model basis: {} parameters; allowed: 1 (dlnVs) or 2 (dlnVs and dlnxi)", parameters));
    }
}

std::vector<double> model_basis::evaluate(std::span<const double> model, std::span<const double> latitude_deg,
                                          std::span<const double> longitude_deg, std::span<const double> radius_m,
                                          std::int64_t parameter) const {
    if (static_cast<std::int64_t>(model.size()) != size()) {
        throw user_error(fmt::format("model basis: the model has {} parameters; allowed: {}", model.size(), size()));
    }
    if (latitude_deg.size() != longitude_deg.size() || latitude_deg.size() != radius_m.size()) {
        throw user_error(
            fmt::format("model basis: {} latitudes, {} longitudes and {} radii do not make points; allowed: equally many",
                        latitude_deg.size(), longitude_deg.size(), radius_m.size()));
    }
    if (parameter < 0 || parameter >= parameters_) {
        throw user_error(
            fmt::format("model basis: parameter {} is not in the model; allowed: 0 to {}", parameter, parameters_ - 1));
    }
    constexpr double degree = std::numbers::pi / 180;
    const std::size_t columns = static_cast<std::size_t>(n_radial());
    std::vector<double> splines(columns);
    std::vector<double> out(radius_m.size(), 0.0);
    sparse_weights lateral;
    for (std::size_t p = 0; p < out.size(); ++p) {
        radial_.evaluate(radius_m[p], splines);
        lateral_.weights_at(position(latitude_deg[p] * degree, longitude_deg[p] * degree), lateral);
        for (std::size_t at = 0; at < lateral.knot.size(); ++at) {
            const double* const profile =
                model.data() + static_cast<std::size_t>(parameter * n_lateral() + lateral.knot[at]) * columns;
            double value = 0;
            for (std::size_t i = 0; i < columns; ++i) {
                value += profile[i] * splines[i];
            }
            out[p] += lateral.value[at] * value;
        }
    }
    return out;
}

} // namespace craton::tomography
