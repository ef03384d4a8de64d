#include "coarsening.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace craton::multigrid {

namespace {

constexpr std::int64_t smallest_box_to_halve = 16; // boxes of 8 are gathered
constexpr std::int64_t few_cells = 1000;           // of an odd grid that is solved as it is, as one of 3^3, 5^3 or 7^3 cells

constexpr std::int64_t short_enough = 32; // along each dimension, of such a grid

using cuts_along = std::vector<std::int64_t>;

array::grid_layout::boundaries cuts_of(const array::box_layout::shape& of) { return array::box_layout::cuts_of(of); }

std::int64_t thinnest(const cuts_along& cuts) {
    std::int64_t found = cuts.back();
    for (std::size_t n = 1; n < cuts.size(); ++n) found = std::min(found, cuts[n] - cuts[n - 1]);
    return found;
}

// The boxes that halves of boxes are gathered into. What is halved again must begin at even cells.
cuts_along gathered(const cuts_along& halves, bool small) {
    const std::size_t boxes = halves.size() - 1;
    const std::size_t step = small ? 2 : 1;
    const std::size_t most = small ? std::max<std::size_t>(1, boxes / 2) : boxes;
    cuts_along found{0};
    for (std::size_t n = 1; n < most; ++n) {
        if (halves[n * step] % 2 == 0) found.push_back(halves[n * step]);
    }
    found.push_back(halves.back());
    return found;
}

} // namespace

array::box_layout::shape halved(const array::box_layout::shape& fine, const std::array<bool, 3>& along) {
    auto cuts = cuts_of(fine);
    for (std::size_t d = 0; d < 3; ++d) {
        if (!along[d]) continue;
        for (auto& each : cuts[d]) each = (each + 1) / 2;
    }
    return array::box_layout::of_cuts(std::move(cuts), fine.periodic, fine.order);
}

std::array<bool, 3> halved_dimensions(const array::box_layout::shape& fine, const array::box_layout::shape& coarse) {
    const auto before = cuts_of(fine);
    const auto after = cuts_of(coarse);
    std::array<bool, 3> found{};
    for (std::size_t d = 0; d < 3; ++d) found[d] = before[d].back() != after[d].back();
    return found;
}

std::optional<std::int64_t> odd_cut(const array::box_layout::shape& of) {
    for (const auto& along : cuts_of(of)) {
        const auto odd = std::find_if(along.begin(), along.end() - 1, [](std::int64_t cell) { return cell % 2 != 0; });
        if (odd != along.end() - 1) return *odd;
    }
    return {};
}

std::optional<array::box_layout::shape> coarser(const array::box_layout::shape& fine, const coarsening_rules& rules,
                                                const std::array<double, 3>& sides) {
    const auto cuts = cuts_of(fine);
    const std::array<std::int64_t, 3> cells{cuts[0].back(), cuts[1].back(), cuts[2].back()};
    const bool odd = std::ranges::any_of(cells, [](std::int64_t n) { return n % 2 != 0; });
    const bool small = cells[0] * cells[1] * cells[2] <= few_cells && std::ranges::max(cells) <= short_enough;
    const std::int64_t coarsest = std::max<std::int64_t>(rules.coarsest, rules.singular && small ? 2 : 1);
    std::array<bool, 3> may_be{};
    double shortest = HUGE_VAL;
    for (std::size_t d = 0; d < 3; ++d) {
        may_be[d] = cells[d] > coarsest && (cells[d] + 1) / 2 >= rules.depth;
        // Strong coupling along a flat dimension would keep smoothers from what varies along longer cells.
        if (may_be[d] || (rules.flat[d] && cells[d] > 1)) shortest = std::min(shortest, sides[d]);
    }
    if (odd_cut(fine) || (small && (odd || std::ranges::count(may_be, true) < 3))) return {};
    std::array<bool, 3> along{};
    for (std::size_t d = 0; d < 3; ++d) along[d] = may_be[d] && sides[d] < std::numbers::sqrt2 * shortest;
    if (std::ranges::count(along, true) == 0) return {};
    auto next = cuts_of(halved(fine, along));
    for (std::size_t d = 0; d < 3; ++d) {
        if (along[d]) next[d] = gathered(next[d], thinnest(cuts[d]) < smallest_box_to_halve);
    }
    return array::box_layout::of_cuts(std::move(next), fine.periodic, fine.order);
}

} // namespace craton::multigrid
