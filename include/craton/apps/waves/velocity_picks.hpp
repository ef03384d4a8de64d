#pragma once

#include <craton/apps/waves/kernels/fields.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::waves {

/// Velocities of a few cells, picked after each of some steps: what a recorder reads of steps that share a passage through memory.
struct velocity_picks {
    std::vector<std::int64_t> cells; ///< elements of the fields, ascending
    std::vector<float> values;       ///< [step][component][cell]; hold() makes room

    /// Makes room for so many steps; where the picks of a step and component are.
    void hold(std::int64_t steps) { values.resize(static_cast<std::size_t>(3 * steps) * cells.size()); }
    [[nodiscard]] float* of(std::int64_t step, std::size_t component) {
        return values.data() + (static_cast<std::size_t>(3 * step) + component) * cells.size();
    }
    /// The three components after a step, one value per cell.
    [[nodiscard]] std::array<const float*, 3> after(std::int64_t step) { return {of(step, 0), of(step, 1), of(step, 2)}; }

    /// Takes those of all cells as they are.
    void take(std::int64_t step, const vector_field<const float>& v) {
        const std::array<const float*, 3> components{v.x, v.y, v.z};
        for (std::size_t c = 0; c < 3; ++c) {
            float* const to = of(step, c);
            for (std::size_t n = 0; n < cells.size(); ++n) to[n] = components[c][cells[n]];
        }
    }
};

} // namespace craton::waves
