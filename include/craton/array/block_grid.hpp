#pragma once

#include <craton/array/grid_layout.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/copy.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/world.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace craton::array {

/// How an array of a block lies: element (i, j, k) at first[i + j * pitch + k * plane]; i from -ghost to nx + ghost - 1, likewise j
/// and k.
struct block_extents {
    std::int64_t nx = 0, ny = 0, nz = 0;
    std::int64_t pitch = 0, plane = 0; ///< elements from row to row and from plane to plane; whole cache lines

    /// Where a cell lies, in elements from cell (0, 0, 0); ghosts have negative indices, or some beyond the extents.
    [[nodiscard]] constexpr std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t k) const {
        return i + j * pitch + k * plane;
    }
    friend constexpr bool operator==(const block_extents&, const block_extents&) = default;
};

/// One array of one block.
template <class T> struct block_view {
    T* first = nullptr; ///< element (0, 0, 0)
    block_extents extents;

    /// A cell, or a ghost.
    [[nodiscard]] T& at(std::int64_t i, std::int64_t j, std::int64_t k) const { return first[extents.at(i, j, k)]; }
};

/// Several arrays on the cells of a layout, with ghost cells round every block, in one segment, so that any cell of any rank has a
/// global_ptr. Element (i = 0, j, k) of every row begins a cache line. Arrays that follow each other do not begin at the same place
/// of a page, nor do rows and planes: the many streams of a kernel would fight for the same lines of a cache. Instantiated for
/// float and double.
template <class T> class block_grid {
  public:
    /// Collective. All elements, ghosts too, are zero, and have been touched first by their own rank; with a team, planes k of a
    /// block by the thread that gets k of a loop over nz. Throws user_error on every rank unless ghost is 0 to 4 and no deeper than
    /// a block, arrays is at least 1, the layout is for this world's ranks, and there is memory. The world must outlive it.
    block_grid(runtime::world& ranks, const grid_layout& layout, int arrays, int ghost = 2, base::thread_team* team = nullptr);

    /// What the grid was made with, and what it takes of a rank's memory.
    [[nodiscard]] const grid_layout& layout() const noexcept { return layout_; }
    [[nodiscard]] runtime::world& ranks() const noexcept { return *world_; }
    [[nodiscard]] int arrays() const noexcept { return arrays_; }
    [[nodiscard]] int ghost() const noexcept { return ghost_; }
    [[nodiscard]] std::size_t bytes_per_rank(int rank) const;

    /// How a block's cells lie in memory.
    [[nodiscard]] block_extents extents(std::int64_t block) const { return room(block).extents; }
    /// From an array of a block to its next one.
    [[nodiscard]] std::size_t array_elements(std::int64_t block) const { return room(block).elements; }
    /// True where the block's owner shares memory with the caller.
    [[nodiscard]] bool mapped(std::int64_t block) const { return memory_.base(layout_.owner(block)) != nullptr; }
    /// Element (0, 0, 0) of an array of a mapped block.
    [[nodiscard]] T* origin(std::int64_t block, int array) const { return at(block, array, {0, 0, 0}).local(); }
    [[nodiscard]] block_view<T> view(std::int64_t block, int array) const { return {origin(block, array), extents(block)}; }
    /// A cell of any block of any rank, counted from the block's first cell.
    [[nodiscard]] runtime::global_ptr<T> at(std::int64_t block, int array, const index3& cell) const {
        const auto [extents, origin, elements] = room(block);
        const auto within = static_cast<std::size_t>(extents.at(cell[0], cell[1], cell[2])); // wraps round below 0, and back
        return {&memory_, layout_.owner(block), (origin + static_cast<std::size_t>(array) * elements + within) * sizeof(T)};
    }

    /// Of a layout that gives every rank one block (brick_layout): this rank's.
    [[nodiscard]] std::int64_t own_block() const { return layout_.blocks_of(world_->rank()).front(); }
    [[nodiscard]] domain cells() const { return layout_.cells(own_block()); }
    [[nodiscard]] block_extents extents() const { return extents(own_block()); }
    [[nodiscard]] T* origin(int array) const { return origin(own_block(), array); }

  private:
    // Of a block in its owner's memory.
    struct block_room {
        block_extents extents;
        std::size_t origin = 0;   // element (0, 0, 0) of its first array
        std::size_t elements = 0; // from one array to the next
    };
    // Blocks are all as large, or each rank has one at most, or all have room for the largest.
    [[nodiscard]] block_room room(std::int64_t block) const {
        if (!uniform_) return first_room(block);
        block_room found = *uniform_;
        if (!alike_) {
            const domain cells = layout_.cells(block);
            found.extents.nx = cells.extent(0);
            found.extents.ny = cells.extent(1);
            found.extents.nz = cells.extent(2);
        }
        found.origin += static_cast<std::size_t>(layout_.slot(block)) * static_cast<std::size_t>(arrays_) * found.elements;
        return found;
    }
    [[nodiscard]] block_room first_room(std::int64_t block) const; // were it the first of its owner
    [[nodiscard]] block_room largest_room() const;                 // of a block as long as the longest along each dimension
    void touch(base::thread_team* team) const;

    runtime::world* world_;
    grid_layout layout_;
    int arrays_, ghost_;
    std::optional<block_room> uniform_; // of any first block, where all have as much
    bool alike_;                        // and all are as large
    runtime::segment memory_;
};

/// A part of an array on the way from one block to another: `from` in cells of the source's grid, ghosts included; moved by `shift`
/// it lies in cells of the target's.
struct block_transfer {
    std::int64_t source = 0, target = 0; ///< blocks
    domain from;
    index3 shift{};
};

/// A strided copy: where it begins and ends, and its extents, k slowest.
template <class T> struct block_copy {
    runtime::global_ptr<T> from, to;
    std::array<std::int64_t, 3> extents{}, from_strides{}, to_strides{};

    /// What is copied: elements of the rectangle, and the shape that a strided copy takes.
    [[nodiscard]] std::int64_t elements() const { return extents[0] * extents[1] * extents[2]; }
    [[nodiscard]] runtime::copy_shape shape() const { return {extents, from_strides, to_strides}; }
};
/// The copy that brings part of an array to another block. The grids may be one and the same.
template <class T>
[[nodiscard]] block_copy<T> copy_between(const block_grid<T>& source, const block_transfer& what, int source_array,
                                         const block_grid<T>& target, int target_array);

} // namespace craton::array
