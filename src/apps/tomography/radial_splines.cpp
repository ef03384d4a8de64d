#include <craton/apps/tomography/radial_splines.hpp>

#include <craton/apps/tomography/kernels/splines.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace craton::tomography {

radial_splines::radial_splines(std::vector<double> knots_m) : knots_m_(std::move(knots_m)) {
    if (knots_m_.size() < 4) {
        throw user_error(fmt::format("model basis: {} radial knots are too few; allowed: 4 or more", knots_m_.size()));
    }
    for (std::size_t i = 0; i < knots_m_.size(); ++i) {
        const bool increasing = i == 0 ? knots_m_[i] > 0 : knots_m_[i] > knots_m_[i - 1];
        if (!increasing || !std::isfinite(knots_m_[i])) {
            throw user_error(fmt::format(
                "model basis: radial knot {} is {} m; allowed: positive, finite and above the knot before it", i, knots_m_[i]));
        }
    }
    clamped_m_.assign(4, knots_m_.front());
    clamped_m_.insert(clamped_m_.end(), knots_m_.begin() + 2, knots_m_.end() - 2);
    clamped_m_.insert(clamped_m_.end(), 4, knots_m_.back());
}

std::vector<double> radial_splines::breaks_m() const { return {clamped_m_.begin() + 3, clamped_m_.end() - 3}; }

void radial_splines::evaluate(double radius_m, std::span<double> values) const {
    std::fill(values.begin(), values.end(), 0.0);
    if (radius_m < knots_m_.front() || radius_m > knots_m_.back()) {
        return;
    }
    std::array<double, 4> four{};
    const std::int64_t first = cubic_b_splines(clamped_m_, radius_m, four);
    std::copy(four.begin(), four.end(), values.begin() + first);
}

} // namespace craton::tomography
