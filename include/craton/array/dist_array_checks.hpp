#pragma once

#include <craton/runtime/world.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace craton::array {

/// What a dist_array refuses, whatever its elements. All throw user_error; `who` is the member that was called.
namespace dist_array_checks {

/// Each throws user_error in the name of `who`: for a rectangle or a place outside the array, or memory of another length.
void within(const char* who, std::span<const std::int64_t> low, std::span<const std::int64_t> high,
            std::span<const std::int64_t> extents);
void inside(const char* who, std::span<const std::int64_t> place, std::span<const std::int64_t> extents);
void length(const char* who, std::size_t elements, std::int64_t cells);
/// Collective: on every rank when any has a layout that is not for the world or not the others'.
void layout_for(const runtime::world& ranks, int layout_ranks, std::int64_t fingerprint);
void own_tile(std::int64_t tile, std::int64_t tiles, int owner, int rank); ///< owner -1: there is no such tile
void registered(std::size_t number, std::size_t functions);
void argument_size(std::size_t bytes);
void threshold(double value);
void alike(const char* who, bool same_world, bool fits, const char* what_differs);
void distinct(const char* who, bool distinct_arrays);
void square(std::int64_t rows, std::int64_t columns);

} // namespace dist_array_checks

/// Collective, blocking, does not poll: not a number where any rank has none.
[[nodiscard]] double largest_over_ranks(const runtime::world& ranks, double own);

} // namespace craton::array
