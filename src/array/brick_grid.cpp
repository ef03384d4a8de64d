#include <craton/array/brick_grid.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

namespace craton::array {

namespace {

constexpr std::int64_t cache_line = 64;
constexpr std::int64_t page = 4096;
constexpr std::int64_t row_unit = 16; // elements; a cache line of float

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// Rows (planes) whose distance is a multiple of 512 bytes would have room in an eighth of a cache's sets.
template <class T> constexpr std::int64_t unlike_a_power_of_two(std::int64_t elements) {
    constexpr std::int64_t crowded = 512;
    return elements * static_cast<std::int64_t>(sizeof(T)) % crowded == 0 ? elements + row_unit : elements;
}

// In front of element (0, 0, 0): ghost planes and rows, and a line.
std::int64_t elements_before(int ghost, const brick_extents& e) { return ghost * (e.pitch + e.plane) + row_unit; }

void check(const brick_layout& layout, int ranks, int arrays, int ghost) {
    if (layout.ranks() != ranks) {
        throw user_error(fmt::format("brick grid: the layout is for {} ranks; allowed: the world's {}", layout.ranks(), ranks));
    }
    if (arrays < 1) throw user_error(fmt::format("brick grid: {} arrays; allowed: at least 1", arrays));
    if (ghost < 0 || ghost > thinnest_brick)
        throw user_error(fmt::format("brick grid: {} ghost planes; allowed: 0 to {}", ghost, thinnest_brick));
}

} // namespace

template <class T>
brick_grid<T>::brick_grid(runtime::world& ranks, const brick_layout& layout, int arrays, int ghost, base::thread_team* team)
    : world_(&ranks), layout_((check(layout, ranks.size(), arrays, ghost), layout)), arrays_(arrays), ghost_(ghost),
      memory_(ranks, bytes_per_rank(ranks.rank())) {
    touch(team);
    ranks.barrier(); // nobody writes here before
}

template <class T> brick_extents brick_grid<T>::extents(int rank) const {
    const domain own = layout_.cells(rank);
    brick_extents e{own.extent(0), own.extent(1), own.extent(2), 0, 0};
    // The ghosts before a row share the padding with those behind the row before.
    e.pitch = unlike_a_power_of_two<T>(rounded_up(e.nx + 2 * ghost_, row_unit));
    e.plane = unlike_a_power_of_two<T>(e.pitch * (e.ny + 2 * ghost_));
    return e;
}

// From one array to the next: 13 lines of 64 bytes beyond a page's multiple, so that up to 64 arrays begin at different places of a page,
// far from each other.
template <class T> std::size_t brick_grid<T>::array_elements(int rank) const {
    const brick_extents e = extents(rank);
    const std::int64_t needed = elements_before(ghost_, e) + e.plane * (e.nz + ghost_) + row_unit;
    const std::int64_t bytes = needed * static_cast<std::int64_t>(sizeof(T));
    constexpr std::int64_t stagger = 13 * cache_line;
    return static_cast<std::size_t>(rounded_up(bytes - stagger, page) + stagger) / sizeof(T);
}

template <class T> std::size_t brick_grid<T>::bytes_per_rank(int rank) const {
    return (static_cast<std::size_t>(arrays_) * array_elements(rank) + notices) * sizeof(T);
}

template <class T> runtime::global_ptr<T> brick_grid<T>::at(int rank, int array, const index3& cell) const {
    const brick_extents e = extents(rank);
    const std::int64_t place = elements_before(ghost_, e) + e.at(cell[0], cell[1], cell[2]);
    return {&memory_, rank, (static_cast<std::size_t>(array) * array_elements(rank) + static_cast<std::size_t>(place)) * sizeof(T)};
}

template <class T> runtime::global_ptr<T> brick_grid<T>::notice(int rank, int number) const {
    return {&memory_, rank,
            (static_cast<std::size_t>(arrays_) * array_elements(rank) + static_cast<std::size_t>(number)) * sizeof(T)};
}

// Pages are zero already; who touches one first has it near.
template <class T> void brick_grid<T>::touch(base::thread_team* team) const {
    const brick_extents e = extents();
    const auto size = static_cast<std::int64_t>(array_elements(world_->rank()));
    constexpr auto step = page / static_cast<std::int64_t>(sizeof(T));
    const auto touch_plane = [&](std::int64_t k) {
        for (int a = 0; a < arrays_; ++a) {
            T* const first = view(a);
            T* const start = first - elements_before(ghost_, e);
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
    for (int n = 0; n < notices; ++n) *notice(world_->rank(), n).local() = T{};
    memory_.join_pages();
}

template class brick_grid<float>;
template class brick_grid<double>;

} // namespace craton::array
