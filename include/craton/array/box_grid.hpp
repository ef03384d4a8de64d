#pragma once

#include <craton/array/box_layout.hpp>
#include <craton/runtime/copy.hpp>
#include <craton/runtime/notified_copies.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/world.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace craton::array {

/// Where one vector of one box lies: cell (i, j, k) of the box, counted from its first interior cell, is
/// first[i + j * pitch + k * plane], for i, j, k from -ghost to side + ghost - 1.
template <class T> struct box_view {
    T* first = nullptr;
    std::int64_t side = 0, ghost = 0;
    std::int64_t pitch = 0, plane = 0; ///< elements from row to row and from plane to plane

    [[nodiscard]] T& at(std::int64_t i, std::int64_t j, std::int64_t k) const { return first[i + j * pitch + k * plane]; }
};

/// Several vectors on the cells of a box layout, with ghost zones round every box, in memory that any rank can name: the rooms of a
/// structured-grid solver. Row starts lie on cache lines. Instantiated for float and double.
template <class T> class box_grid {
  public:
    /// Collective. All elements, ghosts too, are zero. Throws user_error on every rank unless ghost is 0 to 4 and not more than the
    /// boxes' side, vectors is at least 1, the layout is for this world's ranks, and there is memory.
    box_grid(runtime::world& ranks, const box_layout& layout, int vectors, int ghost);

    [[nodiscard]] const box_layout& layout() const noexcept { return layout_; }
    [[nodiscard]] runtime::world& ranks() const noexcept { return *world_; }
    [[nodiscard]] int vectors() const noexcept { return vectors_; }
    [[nodiscard]] std::int64_t ghost() const noexcept { return ghost_; }
    [[nodiscard]] std::int64_t pitch() const noexcept { return pitch_; }
    [[nodiscard]] std::int64_t plane() const noexcept { return plane_; }
    [[nodiscard]] std::size_t bytes_per_rank(int rank) const;

    /// True where the box's owner shares memory with the caller.
    [[nodiscard]] bool mapped(std::int64_t box) const { return memory_.base(layout_.owner(box)) != nullptr; }
    /// Of a mapped box.
    [[nodiscard]] box_view<T> view(std::int64_t box, int vector) const {
        return {at(box, vector, {0, 0, 0}).local(), layout_.side(), ghost_, pitch_, plane_};
    }
    /// A cell of any box of any rank, counted from the box's first interior cell.
    [[nodiscard]] runtime::global_ptr<T> at(std::int64_t box, int vector, const index3& cell) const;

  private:
    runtime::world* world_;
    box_layout layout_;
    int vectors_;
    std::int64_t ghost_, pitch_, plane_;
    std::size_t vector_elements_; // of one box, with padding
    runtime::segment memory_;
};

/// A part of a vector on the way from one box to another: `from` in cells of the source's grid, ghosts included; moved by `shift` it lies in cells of
/// the target's.
struct box_transfer {
    std::int64_t source = 0, target = 0; ///< boxes
    domain from;
    index3 shift{};
};

/// Copies it with the runtime's strided copy; the grids may be one and the same. Non-blocking; see runtime::start_copy_strided().
template <class T>
[[nodiscard]] runtime::copy_handle start_copy(const box_grid<T>& source, const box_transfer& what, int source_vector,
                                              const box_grid<T>& target, int target_vector);
/// The same as part of a round of notified copies, from a mapped box.
template <class T>
void start_copy(runtime::notified_copies& round, const box_grid<T>& source, const box_transfer& what, int source_vector,
                const box_grid<T>& target, int target_vector);

} // namespace craton::array
