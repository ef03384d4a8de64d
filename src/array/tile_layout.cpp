#include <craton/array/tile_layout.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace craton::array {

namespace {

// Bytes of any element's type can then still be counted in 64 bits.
constexpr double most_elements = static_cast<double>(std::int64_t{1} << 60);

void check_cuts(std::span<const std::int64_t> cuts, std::size_t d) {
    if (cuts.size() < 2) {
        throw user_error(
            fmt::format("tile layout: {} boundaries along dimension {}; allowed: 2 or more (0, ..., extent)", cuts.size(), d));
    }
    if (cuts[0] != 0) throw user_error(fmt::format("tile layout: boundaries of dimension {} begin at {}; allowed: 0", d, cuts[0]));
    for (std::size_t i = 1; i < cuts.size(); ++i) {
        if (cuts[i] <= cuts[i - 1]) {
            throw user_error(
                fmt::format("tile layout: boundary {} of dimension {} is {} after {}; allowed: more than the one before", i, d,
                            cuts[i], cuts[i - 1]));
        }
    }
}

void check_positive(const char* what, std::int64_t value, std::size_t d) {
    if (value < 1) throw user_error(fmt::format("tile layout: {} along dimension {} is {}; allowed: 1 or more", what, d, value));
}

template <std::size_t N> int product_of(const std::array<int, N>& grid) {
    std::int64_t product = 1;
    for (std::size_t d = 0; d < N; ++d) {
        check_positive("grid", grid[d], d);
        product *= grid[d];
        if (product > 1 << 30)
            throw user_error(fmt::format("tile layout: a grid of {} ranks or more; allowed: 2^30 at most", product));
    }
    return static_cast<int>(product);
}

} // namespace

template <std::size_t N> void tile_layout<N>::take_cuts(boundaries cuts) {
    cuts_ = std::move(cuts);
    double elements = 1;
    for (std::size_t d = 0; d < N; ++d) {
        check_cuts(cuts_[d], d);
        counts_[d] = std::ssize(cuts_[d]) - 1;
        extents_[d] = cuts_[d].back();
        elements *= static_cast<double>(extents_[d]);
    }
    if (elements >= most_elements) throw user_error(fmt::format("tile layout: {:.3g} elements; allowed: less than 2^60", elements));
}

template <std::size_t N> tile_layout<N>::tile_layout(boundaries cuts, std::vector<int> owners, int ranks) : ranks_(ranks) {
    if (ranks < 1) throw user_error(fmt::format("tile layout: {} ranks; allowed: 1 or more", ranks));
    take_cuts(std::move(cuts));
    if (std::ssize(owners) != tiles()) {
        throw user_error(fmt::format("tile layout: {} owners for {} tiles; allowed: one per tile", owners.size(), tiles()));
    }
    if (const auto grid = grid_of(owners); grid[0] > 0) {
        deal(grid);
        return;
    }
    tiles_of_.resize(static_cast<std::size_t>(ranks));
    elements_of_.resize(static_cast<std::size_t>(ranks));
    table_.resize(owners.size());
    for (std::int64_t t = 0; t < tiles(); ++t) {
        const int owner = owners[static_cast<std::size_t>(t)];
        if (owner < 0 || owner >= ranks) {
            throw user_error(fmt::format("tile layout: the owner of tile {} is rank {}; allowed: 0 to {}", t, owner, ranks - 1));
        }
        auto& own = tiles_of_[static_cast<std::size_t>(owner)];
        auto& own_elements = elements_of_[static_cast<std::size_t>(owner)];
        table_[static_cast<std::size_t>(t)] = {owner, std::ssize(own), own_elements};
        own.push_back(t);
        own_elements += cells(t).cells();
    }
}

template <std::size_t N> tile_layout<N>::tile_layout(boundaries cuts, const std::array<int, N>& grid) : ranks_(product_of(grid)) {
    take_cuts(std::move(cuts));
    deal(grid);
}

template <std::size_t N> void tile_layout<N>::deal(const std::array<int, N>& grid) {
    grid_ = grid;
    for (std::size_t d = 0; d < N; ++d) {
        auto& [before, extent] = dealt_[d];
        extent.resize(static_cast<std::size_t>(grid[d]));
        for (std::int64_t t = 0; t < counts_[d]; ++t) {
            const auto i = static_cast<std::size_t>(t);
            auto& so_far = extent[static_cast<std::size_t>(t % grid[d])];
            before.push_back(so_far);
            so_far += cuts_[d][i + 1] - cuts_[d][i];
        }
    }
}

template <std::size_t N> std::array<int, N> tile_layout<N>::grid_of(const std::vector<int>& owners) const {
    const auto strides = row_major_strides(counts_);
    std::array<int, N> grid{};
    std::int64_t grid_ranks = 1;
    for (std::size_t d = N; d-- > 0;) { // along a dimension owners go on until the first one has a tile again
        std::int64_t rows = 1;
        while (rows < counts_[d] && owners[static_cast<std::size_t>(rows * strides[d])] != owners[0]) ++rows;
        grid_ranks *= rows;
        if (grid_ranks > ranks_) return {};
        grid[d] = static_cast<int>(rows);
    }
    const rectangle<N> all{{}, counts_};
    place<N> at{};
    std::size_t tile = 0;
    do {
        int owner = 0;
        for (std::size_t d = 0; d < N; ++d) owner = owner * grid[d] + static_cast<int>(at[d] % grid[d]);
        if (owners[tile++] != owner) return {};
    } while (next_place(at, all));
    return grid;
}

template <std::size_t N> std::int64_t tile_layout<N>::tile_count(int rank) const noexcept {
    if (!dealt()) return std::ssize(tiles_of_[static_cast<std::size_t>(rank)]);
    if (!has_tiles(rank)) return 0;
    const auto rows = place_in_grid(rank);
    std::int64_t count = 1;
    for (std::size_t d = 0; d < N; ++d) count *= count_along(d, rows[d]);
    return count;
}

template <std::size_t N> std::int64_t tile_layout<N>::elements_of(int rank) const noexcept {
    if (!dealt()) return elements_of_[static_cast<std::size_t>(rank)];
    if (!has_tiles(rank)) return 0;
    const auto rows = place_in_grid(rank);
    std::int64_t count = 1;
    for (std::size_t d = 0; d < N; ++d) count *= dealt_[d].extent[static_cast<std::size_t>(rows[d])];
    return count;
}

template <std::size_t N> std::vector<std::int64_t> tile_layout<N>::tiles_of(int rank) const {
    if (!dealt()) return tiles_of_[static_cast<std::size_t>(rank)];
    std::vector<std::int64_t> tiles;
    if (!has_tiles(rank)) return tiles;
    const auto rows = place_in_grid(rank);
    rectangle<N> own; // the tile's place among the rank's own, along each dimension
    for (std::size_t d = 0; d < N; ++d) own.high[d] = count_along(d, rows[d]);
    if (own.empty()) return tiles;
    tiles.reserve(static_cast<std::size_t>(own.cells()));
    place<N> at{};
    do {
        std::int64_t tile = 0;
        for (std::size_t d = 0; d < N; ++d) tile = tile * counts_[d] + rows[d] + at[d] * grid_[d];
        tiles.push_back(tile);
    } while (next_place(at, own));
    return tiles;
}

template <std::size_t N> bool tile_layout<N>::equals(const tile_layout& other) const noexcept {
    if (ranks_ != other.ranks_ || cuts_ != other.cuts_) return false;
    if (dealt() && grid_ == other.grid_) return true;
    for (std::int64_t t = 0; t < tiles(); ++t) {
        if (owner(t) != other.owner(t)) return false;
    }
    return true;
}

template <std::size_t N>
tile_layout<N> tile_layout<N>::block_cyclic(const place<N>& extents, const place<N>& block, const std::array<int, N>& grid) {
    static_cast<void>(product_of(grid)); // refuses a grid before boundaries are made
    boundaries cuts;
    for (std::size_t d = 0; d < N; ++d) {
        check_positive("extent", extents[d], d);
        check_positive("block", block[d], d);
        cuts[d].push_back(0);
        while (cuts[d].back() < extents[d]) cuts[d].push_back(cuts[d].back() + std::min(block[d], extents[d] - cuts[d].back()));
    }
    return tile_layout(std::move(cuts), grid);
}

template <std::size_t N> tile_layout<N> tile_layout<N>::regular(const place<N>& extents, const std::array<int, N>& grid) {
    static_cast<void>(product_of(grid)); // refuses a grid before boundaries are made
    boundaries cuts;
    for (std::size_t d = 0; d < N; ++d) {
        if (extents[d] < grid[d]) {
            throw user_error(
                fmt::format("tile layout: extent {} along dimension {} on a grid of {}; allowed: at least one index per rank",
                            extents[d], d, grid[d]));
        }
        const std::int64_t least = extents[d] / grid[d];
        const std::int64_t longer = extents[d] % grid[d];
        for (std::int64_t i = 0; i <= grid[d]; ++i) cuts[d].push_back(i * least + std::min(i, longer));
    }
    return tile_layout(std::move(cuts), grid);
}

template <std::size_t N> tile_layout<N> tile_layout<N>::one_per_rank(boundaries cuts) {
    std::array<int, N> grid{};
    for (std::size_t d = 0; d < N; ++d) {
        check_cuts(cuts[d], d);
        grid[d] = static_cast<int>(cuts[d].size()) - 1;
    }
    return tile_layout(std::move(cuts), grid);
}

template <std::size_t N> std::int64_t tile_layout<N>::fingerprint() const noexcept {
    // FNV-1a, word by word.
    std::uint64_t hash = 14695981039346656037U;
    const auto take = [&](std::int64_t word) { hash = (hash ^ static_cast<std::uint64_t>(word)) * 1099511628211U; };
    take(ranks());
    for (const auto& each : cuts_) {
        take(std::ssize(each));
        for (const auto cut : each) take(cut);
    }
    for (const auto rows : grid_) take(rows);
    for (const auto& tile : table_) take(tile.owner);
    return static_cast<std::int64_t>(hash);
}

template class tile_layout<1>;
template class tile_layout<2>;
template class tile_layout<3>;
template class tile_layout<4>;
template class tile_layout<5>;
template class tile_layout<6>;
template class tile_layout<7>;
template class tile_layout<8>;

} // namespace craton::array
