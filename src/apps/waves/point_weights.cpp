#include <craton/apps/waves/point_weights.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace craton::waves {

namespace {

constexpr double same_place = 1e-6;   // in units of h
constexpr double above_ground = 1e-3; // which rounding may be

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
    return surface != nullptr && surface->traction_free && k == 0 && where[2] && (where[0] || where[1]);
}

double plane_norm(const staggering& where, std::int64_t k, const surface_closure* surface, const grid_extent& grid) {
    const auto norm = [&](const surface_closure& of, std::int64_t plane) {
        return (where[2] ? of.face_norm : of.centre_norm)[static_cast<std::size_t>(plane)];
    };
    if (surface != nullptr && k < surface_closure::planes) return norm(*surface, k);
    const std::int64_t from_below = grid.cells[2] - k - (where[2] ? 0 : 1);
    return grid.bottom != nullptr && from_below < surface_closure::planes ? norm(*grid.bottom, from_below) : 1;
}

constexpr std::size_t most_columns = std::size_t{interpolation_order::most} * interpolation_order::most;

// Columns that take part, and along z the weights of each: [a + b * across[0].count].
struct column_weights {
    std::array<axis_weights, 2> across;
    std::array<axis_weights, most_columns> along;

    template <class Of> bool fill(const Of& of) {
        for (int b = 0; b < across[1].count; ++b) {
            for (int a = 0; a < across[0].count; ++a) {
                auto& one = along[static_cast<std::size_t>(a + b * across[0].count)];
                one = of(across[0].first + a, across[1].first + b);
                if (one.count == 0) return false;
            }
        }
        return true;
    }
};

axis_weights one_plane(std::int64_t k) { return {k, 1, {1.0}}; }

// The nearest point that is not dead, of a few columns.
column_weights nearest_live(const staggering& where, const std::array<double, 3>& cell, const grid_extent& grid) {
    constexpr std::int64_t reach = 2;
    std::array<std::int64_t, 3> near{}, found{};
    for (std::size_t d = 0; d < 3; ++d)
        near[d] = std::clamp<std::int64_t>(std::llround(cell[d] - (where[d] ? 0.0 : 0.5)), 0, grid.cells[d] - 1);
    double least = INFINITY;
    for (std::int64_t j = std::max<std::int64_t>(0, near[1] - reach); j <= std::min(near[1] + reach, grid.cells[1] - 1); ++j) {
        for (std::int64_t i = std::max<std::int64_t>(0, near[0] - reach); i <= std::min(near[0] + reach, grid.cells[0] - 1); ++i) {
            const std::int64_t k =
                std::clamp(near[2], std::min(grid.land->first_live(where, i, j), grid.cells[2] - 1), grid.cells[2] - 1);
            const std::array<std::int64_t, 3> at{i, j, k};
            double distance = 0;
            for (std::size_t d = 0; d < 3; ++d)
                distance += std::pow(static_cast<double>(at[d]) + (where[d] ? 0.0 : 0.5) - cell[d], 2);
            if (distance < least) {
                least = distance;
                found = at;
            }
        }
    }
    return {{one_plane(found[0]), one_plane(found[1])}, {one_plane(found[2])}};
}

column_weights columns_under_topography(const staggering& where, const std::array<double, 3>& cell, const grid_extent& grid,
                                        const interpolation_order& order) {
    const topography& land = *grid.land;
    const auto whole = interpolate(cell[2], where[2], grid.cells[2], order);
    for (const int count : {order.between, 4, 2}) {
        if (count > order.between) continue;
        const interpolation_order across{count, std::min(count, order.beyond)};
        column_weights made;
        for (std::size_t d = 0; d < 2; ++d) made.across[d] = interpolate(cell[d], where[d], grid.cells[d], across);
        if (made.fill([&](std::int64_t i, std::int64_t j) {
                return whole.first >= land.first_live(where, i, j) ? whole : axis_weights{};
            }))
            return made;
        double surface = 0; // below the columns, by their own polynomial
        for (int b = 0; b < made.across[1].count; ++b) {
            for (int a = 0; a < made.across[0].count; ++a)
                surface += made.across[0].weight[static_cast<std::size_t>(a)] * made.across[1].weight[static_cast<std::size_t>(b)] *
                           land.surface_of(where, made.across[0].first + a, made.across[1].first + b);
        }
        if (made.fill([&](std::int64_t i, std::int64_t j) {
                const std::int64_t first = land.first_live(where, i, j);
                const double at = cell[2] + land.surface_of(where, i, j) - surface - static_cast<double>(first);
                const double plane = where[2] ? at : at - 0.5;
                const std::int64_t planes = grid.cells[2] - first;
                if (planes < 1 || plane < -1 - same_place || plane > static_cast<double>(planes - 1) + 0.5) return axis_weights{};
                auto along = interpolate(at, where[2], planes, order);
                along.first += first;
                return along;
            }))
            return made;
    }
    return nearest_live(where, cell, grid);
}

// The products, cut to the brick; scale(k) on top.
template <class Scale>
std::vector<weighted_cell> product(const staggering& where, const position_m& point, const grid_extent& grid,
                                   const brick_place& brick, const surface_closure* surface, const interpolation_order& order,
                                   Scale scale) {
    const auto own = [&](std::size_t d, std::int64_t n) { return brick.cells.low[d] <= n && n < brick.cells.high[d]; };
    if (grid.land != nullptr) {
        const auto columns =
            columns_under_topography(where, {point[0] / grid.h_m, point[1] / grid.h_m, point[2] / grid.h_m}, grid, order);
        const auto& [across, along] = columns;
        std::vector<weighted_cell> made;
        for (int b = 0; b < across[1].count; ++b) {
            for (int a = 0; a < across[0].count; ++a) {
                const std::int64_t i = across[0].first + a, j = across[1].first + b;
                if (!own(0, i) || !own(1, j)) continue;
                const auto& z = along[static_cast<std::size_t>(a + b * across[0].count)];
                for (int c = 0; c < z.count; ++c) {
                    const std::int64_t k = z.first + c;
                    if (!own(2, k)) continue;
                    const double weight = across[0].weight[static_cast<std::size_t>(a)] *
                                          across[1].weight[static_cast<std::size_t>(b)] * z.weight[static_cast<std::size_t>(c)];
                    made.push_back({brick.shape.at(i - brick.cells.low[0], j - brick.cells.low[1], k - brick.cells.low[2]),
                                    weight * scale(k)});
                }
            }
        }
        std::ranges::sort(made, {}, &weighted_cell::offset);
        return made;
    }
    std::array<axis_weights, 3> axes;
    for (std::size_t d = 0; d < 3; ++d) axes[d] = interpolate(point[d] / grid.h_m, where[d], grid.cells[d], order);
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
    if (grid.land != nullptr) {
        const double surface = grid.h_m * grid.land->surface_at(point[0] / grid.h_m, point[1] / grid.h_m);
        if (point[2] < surface - above_ground * grid.h_m) {
            return "z = " + in_words(point[2]) + " m is in the air at x = " + in_words(point[0]) + " m, y = " + in_words(point[1]) +
                   " m; allowed: " + in_words(surface) + " m (the ground's surface) or more";
        }
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
                   [&](std::int64_t k) { return 1 / (volume * plane_norm(where, k, surface, grid)); });
}

} // namespace craton::waves
