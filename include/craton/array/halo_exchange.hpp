#pragma once

#include <craton/array/box_grid.hpp>
#include <craton/array/halo_turns.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/neighbour_sync.hpp>
#include <craton/runtime/notified_copies.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
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
    one_wait ///< copies notify their target, and wait only for ranks that may still be reading the halo (double buffering needs no wait)
};
/// From its name. Throws user_error for another.
[[nodiscard]] exchange_step exchange_step_named(std::string_view name);

/// How long a halo is read.
enum class halo_use : std::uint8_t {
    until_next_exchange, ///< of any vector, by any exchange that shares the turns
    kept                 ///< longer: the next exchange of the vector waits for all
};

/// Fills the halos of a box grid from the interiors beside them, by copies from box to box: nothing is packed here. Halos outside a grid that is not
/// periodic stay as they are.
template <class T> class halo_exchange {
  public:
    /// Collective. `depth` at most the grid's ghost zone. The grid must outlive this. `layers_on_top`: of a field on faces, 1 in the dimension that they are normal
    /// to: boxes at the end of the grid have a layer more than cells. `team`: shares the copies.
    /// `turns`: shared by exchanges that every rank calls in the same order, also those of other grids; null: this one's own.
    halo_exchange(const box_grid<T>& grid, halo_reach reach, std::int64_t depth, exchange_step step = exchange_step::one_wait,
                  const index3& layers_on_top = {}, base::thread_team* team = nullptr, std::shared_ptr<halo_turns> turns = nullptr);

    /// Collective; blocking, polls. When it returns, this rank's halos of `vector` hold what the neighbours' interiors did when they called.
    void operator()(int vector, halo_use use = halo_use::until_next_exchange);

    /// Ranks that this one exchanges with.
    [[nodiscard]] const std::vector<int>& neighbours() const noexcept { return neighbours_; }

  private:
    void copy_piece_by_piece(const box_transfer& what, int vector);
    void copy_notifying(int vector, halo_use use);
    void wait_for_others();
    void wait_for_readers(int vector);
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
    std::shared_ptr<halo_turns> turns_;
    std::vector<int> readers_;
    std::vector<runtime::copy_handle> under_way_;
};

} // namespace craton::array
