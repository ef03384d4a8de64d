#pragma once

#include <craton/array/box_layout.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace craton::multigrid {

// The grids of the hierarchy and how they are cut into boxes. Cells of a grid follow from those of the finest alone, so that boxes
// do not show in the result.

/// Half the cells along some dimensions, rounded up, in the halves of the same boxes, which begin at even cells there.
[[nodiscard]] array::box_layout::shape halved(const array::box_layout::shape& fine, const std::array<bool, 3>& along);

/// Along which dimensions a grid has fewer cells than the finer one.
[[nodiscard]] std::array<bool, 3> halved_dimensions(const array::box_layout::shape& fine, const array::box_layout::shape& coarse);

/// Where a box begins at an odd cell, so that halves of boxes would share one; nothing where none does.
[[nodiscard]] std::optional<std::int64_t> odd_cut(const array::box_layout::shape& of);

/// What the hierarchy depends on besides the cells.
struct coarsening_rules {
    std::int64_t coarsest = 1; ///< cells along a dimension that is not halved any more
    std::int64_t depth = 1;    ///< cells along each dimension, at least
    bool singular = false;     ///< constants are free: not down to a single cell, where the operator would be 0
    /// Per dimension: nothing on its sides fixes u, so that u may vary along the others as if there were one cell along this one.
    std::array<bool, 3> flat{};
};

/// The next coarser grid. `sides` of a cell: only dimensions along which cells are shortest, or longer by less than the root of 2,
/// are halved, so that cells become cubes in the end. Where one cannot be halved any more a small grid has no coarser one, and a
/// large one goes on along the others. Nor has a grid one where a box begins at an odd cell, or where it is small and a dimension
/// has an odd number. Small boxes are gathered, two along each dimension that is halved (the last three where their number is
/// odd).
[[nodiscard]] std::optional<array::box_layout::shape> coarser(const array::box_layout::shape& fine, const coarsening_rules& rules,
                                                              const std::array<double, 3>& sides = {1, 1, 1});

} // namespace craton::multigrid
