#pragma once

#include <craton/array/block_grid.hpp>
#include <craton/array/halo_turns.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/neighbour_sync.hpp>
#include <craton/runtime/notified_copies.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace craton::array {

/// Which of the cells round a block are wanted.
enum class halo_reach : std::uint8_t {
    faces, ///< off it in one dimension
    edges, ///< in one or two
    all    ///< corners too
};

/// The directions from a block to the blocks beside it, -1, 0 or 1 per dimension.
[[nodiscard]] std::vector<index3> sides_of(halo_reach reach);

/// Ghost planes that are wanted of an array along an axis (0, 1, 2: x, y, z): so many below a block's first plane, and so many
/// above its last.
struct ghost_planes {
    int array = 0, axis = 0;
    int low = 0, high = 0;
    friend constexpr bool operator==(const ghost_planes&, const ghost_planes&) = default;
};

/// How halos are filled: the ladder of Shan et al. 2015, figure 6, from its slowest step to its fastest. Every step includes those
/// before it.
enum class exchange_step : std::uint8_t {
    small_copies, ///< a copy by the runtime per contiguous piece, barriers
    local_loops,  ///< pieces of blocks in the same node's memory are copied by plain loops
    strided,      ///< one strided copy per halo piece
    neighbours,   ///< waits for the ranks beside it instead of all
    one_wait      ///< copies notify their target, and wait only for ranks that may still read the halo (double buffering: none)
};
/// From its name. Throws user_error for another.
[[nodiscard]] exchange_step exchange_step_named(std::string_view name);

/// How long a halo is read.
enum class halo_use : std::uint8_t {
    until_next_exchange, ///< of any array, by any exchange that shares the turns
    kept                 ///< longer: the next exchange of the array waits for all
};

/// How halos are exchanged.
struct exchange_options {
    exchange_step step = exchange_step::one_wait;
    /// Of a field on faces, 1 in the dimension that they are normal to: blocks at the end of the grid have a layer more than cells.
    index3 layers_on_top{};
    base::thread_team* team = nullptr; ///< shares the copies
    /// Shared by exchanges that every rank calls in the same order, also those of other grids; null: this one's own.
    std::shared_ptr<halo_turns> turns{};
};

/// Fills the ghosts of a grid from the blocks beside them, by copies from block to block: nothing is packed here. Ghosts outside a
/// grid that is not periodic stay as they are. The grid and the team must outlive it.
///
/// begin() copies what this rank's blocks give, finish() waits for what they get. In between the rank computes what needs no ghosts
/// of the arrays under way, and writes none of the cells that begin() reads off the node (they have been read when it returns).
///
/// A ghost may be overwritten when its rank is done with it. By the last step of the ladder nobody asks where the answer is known:
/// ghosts are read before the rank begins its next exchange and not after (halo_use), so data that has come from a rank in another
/// exchange since shows that it has read the ghosts of those before (halo_turns). Two exchanges that take turns, as a leapfrog's
/// velocities and stresses do, so never wait for readers. Between two ranks data travels both ways in every exchange, be it one
/// element that says no more.
template <class T> class halo_exchange {
  public:
    /// Collective. Of one array at a time, whichever: `depth` cells, at most the grid's ghost zone. Throws user_error on every
    /// rank.
    halo_exchange(const block_grid<T>& grid, halo_reach reach, std::int64_t depth, const exchange_options& options = {});
    /// Collective. Of some arrays together, faces only: the same `wanted` on every rank, each array and axis once at most. Throws
    /// user_error on every rank when an array, axis or depth is not the grid's, a pair comes twice, or ranks want different planes.
    halo_exchange(const block_grid<T>& grid, std::vector<ghost_planes> wanted, const exchange_options& options = {});

    /// Starts this rank's copies. Not blocking but for ranks that may still read; on a node copies are done on return, off it
    /// packed. Steps of the ladder below the last do all here. `array`: of an exchange of one array at a time.
    void begin(int array = 0);
    /// Blocking, polls: this rank's ghosts hold what the neighbours had when they began.
    void finish(halo_use use = halo_use::until_next_exchange);
    /// Collective; blocking, polls: both.
    void operator()(int array = 0, halo_use use = halo_use::until_next_exchange);
    /// Collective, blocking, polls: both, whatever was read or written before by whom.
    void fill(int array = 0);

    /// Ranks that this one exchanges with.
    [[nodiscard]] const std::vector<int>& neighbours() const noexcept { return neighbours_; }
    [[nodiscard]] const std::shared_ptr<halo_turns>& turns() const noexcept { return options_.turns; }
    [[nodiscard]] const std::vector<ghost_planes>& wanted() const noexcept { return wanted_; }
    /// Bytes that this rank sends to others in an exchange, those on its node included.
    [[nodiscard]] std::int64_t bytes_per_round() const noexcept;

  private:
    static constexpr int any_array = -1;
    // What an array gives and gets on a side of every block.
    struct piece {
        int array = any_array;
        index3 side{};
        std::int64_t given = 0, wanted = 0; // cells deep
    };
    struct copy {
        block_copy<T> of_first;                 // array, or of the only one
        std::size_t from_next = 0, to_next = 0; // elements to the next array
    };
    halo_exchange(const block_grid<T>& grid, const std::vector<piece>& pieces, std::vector<ghost_planes> wanted,
                  const exchange_options& options);

    void find_copies(const std::vector<piece>& pieces);
    void add_notices();
    void share_among(int threads);
    [[nodiscard]] block_copy<T> of(const copy& each, int array) const;
    [[nodiscard]] const void* key() const noexcept { return wanted_.empty() ? static_cast<const void*>(grid_) : this; }
    void copy_blocking(int array);
    void wait_for_others();
    void wait_for_readers(int array);
    // what(copy, its number) for copies first ... last - 1, shared by the team.
    template <class What> void for_each(std::size_t first, std::size_t last, const What& what);

    const block_grid<T>* grid_;
    std::vector<ghost_planes> wanted_;
    exchange_options options_;
    std::vector<copy> copies_; // those to other ranks first
    std::size_t to_other_ranks_ = 0;
    std::vector<int> neighbours_;
    std::vector<std::int64_t> incoming_; // elements from each neighbour
    bool alone_ = false;                 // one rank has all blocks: nobody waits for anybody
    runtime::neighbour_sync sync_;
    runtime::notified_copies rounds_;
    std::optional<runtime::segment> notices_; // element r: from rank r; the last one is what is sent
    std::vector<int> readers_;
    std::vector<runtime::copy_handle> under_way_;
    int array_ = -1; // of the exchange under way
};

} // namespace craton::array
