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

/// A structured grid cut into boxes, dealt to ranks along a curve: the rank that owns a box is floor(ranks * position / number of
/// boxes), its position being that on the curve. Boxes are cubes, cells i * side ... (i + 1) * side - 1 for a box's place i, and so
/// on, unless `cuts` say otherwise; they are numbered along x first, then y, then z.
class box_layout : public grid_layout {
  public:
    struct shape {
        index3 boxes{1, 1, 1};          ///< along each dimension
        std::int64_t side = 1;          ///< cells of a box along each dimension
        std::array<bool, 3> periodic{}; ///< per dimension
        /// How boxes are dealt to ranks.
        box_order order = box_order::morton;
        grid_layout::boundaries cuts{}; ///< where they are not cubes: the first cell of every box, then the number of cells
        friend bool operator==(const shape&, const shape&) = default;
    };

    /// The cuts of a shape, those of cubes too.
    [[nodiscard]] static grid_layout::boundaries cuts_of(const shape& what);
    /// Throws user_error unless boxes, side and ranks are at least 1, there are fewer than 2^31 boxes, and cuts, where given, go up
    /// from 0, one more along each dimension than boxes.
    box_layout(const shape& what, int ranks);
    /// A grid of any size in boxes of `side` cells, an even number, as far as they go. What is left along a dimension makes a box
    /// of its own if it is half of one and at least 4 cells, else the last box is longer. An odd side alternates with the next
    /// even ones, so that boxes begin at even cells. Throws user_error unless cells and side are at least 1.
    [[nodiscard]] static shape of_grid(const index3& cells, std::int64_t side, const std::array<bool, 3>& periodic = {},
                                       box_order order = box_order::morton);
    /// With those cuts, as a shape: cubes where they are.
    [[nodiscard]] static shape of_cuts(grid_layout::boundaries cuts, const std::array<bool, 3>& periodic, box_order order);

    /// What the layout was made with.
    [[nodiscard]] const shape& what() const noexcept { return what_; }
    /// Of the boxes, or the longest where they are not cubes.
    [[nodiscard]] std::int64_t side() const noexcept { return what_.side; }

  private:
    shape what_;
};

} // namespace craton::array
