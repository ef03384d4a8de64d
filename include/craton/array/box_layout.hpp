#pragma once

#include <craton/array/domain.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace craton::array {

/// Along which curve boxes are dealt to ranks. Neighbours on a space-filling curve are near each other, so a rank's boxes touch few others.
enum class box_order : std::uint8_t { lexicographic, morton, hilbert };
/// From its name. Throws user_error for another.
[[nodiscard]] box_order box_order_named(std::string_view name);

/// A structured grid cut into cubic boxes, dealt to ranks: pure arithmetic, no communication.
/// Box b = i + j * boxes[0] + k * boxes[0] * boxes[1] has cells i * side ... (i + 1) * side - 1, and so on; the rank that owns it is
/// floor(ranks * position / number of boxes), its position being that on the curve.
class box_layout {
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
    [[nodiscard]] std::int64_t boxes() const noexcept { return what_.boxes[0] * what_.boxes[1] * what_.boxes[2]; }
    [[nodiscard]] int ranks() const noexcept { return static_cast<int>(boxes_of_.size()); }
    /// All cells of the grid.
    [[nodiscard]] domain grid() const noexcept;

    [[nodiscard]] index3 place(std::int64_t box) const noexcept;
    [[nodiscard]] std::int64_t box_at(const index3& place) const noexcept;
    [[nodiscard]] domain cells(std::int64_t box) const noexcept;
    [[nodiscard]] int owner(std::int64_t box) const noexcept { return owner_[static_cast<std::size_t>(box)]; }
    /// The boxes of a rank along the curve, and where one stands among its owner's.
    [[nodiscard]] std::span<const std::int64_t> boxes_of(int rank) const { return boxes_of_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] std::int64_t slot(std::int64_t box) const noexcept { return slot_[static_cast<std::size_t>(box)]; }

    /// What lies on one side of a box.
    struct neighbour {
        std::int64_t box = -1; ///< -1: outside the grid
        index3 shift{};        ///< the neighbour's cells, moved by this, lie beside the box (zero unless round a periodic boundary)
    };
    [[nodiscard]] neighbour beside(std::int64_t box, const index3& side) const noexcept;

    friend bool operator==(const box_layout& a, const box_layout& b) { return a.what_ == b.what_ && a.ranks() == b.ranks(); }

  private:
    shape what_;
    std::vector<int> owner_;
    std::vector<std::int64_t> slot_;
    std::vector<std::vector<std::int64_t>> boxes_of_;
};

} // namespace craton::array
