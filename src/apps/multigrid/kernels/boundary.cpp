#include <craton/apps/multigrid/kernels/boundary.hpp>

#include <cstddef>

namespace craton::multigrid {

ghost_formula dirichlet_formula(int order, std::int64_t side) {
    if (order >= 4 && side >= 4) {
        return {{{{-77.0 / 12, 43.0 / 12, -17.0 / 12, 3.0 / 12}, {-505.0 / 12, 335.0 / 12, -145.0 / 12, 27.0 / 12}}}, 4};
    }
    if (order >= 2 && side >= 2) return {{{{-5.0 / 2, 1.0 / 2}, {}}}, 2};
    return {{{{-1.0}, {}}}, 1};
}

ghost_formula neumann_formula(int order, std::int64_t side) {
    if (order >= 4 && side >= 4) return {{{{1.0 / 2, 9.0 / 10, -1.0 / 2, 1.0 / 10}, {-15.0 / 2, 29.0 / 2, -15.0 / 2, 3.0 / 2}}}, 4};
    if (side >= 2) return {{{{1, 0}, {0, 1}}}, 2};
    return {{{{1}, {1}}}, 1};
}

ghost_formula extrapolation_formula(std::int64_t side) {
    if (side >= 5) return {{{{5, -10, 10, -5, 1}, {}}}, 5};
    if (side == 4) return {{{{4, -6, 4, -1}, {}}}, 4};
    if (side >= 2) return {{{{2, -1}, {}}}, 2};
    return {{{{1}, {}}}, 1};
}

void fill_outer_ghosts(double* u, const box_shape& shape, int depth, const outer_sides& outer, const ghost_formula& formula,
                       const std::array<bool, 3>& dimensions, const std::array<std::int64_t, 3>& extents) {
    const std::array<ghost_formula, 2> both{formula, formula};
    fill_outer_ghosts(u, shape, depth, outer, side_formulas{both, both, both}, dimensions, extents);
}

namespace {

template <class Offset>
void fill(double* u, const box_shape& shape, int depth, const outer_sides& outer, const side_formulas& formulas,
          const std::array<bool, 3>& dimensions, const std::array<std::int64_t, 3>& extents, const Offset& offset) {
    const std::array<std::int64_t, 3> steps{1, shape.pitch, shape.plane};
    std::array<std::int64_t, 3> extent = extents;
    for (auto& each : extent) each = each == 0 ? shape.side : each;
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
                for (std::int64_t x = low[t]; x < high[t]; ++x) {
                    double* const inside = u + nearest + x * steps[t] + y * steps[v];
                    for (int layer = 0; layer < depth; ++layer) {
                        double sum = offset(d, end, layer, x, y);
                        for (int m = 0; m < formula.taps; ++m) {
                            sum +=
                                formula.weights[static_cast<std::size_t>(layer)][static_cast<std::size_t>(m)] * inside[m * inwards];
                        }
                        inside[-(layer + 1) * inwards] = sum;
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
