#pragma once

#include "host_device.hpp"

#include <craton/apps/waves/kernels/fields.hpp>

#include <cstdint>

namespace craton::waves::device {

/// Cells of one field, and where they begin in a buffer, x fastest, then y, then z.
struct packed_cells {
    float* field = nullptr; ///< element (0, 0, 0)
    cell_range cells;
    std::int64_t begin = 0;
};

/// Between fields and a buffer that crosses to the host in one copy: a thread per cell; blocks of equal block_y belong to one entry
/// of the list.
struct packing {
    const packed_cells* list = nullptr;
    std::int64_t entries = 0, most_cells = 0; ///< of one entry
    std::int64_t pitch = 0, plane = 0;
    float* buffer = nullptr;
    bool into_buffer = true;

    [[nodiscard]] launch_shape shape() const {
        launch_shape found = shape_of_list(most_cells);
        found.blocks_y = entries;
        return found;
    }

    CRATON_HOST_DEVICE void operator()(const place& at) const {
        const packed_cells& entry = list[at.block_y];
        const std::int64_t number = place_in_list(at);
        const std::int64_t width = entry.cells.i1 - entry.cells.i0, height = entry.cells.j1 - entry.cells.j0;
        if (number >= width * height * (entry.cells.k1 - entry.cells.k0)) return;
        const std::int64_t i = entry.cells.i0 + number % width;
        const std::int64_t j = entry.cells.j0 + number / width % height;
        const std::int64_t k = entry.cells.k0 + number / (width * height);
        float& cell = entry.field[i + j * pitch + k * plane];
        float& packed = buffer[entry.begin + number];
        if (into_buffer) {
            packed = cell;
        } else {
            cell = packed;
        }
    }
};

} // namespace craton::waves::device
