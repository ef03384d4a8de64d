#pragma once

#include <craton/array/grid_layout.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace craton::array {

/// Along which curve boxes are dealt to ranks. Neighbours on a space-filling curve are near each other, so a rank's boxes touch few
/// others.
enum class box_order : std::uint8_t { lexicographic, morton, hilbert };
/// From its name. Throws user_error for another.
[[nodiscard]] box_order box_order_named(std::string_view name);

/// A structured grid cut into cubic boxes, dealt to ranks along a curve: the rank that owns a box is floor(ranks * position /
/// number of boxes), its position being that on the curve. Box b has cells i * side ... (i + 1) * side - 1 for its place i, and so
/// on; boxes are numbered along x first, then y, then z.
class box_layout : public grid_layout {
  public:
    struct shape {
        index3 boxes{1, 1, 1};          ///< along each dimension
        std::int64_t side = 1;          ///< cells of a box along each dimension
        std::array<bool, 3> periodic{}; ///< per dimension
        box_order order = box_order::morton;
        friend bool operator==(const shape&, const shape&) = default;
    };

    /// Throws user_error unless boxes, side and ranks are at least 1 and there are fewer than 2^31 boxes.
    box_layout(const shape& what, int ranks);

    [[nodiscard]] const shape& what() const noexcept { return what_; }
    [[nodiscard]] std::int64_t side() const noexcept { return what_.side; }

  private:
    shape what_;
};

} // namespace craton::array
