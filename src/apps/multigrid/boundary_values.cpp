#include "boundary_values.hpp"

#include "input.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace craton::multigrid {

namespace {

using array::index3;

// Of the face beside a cell of the grid; the cell's coordinate along the dimension does not count.
using value_of_face = std::function<double(std::size_t dimension, std::size_t end, const index3& cell)>;

// The two dimensions of a side.
std::array<std::size_t, 2> along(std::size_t dimension) { return {dimension == 0 ? 1UL : 0UL, dimension == 2 ? 1UL : 2UL}; }

std::string name(std::size_t dimension, std::size_t end) {
    return fmt::format("the side {} {}", end == 0 ? "before the first" : "behind the last", "xyz"[dimension]);
}

// what(dimension, end, box, cell within the box) for the faces of the boundary beside this rank's cells.
template <class What> void for_own_faces(const level& of, const What& what) {
    for (const auto box : of.own_boxes()) {
        const index3 cells = of.shape(box).cells();
        const auto outer = of.outer(box);
        for (std::size_t d = 0; d < 3; ++d) {
            const auto [t, v] = along(d);
            for (std::size_t end = 0; end < 2; ++end) {
                if (!outer[d][end]) continue;
                index3 cell{};
                cell[d] = end == 0 ? 0 : cells[d] - 1;
                for (cell[v] = 0; cell[v] < cells[v]; ++cell[v]) {
                    for (cell[t] = 0; cell[t] < cells[t]; ++cell[t]) what(d, end, box, cell);
                }
            }
        }
    }
}

index3 in_grid(const level& of, std::int64_t box, index3 cell) {
    const index3 low = of.layout().cells(box).low;
    for (std::size_t d = 0; d < 3; ++d) cell[d] += low[d];
    return cell;
}

std::string check_faces(const level& of, const value_of_face& value) {
    std::string failure;
    for_own_faces(of, [&](std::size_t d, std::size_t end, std::int64_t box, const index3& within) {
        if (!failure.empty()) return;
        const index3 cell = in_grid(of, box, within);
        const double here = value(d, end, cell);
        const auto where = fmt::format("on {}, beside cell ({}, {}, {})", name(d, end), cell[0], cell[1], cell[2]);
        if (!std::isfinite(here)) {
            failure = fmt::format("multigrid: value {} = {}; allowed: a finite number", where, here);
        } else if (here != 0 && of.side(d, end) == boundary::neumann && of.kind() == discretisation::fv4) {
            failure = fmt::format("multigrid: flux {} = {}; allowed: 0 with fv4 (7pt and fv2 take others)", where, here);
        }
    });
    return failure;
}

// A side's values, also beside it, where cells within and across its edges ask: round a periodic dimension, else by the polynomial
// through the nearest.
double extended(const array::box_layout& layout, const value_of_face& value, std::size_t d, std::size_t end, const index3& cell) {
    for (const std::size_t t : along(d)) {
        const std::int64_t n = layout.grid().high[t];
        if (cell[t] >= 0 && cell[t] < n) continue;
        index3 other = cell;
        if (layout.periodic()[t]) {
            other[t] = (cell[t] % n + n) % n;
            return extended(layout, value, d, end, other);
        }
        const auto formula = extrapolation_formula(n);
        double sum = 0;
        for (int m = 0; m < formula.taps; ++m) {
            other[t] += cell[t] < 0 ? 1 : -1;
            sum += formula.weights[0][static_cast<std::size_t>(m)] * extended(layout, value, d, end, other);
        }
        return sum;
    }
    return value(d, end, cell);
}

void take(level& finest, const value_of_face& value) {
    const auto& layout = finest.layout();
    const auto of_u = [&](std::size_t d, std::size_t end, const index3& cell) {
        return finest.value_factor(d, end) * extended(layout, value, d, end, cell);
    };
    finest.apply_to_boundary(of_u, scratch_vector);
    finest.combine(1, f_vector, -1, scratch_vector, f_vector);
    for_own_faces(finest, [&](std::size_t d, std::size_t end, std::int64_t box, const index3& c) {
        if (finest.side(d, end) != boundary::neumann) return;
        const box_shape shape = finest.shape(box);
        const std::int64_t at = c[0] + c[1] * shape.pitch + c[2] * shape.plane;
        finest.at(box, f_vector)[at] +=
            finest.b() / finest.cell_side(d) * finest.value_factor(d, end) * value(d, end, in_grid(finest, box, c));
    });
    finest.set(u_vector, 0);
}

// Where no rank has anything nothing needs to be done.
bool anywhere(const level& of, bool here) {
    auto& ranks = of.grid().ranks();
    ranks.barrier(); // polls, before a reduction that does not
    return ranks.communicator().maximum(here ? 1 : 0) != 0;
}

std::string check_sizes(const array::box_layout& layout, const side_values& values) {
    const index3 n = layout.grid().high;
    for (std::size_t d = 0; d < 3; ++d) {
        const auto [t, v] = along(d);
        for (std::size_t end = 0; end < 2; ++end) {
            const std::size_t given = values[d][end].size();
            if (given == 0) continue;
            if (layout.periodic()[d]) return fmt::format("multigrid: values on {}; allowed: none, it is periodic", name(d, end));
            if (given != static_cast<std::size_t>(n[t] * n[v]))
                return fmt::format("multigrid: {} values on {}; allowed: {} x {}, or none", given, name(d, end), n[t], n[v]);
        }
    }
    return {};
}

} // namespace

void take_boundary_into_right_hand_side(level& finest, const problem& what) {
    if (!anywhere(finest, static_cast<bool>(what.on_boundary))) return;
    const index3 n = finest.layout().grid().high;
    const auto value = [&](std::size_t d, std::size_t end, const index3& cell) {
        if (!what.on_boundary) return 0.0;
        std::array<double, 3> x{};
        for (std::size_t e = 0; e < 3; ++e) x[e] = (static_cast<double>(cell[e]) + 0.5) * finest.cell_side(e);
        x[d] = end == 0 ? 0 : static_cast<double>(n[d]) * finest.cell_side(d);
        return what.on_boundary(static_cast<int>(d), static_cast<int>(end), x[0], x[1], x[2], finest.h());
    };
    agree(finest.grid().ranks(), check_faces(finest, value));
    take(finest, value);
}

void take_boundary_into_right_hand_side(level& finest, const side_values& values) {
    const auto& layout = finest.layout();
    bool any = false;
    for (const auto& ends : values) any = any || !ends[0].empty() || !ends[1].empty();
    if (!anywhere(finest, any)) return;
    agree(finest.grid().ranks(), check_sizes(layout, values));
    const auto value = [&](std::size_t d, std::size_t end, const index3& cell) {
        const auto& of_side = values[d][end];
        const auto [t, v] = along(d);
        return of_side.empty() ? 0.0 : of_side[static_cast<std::size_t>(cell[t] + layout.grid().high[t] * cell[v])];
    };
    agree(finest.grid().ranks(), check_faces(finest, value));
    take(finest, value);
}

} // namespace craton::multigrid
