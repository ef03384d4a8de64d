#pragma once

#include <craton/apps/waves/kernels/fields.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace craton::waves {

/// Fills an array of a brick with numbers of 16 bits (kernels/compact_field.hpp), some cells after others, and finds the unit for
/// them. Does not own it.
class compact_array {
  public:
    /// All elements, zero so far; `first` is that of cell (0, 0, 0), which is the grid's cell `corner`.
    compact_array(std::span<std::uint16_t> elements, std::uint16_t* first, const brick_shape& shape,
                  const std::array<std::int64_t, 3>& corner)
        : elements_(elements), first_(first), shape_(shape), corner_(corner) {}

    /// Finite values of some cells, ghosts or not; values[n] that of the cell at element n + offset of the brick. Rounds with the
    /// cells' thresholds. What has been put before gets a larger unit where these values need one: only what is 10^8 times smaller
    /// than they are loses digits.
    void put(const cell_range& cells, const float* values, std::int64_t offset = 0);

    /// Valid until the next put.
    [[nodiscard]] compact_field field() const { return {first_, unit_}; }

  private:
    void make_room_for(float largest);

    std::span<std::uint16_t> elements_;
    std::uint16_t* first_;
    brick_shape shape_;
    std::array<std::int64_t, 3> corner_;
    float unit_ = 1;
    bool unit_known_ = false; // from the first value that is not 0
};

} // namespace craton::waves
