#include <craton/apps/waves/point_weights.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace craton::waves {

namespace {

constexpr double same_place = 1e-6; // in units of h

// Lagrange (1795): weight n is the polynomial that is 1 at node n and 0 at the others.
axis_weights lagrange(double at, std::int64_t first, int count) {
    axis_weights made{first, count, {}};
    for (int n = 0; n < count; ++n) {
        double product = 1;
        for (int m = 0; m < count; ++m) {
            if (m != n) product *= (at - static_cast<double>(m)) / static_cast<double>(n - m);
        }
        made.weight[static_cast<std::size_t>(n)] = product;
    }
    return made;
}

// Planes that take no part: traction on a free surface is 0 there.
bool is_surface_traction(const staggering& where, std::int64_t k, const surface_closure* surface) {
    return surface != nullptr && k == 0 && where[2] && (where[0] || where[1]);
}

double plane_norm(const staggering& where, std::int64_t k, const surface_closure* surface) {
    if (surface == nullptr || k >= surface_closure::planes) return 1;
    return (where[2] ? surface->face_norm : surface->centre_norm)[static_cast<std::size_t>(k)];
}

// The tensor product, cut to the brick; scale(k) on top.
template <class Scale>
std::vector<weighted_cell> product(const staggering& where, const position_m& point, const grid_extent& grid,
                                   const brick_place& brick, const surface_closure* surface, const interpolation_order& order,
                                   Scale scale) {
    std::array<axis_weights, 3> axes;
    for (std::size_t d = 0; d < 3; ++d) axes[d] = interpolate(point[d] / grid.h_m, where[d], grid.cells[d], order);
    const auto own = [&](std::size_t d, std::int64_t n) { return brick.cells.low[d] <= n && n < brick.cells.high[d]; };
    std::vector<weighted_cell> made;
    for (int c = 0; c < axes[2].count; ++c) {
        const std::int64_t k = axes[2].first + c;
        if (!own(2, k) || is_surface_traction(where, k, surface)) continue;
        for (int b = 0; b < axes[1].count; ++b) {
            const std::int64_t j = axes[1].first + b;
            if (!own(1, j)) continue;
            for (int a = 0; a < axes[0].count; ++a) {
                const std::int64_t i = axes[0].first + a;
                if (!own(0, i)) continue;
                const double weight = axes[0].weight[static_cast<std::size_t>(a)] * axes[1].weight[static_cast<std::size_t>(b)] *
                                      axes[2].weight[static_cast<std::size_t>(c)] * scale(k);
                made.push_back({brick.shape.at(i - brick.cells.low[0], j - brick.cells.low[1], k - brick.cells.low[2]), weight});
            }
        }
    }
    return made; // k, j, i ascend, and so do offsets
}

std::string in_words(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.10g", value);
    return text.data();
}

} // namespace

const char* name_of(field which) {
    static constexpr std::array names{"vx", "vy", "vz", "xx", "yy", "zz", "xy", "xz", "yz"};
    return names[static_cast<std::size_t>(which)];
}

axis_weights interpolate(double coordinate, bool on_face, std::int64_t planes, const interpolation_order& order) {
    CRATON_ASSERT(planes > 0 && order.between > 0 && order.between <= interpolation_order::most && order.beyond > 0 &&
                  order.beyond <= interpolation_order::most);
    const double at = on_face ? coordinate : coordinate - 0.5; // in planes
    const double nearest = std::round(at);
    if (std::abs(at - nearest) <= same_place && nearest >= 0 && nearest < static_cast<double>(planes)) {
        return {static_cast<std::int64_t>(nearest), 1, {1.0}};
    }
    const bool outside = at < 0 || at > static_cast<double>(planes - 1);
    const auto count = static_cast<int>(std::min<std::int64_t>(outside ? order.beyond : order.between, planes));
    // As many planes on one side as on the other, or one more on the nearer side, moved inwards as far as the grid's end asks for.
    const auto middle = static_cast<std::int64_t>(std::floor(at - 0.5 * (count - 2)));
    const std::int64_t first = std::clamp<std::int64_t>(middle, 0, planes - count);
    return lagrange(at - static_cast<double>(first), first, count);
}

std::string why_not_inside(const position_m& point, const grid_extent& grid) {
    static constexpr std::array axis{"x", "y", "z"};
    for (std::size_t d = 0; d < 3; ++d) {
        const double end = static_cast<double>(grid.cells[d]) * grid.h_m;
        const double slack = same_place * grid.h_m;
        if (point[d] >= -slack && point[d] <= end + slack) continue; // false for a NaN
        return std::string(axis[d]) + " = " + in_words(point[d]) + " m is not in the grid; allowed: 0 to " + in_words(end) + " m";
    }
    return {};
}

std::vector<weighted_cell> reading_weights(const staggering& where, const position_m& point, const grid_extent& grid,
                                           const brick_place& brick, const surface_closure* surface,
                                           const interpolation_order& order) {
    return product(where, point, grid, brick, surface, order, [](std::int64_t) { return 1.0; });
}

std::vector<weighted_cell> injection_weights(const staggering& where, const position_m& point, const grid_extent& grid,
                                             const brick_place& brick, const surface_closure* surface,
                                             const interpolation_order& order) {
    const double volume = grid.h_m * grid.h_m * grid.h_m;
    return product(where, point, grid, brick, surface, order,
                   [&](std::int64_t k) { return 1 / (volume * plane_norm(where, k, surface)); });
}

} // namespace craton::waves
