#include "workload.hpp"

#include <craton/base/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <random>
#include <string>

namespace craton::bench {

namespace {

using direction = std::array<double, 3>;

double dot(const direction& a, const direction& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

direction unit(direction a) {
    const double length = std::sqrt(dot(a, a));
    return {a[0] / length, a[1] / length, a[2] / length};
}

direction cross(const direction& a, const direction& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

direction random_direction(std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    return unit({normal(random), normal(random), normal(random)});
}

struct lateral_grid {
    std::int64_t north, east;

    explicit lateral_grid(std::int64_t cells)
        : north(static_cast<std::int64_t>(std::sqrt(static_cast<double>(cells)))), east(cells / north) {}

    [[nodiscard]] std::int64_t cell(const direction& at) const {
        const double latitude = std::asin(std::clamp(at[2], -1.0, 1.0)) / std::numbers::pi + 0.5;
        const double longitude = std::atan2(at[1], at[0]) / (2.0 * std::numbers::pi) + 0.5;
        const auto i = std::min(north - 1, static_cast<std::int64_t>(latitude * static_cast<double>(north)));
        const auto j = std::min(east - 1, static_cast<std::int64_t>(longitude * static_cast<double>(east)));
        return i * east + j;
    }
    [[nodiscard]] direction centre(std::int64_t cell) const {
        const double latitude = std::numbers::pi * ((static_cast<double>(cell / east) + 0.5) / static_cast<double>(north) - 0.5);
        const double longitude =
            std::numbers::pi * (2.0 * (static_cast<double>(cell % east) + 0.5) / static_cast<double>(east) - 1.0);
        return {std::cos(latitude) * std::cos(longitude), std::cos(latitude) * std::sin(longitude), std::sin(latitude)};
    }
};

// Cells in the order in which a great circle from a random place in a random direction meets them, then the nearest others.
std::vector<std::int64_t> crossed_cells(const lateral_grid& grid, std::int64_t wanted, std::mt19937_64& random) {
    const direction start = random_direction(random);
    const direction pole = unit(cross(start, random_direction(random)));
    const direction ahead = cross(pole, start);
    std::vector<bool> met(static_cast<std::size_t>(grid.north * grid.east), false);
    std::vector<std::int64_t> cells;
    const std::int64_t steps = 64 * (grid.north + grid.east);
    for (std::int64_t s = 0; s < steps && std::ssize(cells) < wanted; ++s) {
        const double angle = 2.0 * std::numbers::pi * static_cast<double>(s) / static_cast<double>(steps);
        const double c = std::cos(angle), d = std::sin(angle);
        const std::int64_t cell =
            grid.cell({c * start[0] + d * ahead[0], c * start[1] + d * ahead[1], c * start[2] + d * ahead[2]});
        if (met[static_cast<std::size_t>(cell)]) continue;
        met[static_cast<std::size_t>(cell)] = true;
        cells.push_back(cell);
    }
    std::vector<std::pair<double, std::int64_t>> others;
    for (std::int64_t cell = 0; std::ssize(cells) < wanted && cell < std::ssize(met); ++cell) {
        if (!met[static_cast<std::size_t>(cell)]) others.emplace_back(std::abs(dot(pole, grid.centre(cell))), cell);
    }
    std::ranges::sort(others);
    for (std::size_t o = 0; std::ssize(cells) < wanted; ++o) cells.push_back(others[o].second);
    return cells;
}

void check(const workload_shape& shape) {
    const auto refuse = [&](const char* name, std::int64_t value, const std::string& allowed) {
        throw user_error("workload: " + std::string(name) + " is " + std::to_string(value) + "; allowed: " + allowed);
    };
    const std::string multiple = "a positive multiple of " + std::to_string(radial_layers);
    if (shape.matrix_side < 4 * radial_layers || shape.matrix_side % radial_layers != 0) {
        refuse("N", shape.matrix_side, multiple + ", at least " + std::to_string(4 * radial_layers));
    }
    if (shape.update_side < radial_layers || shape.update_side % radial_layers != 0 || shape.update_side > shape.matrix_side / 2) {
        refuse("n", shape.update_side, multiple + ", at most N / 2 = " + std::to_string(shape.matrix_side / 2));
    }
    if (shape.updates < 1) refuse("updates", shape.updates, "at least 1");
    if (shape.passes < 1) refuse("passes", shape.passes, "at least 1");
}

} // namespace

symmetric_update make_update(const workload_shape& shape, std::int64_t number) {
    check(shape);
    std::mt19937_64 random(2015U + static_cast<std::uint64_t>(number));
    const std::int64_t cells = shape.matrix_side / radial_layers;
    symmetric_update update;
    update.indices.reserve(static_cast<std::size_t>(shape.update_side));
    for (const std::int64_t cell : crossed_cells(lateral_grid(cells), shape.update_side / radial_layers, random)) {
        for (std::int64_t layer = 0; layer < radial_layers; ++layer) {
            update.indices.push_back(shape.order == unknown_order::lateral_fastest ? layer * cells + cell
                                                                                   : cell * radial_layers + layer);
        }
    }
    std::ranges::sort(update.indices);
    const std::int64_t n = shape.update_side;
    update.block.resize(static_cast<std::size_t>(n * n));
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < n; ++i) { // symmetric in i and j
            update.block[static_cast<std::size_t>(i + j * n)] = static_cast<float>((5 * (i + j) + i * j % 7 + number) % 9 - 4);
        }
    }
    return update;
}

update_list update_pool::share(std::int64_t first, std::int64_t step) {
    update_list updates;
    for (std::int64_t number = first; number < shape_.updates; number += step) {
        auto found = made_.find(number);
        if (found == made_.end()) found = made_.emplace(number, make_update(shape_, number)).first;
        updates.push_back(&found->second);
    }
    const auto once = std::ssize(updates);
    updates.reserve(static_cast<std::size_t>(shape_.passes * once));
    for (std::int64_t more = once; more < shape_.passes * once; ++more)
        updates.push_back(updates[static_cast<std::size_t>(more - once)]);
    return updates;
}

double mean_run(const update_list& updates) {
    std::int64_t indices = 0, runs = 0;
    for (const auto* update : updates) {
        const auto& ix = update->indices;
        indices += std::ssize(ix);
        for (std::size_t a = 0; a < ix.size(); ++a) {
            if (a == 0 || ix[a] != ix[a - 1] + 1) ++runs;
        }
    }
    return runs == 0 ? 0.0 : static_cast<double>(indices) / static_cast<double>(runs);
}

double least_bytes_per_element(const update_list& updates) {
    constexpr std::int64_t line = 16; // floats
    double lines = 0, elements = 0;
    for (const auto* update : updates) {
        const auto& rows = update->indices; // each column has those up to its own
        std::int64_t of_column = 0;
        for (std::size_t j = 0; j < rows.size(); ++j) {
            if (j == 0 || rows[j] / line != rows[j - 1] / line) ++of_column;
            lines += static_cast<double>(of_column);
            elements += static_cast<double>(j + 1);
        }
    }
    return sizeof(float) + 2 * line * sizeof(float) * lines / elements;
}

std::uint64_t sum_of_matrix(const float* elements, std::int64_t side) {
    std::uint64_t total = 0;
    for (std::int64_t j = 0; j < side; ++j) {
        std::uint64_t column = 0;
        for (std::int64_t i = 0; i < side; ++i)
            column += weighted_sum::residue(elements[i + j * side]) * weighted_sum::row_weight(i);
        total += column * weighted_sum::column_weight(j);
    }
    return total;
}

std::uint64_t expected_sum(const update_list& updates) {
    std::uint64_t total = 0;
    for (const auto* update : updates) {
        const std::size_t n = update->indices.size();
        for (std::size_t j = 0; j < n; ++j) {
            std::uint64_t column = 0;
            for (std::size_t i = 0; i <= j; ++i) {
                column += weighted_sum::residue(update->block[i + j * n]) * weighted_sum::row_weight(update->indices[i]);
            }
            total += column * weighted_sum::column_weight(update->indices[j]);
        }
    }
    return total;
}

} // namespace craton::bench
