#include <craton/apps/waves/compact_array.hpp>

#include <algorithm>
#include <cmath>

namespace craton::waves {

namespace {

constexpr float largest_in_units = 0x1p15F; // rounded up it is still finite

template <class What> void for_cells(const brick_shape& shape, const cell_range& cells, const What& what) {
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
            for (std::int64_t i = cells.i0; i < cells.i1; ++i) what(i, j, k, shape.at(i, j, k));
        }
    }
}

} // namespace

void compact_array::put(const cell_range& cells, const float* values, std::int64_t offset) {
    float largest = 0;
    for_cells(shape_, cells, [&](std::int64_t, std::int64_t, std::int64_t, std::int64_t n) {
        largest = std::max(largest, std::abs(values[n - offset]));
    });
    make_room_for(largest);
    const float per_unit = 1 / unit_;
    for_cells(shape_, cells, [&](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t n) {
        first_[n] = half_of(per_unit * values[n - offset], rounding_threshold(i + corner_[0], j + corner_[1], k + corner_[2]));
    });
}

void compact_array::make_room_for(float largest) {
    if (largest == 0 || (unit_known_ && largest <= largest_in_units * unit_)) return;
    // As little larger as does.
    const float unit = unit_known_ ? std::ldexp(1.0F, std::ilogb(largest) - 14) : compact_unit(largest);
    if (unit_known_) {
        const float ratio = unit_ / unit; // a power of two: the same digits
        for (std::uint16_t& each : elements_) each = half_of(ratio * from_half(each), 0);
    }
    unit_ = unit;
    unit_known_ = true;
}

} // namespace craton::waves
