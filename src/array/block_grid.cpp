#include <craton/array/block_grid.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/base/up_to_multiple.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace craton::array {

namespace {

constexpr std::int64_t cache_line = 64;
constexpr std::int64_t page = 4096;
// Arrays smaller than this would lose too much to whole pages.
constexpr std::int64_t worth_whole_pages = 1 << 16;

template <class T> constexpr std::int64_t line = cache_line / static_cast<std::int64_t>(sizeof(T)); // elements

// Rows (planes) whose distance is a multiple of 512 bytes would have room in an eighth of a cache's sets.
template <class T> constexpr std::int64_t unlike_a_power_of_two(std::int64_t elements) {
    constexpr std::int64_t crowded = 512;
    return elements * static_cast<std::int64_t>(sizeof(T)) % crowded == 0 ? elements + line<T> : elements;
}

// In front of element (0, 0, 0): ghost planes and rows, and a line.
template <class T> std::int64_t elements_before(int ghost, const block_extents& e) { return ghost * (e.pitch + e.plane) + line<T>; }

template <class T> block_extents extents_of(const domain& cells, int ghost) {
    block_extents e{cells.extent(0), cells.extent(1), cells.extent(2), 0, 0};
    // The ghosts before a row share the padding with those behind the row before.
    e.pitch = unlike_a_power_of_two<T>(base::up_to_multiple(e.nx + 2 * ghost, line<T>));
    e.plane = unlike_a_power_of_two<T>(e.pitch * (e.ny + 2 * ghost));
    return e;
}

// Arrays of 64 KiB and more follow each other by 13 lines beyond a page's multiple, so that up to 64 begin at different places of a
// page, far from each other; smaller ones by a line more than they need.
template <class T> std::size_t array_size(const block_extents& e, int ghost) {
    const std::int64_t needed = elements_before<T>(ghost, e) + e.plane * (e.nz + ghost) + line<T>;
    const std::int64_t bytes = needed * static_cast<std::int64_t>(sizeof(T));
    constexpr std::int64_t stagger = 13 * cache_line;
    const std::int64_t staggered = bytes < worth_whole_pages ? base::up_to_multiple(bytes, cache_line) + cache_line
                                                             : base::up_to_multiple(bytes - stagger, page) + stagger;
    return static_cast<std::size_t>(staggered) / sizeof(T);
}

const grid_layout& checked(const grid_layout& layout, int ranks, int arrays, int ghost) {
    if (layout.ranks() != ranks) {
        throw user_error(fmt::format("grid: the layout is for {} ranks; allowed: the world's {}", layout.ranks(), ranks));
    }
    if (arrays < 1) throw user_error(fmt::format("grid: {} arrays; allowed: at least 1", arrays));
    constexpr int deepest = 4;
    const std::int64_t side = layout.thinnest();
    if (ghost < 0 || ghost > deepest || ghost > side) {
        throw user_error(
            fmt::format("grid: {} ghost cells on each side of blocks of {} cells; allowed: 0 to {}, and no more than a "
                        "block has",
                        ghost, side, deepest));
    }
    return layout;
}

} // namespace

template <class T>
block_grid<T>::block_grid(runtime::world& ranks, const grid_layout& layout, int arrays, int ghost, base::thread_team* team)
    : world_(&ranks), layout_(checked(layout, ranks.size(), arrays, ghost)), arrays_(arrays), ghost_(ghost),
      uniform_(layout.uniform()                    ? std::optional(first_room(0))
               : layout.blocks() <= layout.ranks() ? std::nullopt
                                                   : std::optional(largest_room())),
      alike_(layout.uniform()), memory_(ranks, bytes_per_rank(ranks.rank())) {
    touch(team);
    ranks.barrier(); // nobody writes here before
}

template <class T> typename block_grid<T>::block_room block_grid<T>::first_room(std::int64_t block) const {
    const block_extents e = extents_of<T>(layout_.cells(block), ghost_);
    return {e, static_cast<std::size_t>(elements_before<T>(ghost_, e)), array_size<T>(e, ghost_)};
}

template <class T> typename block_grid<T>::block_room block_grid<T>::largest_room() const {
    index3 most{};
    for (std::int64_t block = 0; block < layout_.blocks(); ++block) {
        const domain cells = layout_.cells(block);
        for (std::size_t d = 0; d < 3; ++d) most[d] = std::max(most[d], cells.extent(d));
    }
    const block_extents e = extents_of<T>({{0, 0, 0}, most}, ghost_);
    return {e, static_cast<std::size_t>(elements_before<T>(ghost_, e)), array_size<T>(e, ghost_)};
}

template <class T> std::size_t block_grid<T>::bytes_per_rank(int rank) const {
    std::size_t elements = 0;
    for (const std::int64_t block : layout_.blocks_of(rank)) elements += array_elements(block);
    return elements * static_cast<std::size_t>(arrays_) * sizeof(T);
}

// Pages are zero already; who touches one first has it near.
template <class T> void block_grid<T>::touch(base::thread_team* team) const {
    constexpr auto step = page / static_cast<std::int64_t>(sizeof(T));
    for (const std::int64_t block : layout_.blocks_of(world_->rank())) {
        const block_extents e = extents(block);
        const auto size = static_cast<std::int64_t>(array_elements(block));
        const auto touch_plane = [&](std::int64_t k) {
            for (int a = 0; a < arrays_; ++a) {
                T* const first = origin(block, a);
                T* const start = first - elements_before<T>(ghost_, e);
                T* const from = k == 0 ? start : first + k * e.plane;
                T* const to = k == e.nz - 1 ? start + size : first + (k + 1) * e.plane;
                for (T* each = from; each < to; each += step) *static_cast<volatile T*>(each) = T{};
                *static_cast<volatile T*>(to - 1) = T{};
            }
        };
        if (team != nullptr) {
            team->for_each(e.nz, touch_plane);
        } else {
            for (std::int64_t k = 0; k < e.nz; ++k) touch_plane(k);
        }
    }
    memory_.join_pages();
}

template <class T>
block_copy<T> copy_between(const block_grid<T>& source, const block_transfer& what, int source_array, const block_grid<T>& target,
                           int target_array) {
    const auto within = [](const index3& cell, const index3& low) {
        return index3{cell[0] - low[0], cell[1] - low[1], cell[2] - low[2]};
    };
    const domain& from = what.from;
    const domain to = translate(from, what.shift);
    const block_extents e = source.extents(what.source);
    const block_extents f = target.extents(what.target);
    return {source.at(what.source, source_array, within(from.low, source.layout().cells(what.source).low)),
            target.at(what.target, target_array, within(to.low, target.layout().cells(what.target).low)),
            {from.extent(2), from.extent(1), from.extent(0)},
            {e.plane, e.pitch, 1},
            {f.plane, f.pitch, 1}};
}

template class block_grid<float>;
template class block_grid<double>;
template block_copy<float> copy_between(const block_grid<float>&, const block_transfer&, int, const block_grid<float>&, int);
template block_copy<double> copy_between(const block_grid<double>&, const block_transfer&, int, const block_grid<double>&, int);

} // namespace craton::array
