#pragma once

#include <craton/array/block_cyclic.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::array {

/// A stretch of a list whose places in storage are consecutive.
struct index_run {
    std::int32_t local; ///< first place in the owner's storage
    std::int32_t first; ///< its number in the list
    std::int32_t length;
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

/// Stretches shorter than this are merged faster by gathers and scatters of whole vectors (scatter_kernels.hpp).
inline constexpr double mean_run_worthwhile = 12;

/// Consecutive stretches of a list of places; leaves `runs` empty when their mean length is below `worthwhile`.
void find_runs(std::span<const std::int32_t> local, double worthwhile, std::vector<index_run>& runs);

} // namespace craton::array
