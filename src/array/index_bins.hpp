#pragma once

#include <craton/array/block_cyclic.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::array {

/// Places of an ascending list that share one cache line's worth of a column: at most 64 bytes, counted from the column's first
/// element.
struct place_line {
    std::int32_t local = 0;    ///< the place of the line's first element, taken or not
    std::int32_t first = 0;    ///< number in the list of the first place taken
    std::int32_t position = 0; ///< where that one stands in the caller's list
    std::uint16_t taken = 0;   ///< bit e: element local + e is in the list
    std::uint16_t count = 0;   ///< how many are
};

/// The part of an index list that one process owns, ascending in global index.
struct owned_indices {
    std::vector<std::int32_t> local;    ///< places in the owner's storage
    std::vector<std::int32_t> position; ///< where each stands in the caller's list
    bool distinct = true;               ///< no place twice
    bool contiguous = true;             ///< positions count up by one: the caller's elements can be read as they lie

    [[nodiscard]] std::size_t size() const { return local.size(); }
};

/// Positions of `indices` in ascending order of index: empty when they are ascending already, as path index sets are.
void ascending_order(std::span<const std::int64_t> indices, std::vector<std::int32_t>& order);

/// Deals an index list out to its owners in the order given (empty: as it stands): bins[p] belongs to process p.
/// One pass; divides once per block that the list touches, not once per index.
void bin_by_owner(std::span<const std::int64_t> indices, std::span<const std::int32_t> order, const cyclic_dimension& dimension,
                  std::vector<owned_indices>& bins);

/// An index list dealt out to many owners: 4 bytes an owner and 4 an index.
struct dealt_indices {
    std::vector<std::int32_t> begin;    ///< of each owner's positions, and one more
    std::vector<std::int32_t> position; ///< where each stands in the caller's list: those of the first owner, the second, ...

    [[nodiscard]] std::span<const std::int32_t> of(int owner) const {
        const auto at = static_cast<std::size_t>(owner);
        return std::span(position).subspan(static_cast<std::size_t>(begin[at]),
                                           static_cast<std::size_t>(begin[at + 1] - begin[at]));
    }
};

/// As bin_by_owner, where owners may be as many as indices: positions alone.
void deal_by_owner(std::span<const std::int64_t> indices, const cyclic_dimension& dimension, dealt_indices& dealt);

/// Cuts an ascending list of distinct places into lines of `elements` (at most 16). `position`: where each place stands in the
/// caller's list, or empty for a list that stands alone. Returns whether within every line positions count up by one.
bool find_lines(std::span<const std::int32_t> local, std::span<const std::int32_t> position, std::int32_t elements,
                std::vector<place_line>& lines);

} // namespace craton::array
