#include <craton/apps/multigrid/kernels/boundary.hpp>

#include <cstddef>

namespace craton::multigrid {

ghost_formula dirichlet_formula(int order, std::int64_t cells) {
    if (order >= 4 && cells >= 4) {
        return {{{{-77.0 / 12, 43.0 / 12, -17.0 / 12, 3.0 / 12}, {-505.0 / 12, 335.0 / 12, -145.0 / 12, 27.0 / 12}}}, 4};
    }
    if (order >= 2 && cells >= 2) return {{{{-5.0 / 2, 1.0 / 2}, {}}}, 2};
    return {{{{-1.0}, {}}}, 1};
}

ghost_formula neumann_formula(int order, std::int64_t cells) {
    if (order >= 4 && cells >= 4)
        return {{{{1.0 / 2, 9.0 / 10, -1.0 / 2, 1.0 / 10}, {-15.0 / 2, 29.0 / 2, -15.0 / 2, 3.0 / 2}}}, 4};
    if (cells >= 2) return {{{{1, 0}, {0, 1}}}, 2};
    return {{{{1}, {1}}}, 1};
}

ghost_formula extrapolation_formula(std::int64_t cells) {
    if (cells >= 5) return {{{{5, -10, 10, -5, 1}, {}}}, 5};
    if (cells == 4) return {{{{4, -6, 4, -1}, {}}}, 4};
    if (cells >= 2) return {{{{2, -1}, {}}}, 2};
    return {{{{1}, {}}}, 1};
}

void fill_outer_ghosts(double* u, const box_shape& shape, int depth, const outer_sides& outer, const ghost_formula& formula,
                       const std::array<bool, 3>& dimensions, const std::array<std::int64_t, 3>& extents) {
    const std::array<ghost_formula, 2> both{formula, formula};
    fill_outer_ghosts(u, shape, depth, outer, side_formulas{both, both, both}, dimensions, extents);
}

namespace {

// One layer off a row of cells: the ghost before (or behind) `inside` is the offset and so many weighted cells inwards. Few taps
// known beforehand let the loop be vectorised along contiguous rows.
template <int taps, class Offset>
void fill_row(double* inside, std::int64_t low, std::int64_t high, std::int64_t step, std::int64_t inwards, std::int64_t outwards,
              const double* weights, const Offset& offset) {
#pragma GCC ivdep
    for (std::int64_t x = low; x < high; ++x) {
        double sum = offset(x);
        for (int m = 0; m < taps; ++m) sum += weights[m] * inside[x * step + m * inwards];
        inside[x * step + outwards] = sum;
    }
}

template <class Offset>
void fill(double* u, const box_shape& shape, int depth, const outer_sides& outer, const side_formulas& formulas,
          const std::array<bool, 3>& dimensions, const std::array<std::int64_t, 3>& extents, const Offset& offset) {
    const std::array<std::int64_t, 3> steps = shape.steps();
    std::array<std::int64_t, 3> extent = extents;
    for (std::size_t d = 0; d < 3; ++d) extent[d] = extent[d] == 0 ? shape.cells()[d] : extent[d];
    // Cells that are known: where a box is beside this one its halo is, else only once the dimension has been done.
    std::array<std::int64_t, 3> low{};
    std::array<std::int64_t, 3> high{};
    for (std::size_t d = 0; d < 3; ++d) {
        low[d] = outer[d][0] ? 0 : -depth;
        high[d] = extent[d] + (outer[d][1] ? 0 : depth);
    }
    for (std::size_t d = 0; d < 3; ++d) {
        if (!dimensions[d]) continue;
        const std::size_t t = d == 0 ? 1 : 0;
        const std::size_t v = d == 2 ? 1 : 2;
        for (std::size_t end = 0; end < 2; ++end) {
            if (!outer[d][end]) continue;
            const ghost_formula& formula = formulas[d][end];
            const std::int64_t inwards = end == 0 ? steps[d] : -steps[d];
            const std::int64_t nearest = end == 0 ? 0 : (extent[d] - 1) * steps[d];
            for (std::int64_t y = low[v]; y < high[v]; ++y) {
                double* const inside = u + nearest + y * steps[v];
                for (int layer = 0; layer < depth; ++layer) {
                    const double* const weights = formula.weights[static_cast<std::size_t>(layer)].data();
                    const auto of_row = [&](std::int64_t x) { return offset(d, end, layer, x, y); };
                    const auto row = [&]<int taps>() {
                        // Contiguous rows by a step that the compiler knows.
                        const std::int64_t outwards = -(layer + 1) * inwards;
                        if (steps[t] == 1) return fill_row<taps>(inside, low[t], high[t], 1, inwards, outwards, weights, of_row);
                        fill_row<taps>(inside, low[t], high[t], steps[t], inwards, outwards, weights, of_row);
                    };
                    switch (formula.taps) {
                    case 1:
                        row.template operator()<1>();
                        break;
                    case 2:
                        row.template operator()<2>();
                        break;
                    case 3:
                        row.template operator()<3>();
                        break;
                    case 4:
                        row.template operator()<4>();
                        break;
                    default:
                        row.template operator()<5>();
                    }
                }
            }
        }
        low[d] = -depth;
        high[d] = extent[d] + depth;
    }
}

} // namespace

void fill_outer_ghosts(double* u, const box_shape& shape, int depth, const outer_sides& outer, const side_formulas& formulas,
                       const std::array<bool, 3>& dimensions, const std::array<std::int64_t, 3>& extents) {
    fill(u, shape, depth, outer, formulas, dimensions, extents, [](auto...) { return 0.0; });
}

void fill_outer_ghosts(double* u, const box_shape& shape, int depth, const outer_sides& outer, const side_formulas& formulas,
                       const ghost_offset& offset) {
    fill(u, shape, depth, outer, formulas, {true, true, true}, {}, offset);
}

double weight_of_boundary(const ghost_formula& dirichlet, int layer) {
    double weight = 1;
    for (const double each : dirichlet.weights[static_cast<std::size_t>(layer)]) weight -= each;
    return weight;
}

} // namespace craton::multigrid
