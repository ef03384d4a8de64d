#pragma once

#include <craton/array/box_layout.hpp>

#include <cstdint>
#include <optional>

namespace craton::multigrid {

// The grids of the hierarchy and how they are cut into boxes. Cells of a grid follow from those of the finest alone, so that boxes
// do not show in the result.

/// Half the cells along each dimension, rounded up, in the halves of the same boxes. Boxes begin at even cells.
[[nodiscard]] array::box_layout::shape halved(const array::box_layout::shape& fine);

/// Where a box begins at an odd cell, so that halves of boxes would share one; nothing where none does.
[[nodiscard]] std::optional<std::int64_t> odd_cut(const array::box_layout::shape& of);

/// The next coarser grid. There is none where a box begins at an odd cell, where the shortest dimension has `coarsest` cells at
/// most or would have fewer than `depth`, or where the grid is small and a dimension has an odd number. Small boxes are
/// gathered, two along each dimension (the last three where their number is odd).
[[nodiscard]] std::optional<array::box_layout::shape> coarser(const array::box_layout::shape& fine, std::int64_t coarsest,
                                                              std::int64_t depth);

} // namespace craton::multigrid
