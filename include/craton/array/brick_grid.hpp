#pragma once

#include <craton/array/brick_layout.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/world.hpp>

#include <cstddef>
#include <cstdint>

namespace craton::array {

/// How an array of a brick lies: element (i, j, k) at first[i + j * pitch + k * plane]; i from -ghost to nx + ghost - 1, likewise j and k.
struct brick_extents {
    std::int64_t nx = 0, ny = 0, nz = 0;
    std::int64_t pitch = 0, plane = 0; ///< elements from row to row and from plane to plane; multiples of 16

    [[nodiscard]] constexpr std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t k) const {
        return i + j * pitch + k * plane;
    }
    friend constexpr bool operator==(const brick_extents&, const brick_extents&) = default;
};

/// Several arrays on the cells of a brick layout, with ghost planes round every brick, in one segment of memory that any rank can name. The
/// element (i = 0, j, k) of every row begins a cache line, a line of padding lies before the first row and after the last, and consecutive
/// arrays, rows and planes do not begin at the same place of a page, so that the many streams of a kernel do not fight for the same lines
/// of a cache. Instantiated for float and double.
template <class T> class brick_grid {
  public:
    /// Collective. All elements, ghosts too, are zero, and have been touched first by their own rank; with a team, planes k by the thread
    /// that gets k of a loop over nz. Throws user_error on every rank unless ghost is 0 to 4, arrays is at least 1, the layout is for this
    /// world's ranks, and there is memory. The world must outlive it.
    brick_grid(runtime::world& ranks, const brick_layout& layout, int arrays, int ghost = 2, base::thread_team* team = nullptr);

    [[nodiscard]] const brick_layout& layout() const noexcept { return layout_; }
    [[nodiscard]] runtime::world& ranks() const noexcept { return *world_; }
    [[nodiscard]] int arrays() const noexcept { return arrays_; }
    [[nodiscard]] int ghost() const noexcept { return ghost_; }
    /// This rank's brick, in cells of the whole grid.
    [[nodiscard]] domain cells() const { return layout_.cells(world_->rank()); }
    /// This rank's, or another's.
    [[nodiscard]] brick_extents extents() const { return extents(world_->rank()); }
    [[nodiscard]] brick_extents extents(int rank) const;
    /// Element (0, 0, 0) of an array of this rank.
    [[nodiscard]] T* view(int array) const { return at(world_->rank(), array, {0, 0, 0}).local(); }
    /// An element of an array of any rank, counted from that brick's first cell.
    [[nodiscard]] runtime::global_ptr<T> at(int rank, int array, const index3& cell) const;
    [[nodiscard]] std::size_t bytes_per_rank(int rank) const;

    /// For brick_exchange: elements of a rank behind its arrays, 0 to 5 for what comes from its sides and says no more than that it has
    /// come, 6 for what is sent so.
    static constexpr int notices = 7;
    [[nodiscard]] runtime::global_ptr<T> notice(int rank, int number) const;

  private:
    [[nodiscard]] std::size_t array_elements(int rank) const;
    void touch(base::thread_team* team) const;

    runtime::world* world_;
    brick_layout layout_;
    int arrays_, ghost_;
    runtime::segment memory_;
};

} // namespace craton::array
