#include <craton/array/grid_layout.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace craton::array {

namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The place of each of 0, 1, 2, ... in an order of all; empty for an empty one.
std::vector<std::int32_t> places_in(const std::vector<std::int32_t>& order) {
    std::vector<std::int32_t> places(order.size(), -1);
    for (std::size_t place = 0; place < order.size(); ++place) places[at(order[place])] = static_cast<std::int32_t>(place);
    CRATON_ASSERT(std::ranges::find(places, -1) == places.end());
    return places;
}

} // namespace

grid_layout::grid_layout(boundaries cuts, const std::array<bool, 3>& periodic, int ranks, std::vector<std::int32_t> order,
                         std::vector<std::int32_t> positions)
    : periodic_(periodic), ranks_(ranks) {
    numbers turns = places_in(order), block_at = places_in(positions);
    shared_ = std::make_shared<tables>(
        tables{std::move(cuts), std::move(order), std::move(turns), std::move(positions), std::move(block_at)});
    const index3 along = blocks_along();
    blocks_ = along[0] * along[1] * along[2];
    CRATON_ASSERT(shared_->order.empty() || std::ssize(shared_->order) == blocks_);
    CRATON_ASSERT(shared_->positions.empty() || std::ssize(shared_->positions) == blocks_);
}

std::int64_t grid_layout::thinnest() const noexcept {
    std::int64_t found = std::numeric_limits<std::int64_t>::max();
    for (std::size_t d = 0; d < 3; ++d)
        for (std::size_t n = 1; n < cuts(d).size(); ++n) found = std::min(found, cuts(d)[n] - cuts(d)[n - 1]);
    return found;
}

bool grid_layout::uniform() const noexcept {
    for (std::size_t d = 0; d < 3; ++d)
        for (std::size_t n = 1; n < cuts(d).size(); ++n)
            if (cuts(d)[n] - cuts(d)[n - 1] != cuts(d)[1] - cuts(d)[0]) return false;
    return true;
}

index3 grid_layout::blocks_along() const noexcept {
    return {std::ssize(cuts(0)) - 1, std::ssize(cuts(1)) - 1, std::ssize(cuts(2)) - 1};
}

index3 grid_layout::place(std::int64_t block) const noexcept {
    const index3 along = blocks_along();
    const std::int64_t where = position(block);
    return {where % along[0], where / along[0] % along[1], where / (along[0] * along[1])};
}

std::int64_t grid_layout::block_at(const index3& place) const noexcept {
    const index3 along = blocks_along();
    const std::int64_t where = place[0] + along[0] * (place[1] + along[1] * place[2]);
    return place_in(shared_->block_at, where);
}

domain grid_layout::cells(std::int64_t block) const noexcept {
    const index3 where = place(block);
    domain found;
    for (std::size_t d = 0; d < 3; ++d) {
        found.low[d] = cuts(d)[at(where[d])];
        found.high[d] = cuts(d)[at(where[d]) + 1];
    }
    return found;
}

std::int64_t grid_layout::block_of(const index3& cell) const noexcept {
    index3 where{};
    for (std::size_t d = 0; d < 3; ++d) where[d] = std::ranges::upper_bound(cuts(d), cell[d]) - cuts(d).begin() - 1;
    return block_at(where);
}

grid_layout::neighbour grid_layout::beside(std::int64_t block, const index3& side) const noexcept {
    const index3 along = blocks_along();
    index3 there = place(block);
    neighbour found;
    for (std::size_t d = 0; d < 3; ++d) {
        const std::int64_t moved = there[d] + side[d];
        const std::int64_t inside = (moved % along[d] + along[d]) % along[d];
        if (moved != inside && !periodic_[d]) return {};
        // Sides are -1, 0 or 1: once round the grid at most.
        if (moved != inside) found.shift[d] = moved < 0 ? -cuts(d).back() : cuts(d).back();
        there[d] = inside;
    }
    found.block = block_at(there);
    return found;
}

} // namespace craton::array
