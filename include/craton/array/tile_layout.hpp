#pragma once

#include <craton/array/rectangle.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::array {

/// An N-dimensional index space cut into tiles by boundaries along each dimension; any rank may own any tile. A rank's memory holds
/// its tiles one after the other, in the order of their numbers, each dense and row major. Tiles are numbered in row-major order.
/// Pure arithmetic; the table of tiles (some 24 bytes each) is on every rank. N is 1 to 8.
///
/// Any thread; nothing but the making of one throws.
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
    /// One tile per rank of a row-major grid, as even as can be: the first tiles along a dimension have one index more. Throws
    /// user_error for a grid below 1 or finer than the extents.
    [[nodiscard]] static tile_layout regular(const place<N>& extents, const std::array<int, N>& grid);
    /// One tile per rank: tile t is rank t's (the p x q grids of quantum chemistry, whose boundaries follow the shells). Throws as
    /// the constructor.
    [[nodiscard]] static tile_layout one_per_rank(boundaries cuts);

    [[nodiscard]] int ranks() const noexcept { return static_cast<int>(tiles_of_.size()); }
    [[nodiscard]] const place<N>& extents() const noexcept { return extents_; }
    [[nodiscard]] rectangle<N> whole() const noexcept { return {{}, extents_}; }
    [[nodiscard]] const boundaries& cuts() const noexcept { return cuts_; }
    [[nodiscard]] std::int64_t tiles() const noexcept { return std::ssize(tiles_); }

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
    [[nodiscard]] int owner(std::int64_t tile) const noexcept { return at(tile).owner; }
    /// The tile's first element in its owner's memory, and which of the owner's tiles it is.
    [[nodiscard]] std::int64_t first_element(std::int64_t tile) const noexcept { return at(tile).first_element; }
    [[nodiscard]] std::int64_t slot(std::int64_t tile) const noexcept { return at(tile).slot; }
    /// Where a rank's tiles are, ascending; how many elements they have.
    [[nodiscard]] std::span<const std::int64_t> tiles_of(int rank) const noexcept {
        return tiles_of_[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] std::int64_t elements_of(int rank) const noexcept { return elements_of_[static_cast<std::size_t>(rank)]; }

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
        place<N> where = met.low;
        do {
            const std::int64_t tile = offset_of(where, place<N>{}, row_major_strides(counts_));
            piece(tile, intersect(cells(tile), what));
        } while (next_place(where, met));
    }

    /// A number that different layouts are unlikely to share, the same on every rank for the same layout.
    [[nodiscard]] std::int64_t fingerprint() const noexcept;
    friend bool operator==(const tile_layout& a, const tile_layout& b) {
        return a.ranks() == b.ranks() && a.cuts_ == b.cuts_ && a.tiles_ == b.tiles_;
    }

  private:
    struct tile_record {
        std::int64_t first_element = 0;
        std::int64_t slot = 0;
        int owner = 0;
        friend bool operator==(const tile_record&, const tile_record&) = default;
    };
    [[nodiscard]] const tile_record& at(std::int64_t tile) const noexcept { return tiles_[static_cast<std::size_t>(tile)]; }
    [[nodiscard]] std::int64_t along(std::size_t d, std::int64_t i) const noexcept {
        return std::ranges::upper_bound(cuts_[d], i) - cuts_[d].begin() - 1;
    }

    boundaries cuts_;
    place<N> counts_{}; // tiles along each dimension
    place<N> extents_{};
    std::vector<tile_record> tiles_;
    std::vector<std::vector<std::int64_t>> tiles_of_;
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
