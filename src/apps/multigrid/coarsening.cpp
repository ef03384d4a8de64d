#include "coarsening.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace craton::multigrid {

namespace {

constexpr std::int64_t smallest_box_to_halve = 16; // boxes of 8 are gathered
constexpr std::int64_t few_cells = 1000;           // of an odd grid that is solved as it is, as one of 3^3, 5^3 or 7^3 cells

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

array::box_layout::shape halved(const array::box_layout::shape& fine) {
    auto cuts = cuts_of(fine);
    for (auto& along : cuts) {
        for (auto& each : along) each = (each + 1) / 2;
    }
    return array::box_layout::of_cuts(std::move(cuts), fine.periodic, fine.order);
}

std::optional<std::int64_t> odd_cut(const array::box_layout::shape& of) {
    for (const auto& along : cuts_of(of)) {
        const auto odd = std::find_if(along.begin(), along.end() - 1, [](std::int64_t cell) { return cell % 2 != 0; });
        if (odd != along.end() - 1) return *odd;
    }
    return {};
}

std::optional<array::box_layout::shape> coarser(const array::box_layout::shape& fine, std::int64_t coarsest, std::int64_t depth) {
    const auto cuts = cuts_of(fine);
    const std::array<std::int64_t, 3> cells{cuts[0].back(), cuts[1].back(), cuts[2].back()};
    const std::int64_t shortest = std::ranges::min(cells);
    const bool odd = std::ranges::any_of(cells, [](std::int64_t n) { return n % 2 != 0; });
    if (shortest <= coarsest || (shortest + 1) / 2 < depth || odd_cut(fine)) return {};
    if (odd && cells[0] * cells[1] * cells[2] <= few_cells) return {};
    auto next = cuts_of(halved(fine));
    for (std::size_t d = 0; d < 3; ++d) next[d] = gathered(next[d], thinnest(cuts[d]) < smallest_box_to_halve);
    return array::box_layout::of_cuts(std::move(next), fine.periodic, fine.order);
}

} // namespace craton::multigrid
