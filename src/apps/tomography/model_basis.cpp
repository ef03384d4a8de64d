#include <craton/apps/tomography/model_basis.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <utility>

namespace craton::tomography {

namespace {

std::size_t checked(int parameters) {
    if (parameters != 1 && parameters != 2) {
        throw user_error(fmt::format("model basis: {} parameters; allowed: 1 (dlnVs) or 2 (dlnVs and dlnxi)", parameters));
    }
    return static_cast<std::size_t>(parameters);
}

} // namespace

model_basis::model_basis(int level, std::vector<double> radial_knots_m, int parameters)
    : model_basis(std::vector<shared_splines>(
          checked(parameters),
          std::make_shared<const splines>(splines{lateral_splines(level), radial_splines(std::move(radial_knots_m))}))) {}

model_basis::model_basis(const model_basis& vs, const model_basis& xi)
    : model_basis(std::vector<shared_splines>{vs.splines_.front(), xi.splines_.front()}) {
    const auto ours = radial(0).knots_m();
    const auto theirs = radial(1).knots_m();
    if (ours.front() != theirs.front() || ours.back() != theirs.back()) {
        throw user_error(fmt::format("model basis: radial knots of dlnVs from {} to {} m, of dlnxi from {} to {} m; allowed: the "
                                     "same ends",
                                     ours.front(), ours.back(), theirs.front(), theirs.back()));
    }
}

model_basis::model_basis(std::vector<shared_splines> of_parameters) : splines_(std::move(of_parameters)) {
    shape_.parameters = static_cast<std::int64_t>(splines_.size());
    std::int64_t first = 0;
    for (std::size_t p = 0; p < splines_.size(); ++p) {
        shape_.of[p] = {splines_[p]->lateral.size(), splines_[p]->radial.size(), first};
        first += shape_.of[p].n_lateral * shape_.of[p].n_radial;
    }
}

model_basis model_basis::part(std::int64_t parameter) const {
    if (parameter < 0 || parameter >= parameters()) {
        throw user_error(
            fmt::format("model basis: parameter {} is not in the model; allowed: 0 to {}", parameter, parameters() - 1));
    }
    return model_basis(std::vector<shared_splines>{splines_[static_cast<std::size_t>(parameter)]});
}

double model_basis::spacing_rad() const {
    double least = lateral().spacing_rad();
    for (std::int64_t p = 1; p < parameters(); ++p) least = std::min(least, lateral(p).spacing_rad());
    return least;
}

std::int64_t model_basis::size() const {
    const basis_shape::part& last = shape_.of[splines_.size() - 1];
    return last.first + last.n_lateral * last.n_radial;
}

std::int64_t model_basis::columns() const {
    std::int64_t sum = 0;
    for (std::int64_t p = 0; p < parameters(); ++p) sum += n_radial(p);
    return sum;
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
    if (parameter < 0 || parameter >= parameters()) {
        throw user_error(
            fmt::format("model basis: parameter {} is not in the model; allowed: 0 to {}", parameter, parameters() - 1));
    }
    constexpr double degree = std::numbers::pi / 180;
    const std::size_t columns = static_cast<std::size_t>(n_radial(parameter));
    const double* const coefficients = model.data() + shape_.of[static_cast<std::size_t>(parameter)].first;
    std::vector<double> values(columns);
    std::vector<double> out(radius_m.size(), 0.0);
    sparse_weights weights;
    for (std::size_t p = 0; p < out.size(); ++p) {
        radial(parameter).evaluate(radius_m[p], values);
        lateral(parameter).weights_at(position(latitude_deg[p] * degree, longitude_deg[p] * degree), weights);
        for (std::size_t at = 0; at < weights.knot.size(); ++at) {
            const double* const profile = coefficients + static_cast<std::size_t>(weights.knot[at]) * columns;
            double value = 0;
            for (std::size_t i = 0; i < columns; ++i) {
                value += profile[i] * values[i];
            }
            out[p] += weights.value[at] * value;
        }
    }
    return out;
}

} // namespace craton::tomography
