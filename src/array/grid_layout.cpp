#include <craton/array/grid_layout.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace craton::array {

namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

} // namespace

grid_layout::grid_layout(boundaries cuts, const std::array<bool, 3>& periodic, std::vector<std::vector<std::int64_t>> blocks_of,
                         std::vector<std::int64_t> positions)
    : cuts_(std::move(cuts)), periodic_(periodic), blocks_of_(std::move(blocks_of)), positions_(std::move(positions)) {
    const index3 along = blocks_along();
    const std::size_t all = at(along[0] * along[1] * along[2]);
    owner_.assign(all, -1);
    slot_.resize(all);
    for (std::size_t rank = 0; rank < blocks_of_.size(); ++rank) {
        std::int64_t slot = 0;
        for (const std::int64_t block : blocks_of_[rank]) {
            owner_[at(block)] = static_cast<int>(rank);
            slot_[at(block)] = slot++;
        }
    }
    CRATON_ASSERT(std::ranges::find(owner_, -1) == owner_.end());
    if (positions_.empty()) return;
    block_at_.resize(all);
    for (std::size_t block = 0; block < all; ++block) block_at_[at(positions_[block])] = static_cast<std::int64_t>(block);
}

index3 grid_layout::blocks_along() const noexcept {
    return {std::ssize(cuts_[0]) - 1, std::ssize(cuts_[1]) - 1, std::ssize(cuts_[2]) - 1};
}

index3 grid_layout::place(std::int64_t block) const noexcept {
    const index3 along = blocks_along();
    const std::int64_t where = position(block);
    return {where % along[0], where / along[0] % along[1], where / (along[0] * along[1])};
}

std::int64_t grid_layout::block_at(const index3& place) const noexcept {
    const index3 along = blocks_along();
    const std::int64_t where = place[0] + along[0] * (place[1] + along[1] * place[2]);
    return block_at_.empty() ? where : block_at_[at(where)];
}

domain grid_layout::cells(std::int64_t block) const noexcept {
    const index3 where = place(block);
    domain found;
    for (std::size_t d = 0; d < 3; ++d) {
        found.low[d] = cuts_[d][at(where[d])];
        found.high[d] = cuts_[d][at(where[d]) + 1];
    }
    return found;
}

std::int64_t grid_layout::block_of(const index3& cell) const noexcept {
    index3 where{};
    for (std::size_t d = 0; d < 3; ++d) where[d] = std::ranges::upper_bound(cuts_[d], cell[d]) - cuts_[d].begin() - 1;
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
        if (moved != inside) found.shift[d] = moved < 0 ? -cuts_[d].back() : cuts_[d].back();
        there[d] = inside;
    }
    found.block = block_at(there);
    return found;
}

} // namespace craton::array
