#pragma once

#include <craton/array/block_cyclic.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::array {

/// A stretch of indices that are consecutive both in the caller's list and in the owner's storage.
struct index_run {
    std::int32_t local;    ///< first place in the owner's storage
    std::int32_t position; ///< first position in the caller's list
    std::int32_t length;
};

/// The part of an index list that one process owns, ascending in global index when the list is.
struct owned_indices {
    std::vector<std::int32_t> local;    ///< places in the owner's storage
    std::vector<std::int32_t> position; ///< where each stands in the caller's list

    [[nodiscard]] std::size_t size() const { return local.size(); }
};

/// Deals an index list out to its owners: result[p] belongs to process p. Cost: one pass, no division per element of the block.
void bin_by_owner(std::span<const std::int64_t> indices, std::span<const std::int32_t> order, const cyclic_dimension& dimension,
                  std::vector<owned_indices>& bins);

/// Consecutive stretches of `list`.
void find_runs(const owned_indices& list, std::vector<index_run>& runs);

} // namespace craton::array
