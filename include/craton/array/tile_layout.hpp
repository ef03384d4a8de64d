#pragma once

#include <craton/array/rectangle.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace craton::array {

/// An N-dimensional index space cut into tiles by boundaries along each dimension; any rank may own any tile. A rank's memory holds
/// its tiles one after the other, in the order of their numbers, each dense and row major. Tiles are numbered in row-major order.
/// N is 1 to 8.
///
/// Where tiles are dealt in turn to a grid of ranks, as block_cyclic, regular and one_per_rank do, owners and places follow by
/// arithmetic: a layout takes 16 bytes for each boundary and 8 for each row of ranks. Owners that are given one by one in that
/// order are recognised. Others are kept, with 32 bytes for each tile, on every rank.
///
/// Any thread; nothing but the making of one and tiles_of throws.
template <std::size_t N> class tile_layout {
    static_assert(N >= 1 && N <= 8);

  public:
    /// Along each dimension the first index of every tile, then the extent: 0, ..., extent, each more than the one before.
    using boundaries = std::array<std::vector<std::int64_t>, N>;

    /// owners[t] has tile t. Throws user_error for boundaries that are none, another number of owners than tiles, an owner that is
    /// none of the `ranks`, or 2^60 elements or more.
    tile_layout(boundaries cuts, std::vector<int> owners, int ranks);

    /// Tiles of `block` (the last along a dimension may be smaller), dealt to a row-major grid of ranks in turn along each
    /// dimension, as ScaLAPACK does. Throws user_error for extents, blocks or grid below 1.
    [[nodiscard]] static tile_layout block_cyclic(const place<N>& extents, const place<N>& block, const std::array<int, N>& grid);
    /// Tiles of any widths, dealt in the same way. Throws as the constructor, and for a grid below 1.
    [[nodiscard]] static tile_layout dealt_in_turn(boundaries cuts, const std::array<int, N>& grid) {
        return tile_layout(std::move(cuts), grid);
    }
    /// One tile per rank of a row-major grid, as even as can be: the first tiles along a dimension have one index more. Throws
    /// user_error for a grid below 1 or finer than the extents.
    [[nodiscard]] static tile_layout regular(const place<N>& extents, const std::array<int, N>& grid);
    /// One tile per rank: tile t is rank t's (the p x q grids of quantum chemistry, whose boundaries follow the shells). Throws as
    /// the constructor.
    [[nodiscard]] static tile_layout one_per_rank(boundaries cuts);

    /// What the layout is of: ranks, indices along each dimension, the first index of every tile, and tiles in all.
    [[nodiscard]] int ranks() const noexcept { return ranks_; }
    [[nodiscard]] const place<N>& extents() const noexcept { return extents_; }
    [[nodiscard]] rectangle<N> whole() const noexcept { return {{}, extents_}; }
    [[nodiscard]] const boundaries& cuts() const noexcept { return cuts_; }
    [[nodiscard]] std::int64_t tiles() const noexcept { return rectangle<N>{{}, counts_}.cells(); }

    /// The indices of a tile.
    [[nodiscard]] rectangle<N> cells(std::int64_t tile) const noexcept {
        rectangle<N> result;
        for (std::size_t d = N; d-- > 0;) {
            const auto along = static_cast<std::size_t>(tile % counts_[d]);
            result.low[d] = cuts_[d][along];
            result.high[d] = cuts_[d][along + 1];
            tile /= counts_[d];
        }
        return result;
    }
    /// Where a tile is: its owner, which of the owner's tiles it is, and its first element in the owner's memory.
    struct tile_place {
        int owner = 0;
        std::int64_t slot = 0;
        std::int64_t first_element = 0;
        friend bool operator==(const tile_place&, const tile_place&) = default;
    };
    /// The owner of a tile, and where it lies in the owner's memory.
    [[nodiscard]] tile_place where(std::int64_t tile) const noexcept {
        return dealt() ? where_dealt(tile) : table_[static_cast<std::size_t>(tile)];
    }
    [[nodiscard]] int owner(std::int64_t tile) const noexcept { return where(tile).owner; }
    [[nodiscard]] std::int64_t slot(std::int64_t tile) const noexcept { return where(tile).slot; }
    [[nodiscard]] std::int64_t first_element(std::int64_t tile) const noexcept { return where(tile).first_element; }
    /// A rank's tiles, ascending; how many they are, and how many elements they have.
    [[nodiscard]] std::vector<std::int64_t> tiles_of(int rank) const;
    [[nodiscard]] std::int64_t tile_count(int rank) const noexcept;
    [[nodiscard]] std::int64_t elements_of(int rank) const noexcept;

    /// The tile that has a place of the index space: a binary search per dimension.
    [[nodiscard]] std::int64_t tile_at(const place<N>& p) const noexcept {
        std::int64_t tile = 0;
        for (std::size_t d = 0; d < N; ++d) tile = tile * counts_[d] + along(d, p[d]);
        return tile;
    }
    /// Calls piece(tile, cells) for the part of a rectangle in each tile that it meets, in the order of the tiles.
    template <class Piece> void for_each_piece(const rectangle<N>& what, Piece&& piece) const {
        if (what.empty()) return;
        rectangle<N> met; // in tiles
        for (std::size_t d = 0; d < N; ++d) {
            met.low[d] = along(d, what.low[d]);
            met.high[d] = along(d, what.high[d] - 1) + 1;
        }
        place<N> at = met.low;
        do {
            const std::int64_t tile = offset_of(at, place<N>{}, row_major_strides(counts_));
            piece(tile, intersect(cells(tile), what));
        } while (next_place(at, met));
    }

    /// A number that different layouts are unlikely to share, the same on every rank for a layout that is made in the same way.
    [[nodiscard]] std::int64_t fingerprint() const noexcept;
    /// Whether all tiles are the same and have the same owners, however the layouts were made.
    friend bool operator==(const tile_layout& a, const tile_layout& b) { return a.equals(b); }

  private:
    // Of tiles that are dealt in turn along a dimension.
    struct dealt_along {
        std::vector<std::int64_t> before; // of each tile: the indices of its row of ranks in the tiles before it
        std::vector<std::int64_t> extent; // of each row of ranks: its indices
    };

    // Tiles are dealt to a row-major grid of ranks in turn along each dimension.
    tile_layout(boundaries cuts, const std::array<int, N>& grid);
    void take_cuts(boundaries cuts);
    void deal(const std::array<int, N>& grid);
    [[nodiscard]] std::array<int, N> grid_of(const std::vector<int>& owners) const; // zeros: these are not dealt in turn
    // Ranks beyond the grid have no tiles.
    [[nodiscard]] bool has_tiles(int rank) const noexcept { return place_in_grid(rank)[0] >= 0; }
    [[nodiscard]] bool dealt() const noexcept { return grid_[0] > 0; }
    [[nodiscard]] bool equals(const tile_layout& other) const noexcept;
    [[nodiscard]] std::array<int, N> place_in_grid(int rank) const noexcept {
        std::array<int, N> result;
        for (std::size_t d = N; d-- > 0; rank /= grid_[d]) result[d] = rank % grid_[d];
        if (rank > 0) result[0] = -1; // beyond the grid
        return result;
    }
    // Tiles along a dimension that a row of ranks has.
    [[nodiscard]] std::int64_t count_along(std::size_t d, int row) const noexcept {
        return (counts_[d] - row + grid_[d] - 1) / grid_[d];
    }
    // A rank has its tiles in row-major order, which is that of their places among its own.
    [[nodiscard]] tile_place where_dealt(std::int64_t tile) const noexcept {
        tile_place result;
        std::int64_t owners = 1, slots = 1, elements = 1; // that a step along this dimension skips
        for (std::size_t d = N; d-- > 0;) {
            const std::int64_t at = tile % counts_[d];
            tile /= counts_[d];
            const auto row = static_cast<int>(at % grid_[d]);
            const auto i = static_cast<std::size_t>(at);
            result.owner += static_cast<int>(row * owners);
            owners *= grid_[d];
            result.slot += at / grid_[d] * slots;
            slots *= count_along(d, row);
            const std::int64_t width = cuts_[d][i + 1] - cuts_[d][i];
            result.first_element = dealt_[d].before[i] * elements + width * result.first_element;
            elements *= dealt_[d].extent[static_cast<std::size_t>(row)];
        }
        return result;
    }
    [[nodiscard]] std::int64_t along(std::size_t d, std::int64_t i) const noexcept {
        return std::ranges::upper_bound(cuts_[d], i) - cuts_[d].begin() - 1;
    }

    boundaries cuts_;
    place<N> counts_{}; // tiles along each dimension
    place<N> extents_{};
    int ranks_ = 0;
    std::array<int, N> grid_{}; // zeros: owners were given one by one
    std::array<dealt_along, N> dealt_;
    std::vector<tile_place> table_;                   // of owners that were given, as the next two
    std::vector<std::vector<std::int64_t>> tiles_of_; // by rank
    std::vector<std::int64_t> elements_of_;
};

extern template class tile_layout<1>;
extern template class tile_layout<2>;
extern template class tile_layout<3>;
extern template class tile_layout<4>;
extern template class tile_layout<5>;
extern template class tile_layout<6>;
extern template class tile_layout<7>;
extern template class tile_layout<8>;

} // namespace craton::array
