#pragma once

#include <craton/array/box_grid.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/neighbour_sync.hpp>
#include <craton/runtime/notified_copies.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace craton::array {

/// Which of the cells round a box are wanted.
enum class halo_reach : std::uint8_t {
    faces, ///< off it in one dimension
    edges, ///< in one or two
    all    ///< corners too
};

/// The directions from a box to the boxes beside it, -1, 0 or 1 per dimension.
[[nodiscard]] std::vector<index3> sides_of(halo_reach reach);

/// How boxes' halos are filled: the ladder of Shan et al. 2015, figure 6, from its slowest step to its fastest. Every step includes those before it.
enum class exchange_step : std::uint8_t {
    small_copies, ///< a copy by the runtime per contiguous piece, barriers
    local_loops,  ///< pieces of boxes in the same node's memory are copied by plain loops
    strided,      ///< one strided copy per halo piece
    neighbours,   ///< waits for the ranks beside it instead of all
    one_wait ///< copies notify their target, and no wait before them where the caller says that the halo is not being read (double buffering)
};
/// From its name. Throws user_error for another.
[[nodiscard]] exchange_step exchange_step_named(std::string_view name);

/// Fills the halos of a box grid from the interiors beside them, by copies from box to box: nothing is packed here. Halos outside a grid that is not
/// periodic stay as they are.
template <class T> class halo_exchange {
  public:
    /// Collective. `depth` at most the grid's ghost zone. The grid must outlive this. `layers_on_top`: of a field on faces, 1 in the dimension that they are normal
    /// to: boxes at the end of the grid have a layer more than cells. `team`: shares the copies.
    halo_exchange(const box_grid<T>& grid, halo_reach reach, std::int64_t depth, exchange_step step = exchange_step::one_wait,
                  const index3& layers_on_top = {}, base::thread_team* team = nullptr);

    /// Collective; blocking, polls. When it returns, this rank's halos of `vector` hold what the neighbours' interiors did when they called.
    /// `halo_is_free`: since the last exchange of this vector every rank has exchanged another one after it last read this one's halo, so that nobody need be
    /// waited for before it is written.
    void operator()(int vector, bool halo_is_free = false);

    /// Ranks that this one exchanges with.
    [[nodiscard]] const std::vector<int>& neighbours() const noexcept { return neighbours_; }

  private:
    void copy_piece_by_piece(const box_transfer& what, int vector);
    void copy_notifying(int vector);
    void wait_for_others();
    // what(transfer, its number) for transfers first ... last - 1, shared by the team.
    template <class What> void for_each(std::size_t first, std::size_t last, const What& what);

    const box_grid<T>* grid_;
    exchange_step step_;
    std::vector<box_transfer> outgoing_; // those to other ranks first
    std::size_t to_other_ranks_ = 0;
    std::vector<int> neighbours_;
    bool alone_ = false;                 // one rank has all boxes: nobody waits for anybody
    std::vector<std::int64_t> incoming_; // elements from each neighbour
    runtime::neighbour_sync sync_;
    runtime::notified_copies copies_;
    base::thread_team* team_;
    std::vector<runtime::copy_handle> under_way_;
};

} // namespace craton::array
