#include <craton/array/brick_exchange.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace craton::array {

namespace {

// Planes that travel to a neighbour on this side: below it lie this rank's cells when it is above.
int planes_sent(const brick_halo& what, int side) { return side > 0 ? what.low : what.high; }
int planes_received(const brick_halo& what, int side) { return side < 0 ? what.low : what.high; }

// Of a side of a brick: 0 to 5.
int number_of(int axis, int side) { return 2 * axis + (side > 0 ? 1 : 0); }

template <class T> std::string why_not(const brick_grid<T>& grid, const std::vector<brick_halo>& wanted) {
    for (auto each = wanted.begin(); each != wanted.end(); ++each) {
        if (each->array < 0 || each->array >= grid.arrays() || each->axis < 0 || each->axis > 2 || each->low < 0 ||
            each->high < 0 || each->low > grid.ghost() || each->high > grid.ghost()) {
            return fmt::format("brick exchange: {} planes below and {} above along axis {} of array {}; allowed: 0 to {} planes, "
                               "axis 0 to 2, array 0 to {}",
                               each->low, each->high, each->axis, each->array, grid.ghost(), grid.arrays() - 1);
        }
        const auto same = [&](const brick_halo& other) { return other.array == each->array && other.axis == each->axis; };
        if (std::any_of(wanted.begin(), each, same)) {
            return fmt::format("brick exchange: axis {} of array {} is given twice; allowed: once", each->axis, each->array);
        }
    }
    return {};
}

std::string in_words(const std::vector<brick_halo>& wanted) {
    std::string all;
    for (const auto& each : wanted)
        all += fmt::format("[array {} axis {}: {} below, {} above]", each.array, each.axis, each.low, each.high);
    return all.empty() ? "nothing" : all;
}

template <class T> void check(const brick_grid<T>& grid, const std::vector<brick_halo>& wanted) {
    const auto& communicator = grid.ranks().communicator();
    grid.ranks().barrier(); // polls, unlike what follows
    comm::agree(communicator, why_not(grid, wanted));
    const std::string own = in_words(wanted);
    const std::string first = communicator.broadcast(own);
    comm::agree(communicator, own == first
                                  ? ""
                                  : fmt::format("brick exchange: rank {} wants {} but rank 0 {}; allowed: the same on every rank",
                                                communicator.rank(), own, first));
}

} // namespace

template <class T>
brick_exchange<T>::brick_exchange(const brick_grid<T>& grid, std::vector<brick_halo> wanted, base::thread_team* team,
                                  std::shared_ptr<brick_rounds> rounds)
    : grid_(&grid), wanted_((check(grid, wanted), std::move(wanted))), team_(team),
      rounds_(rounds ? std::move(rounds) : std::make_shared<brick_rounds>(grid.ranks())) {
    find_copies();
    if (rounds_->neighbours_.empty()) rounds_->neighbours_ = neighbours_;
    CRATON_ASSERT(rounds_->neighbours_ == neighbours_); // rule 1
}

template <class T> void brick_exchange<T>::find_copies() {
    const auto& layout = grid_->layout();
    const int me = grid_->ranks().rank();
    for (int axis = 0; axis < 3; ++axis) {
        for (const int side : {-1, 1}) {
            const int neighbour = layout.beside(me, axis, side);
            if (neighbour < 0) continue;
            neighbours_.push_back(neighbour);
            // Every round brings word of every neighbour: see "Why nothing is overwritten".
            copies_.push_back(
                {grid_->notice(me, 6), grid_->notice(neighbour, number_of(axis, -side)), {1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
            std::int64_t elements = 1;
            for (const auto& what : wanted_) {
                if (what.axis != axis) continue;
                if (planes_sent(what, side) > 0) add_copy(what, side, neighbour);
                elements += planes_received(what, side) * layout.face_cells(me, axis);
            }
            arrivals_.push_back({neighbour, elements});
        }
    }
}

template <class T> void brick_exchange<T>::add_copy(const brick_halo& what, int side, int neighbour) {
    const int me = grid_->ranks().rank();
    const brick_extents own = grid_->extents(me);
    const brick_extents other = grid_->extents(neighbour);
    const auto d = static_cast<std::size_t>(what.axis);
    const index3 own_cells{own.nx, own.ny, own.nz};
    const index3 other_cells{other.nx, other.ny, other.nz};
    const std::int64_t planes = planes_sent(what, side);
    index3 from{};
    index3 to{};
    from[d] = side > 0 ? own_cells[d] - planes : 0;
    to[d] = side > 0 ? -planes : other_cells[d];
    index3 extents = own_cells;
    extents[d] = planes;
    const plane_copy whole{grid_->at(me, what.array, from),
                           grid_->at(neighbour, what.array, to),
                           {extents[2], extents[1], extents[0]},
                           {own.plane, own.pitch, 1},
                           {other.plane, other.pitch, 1}};
    // Off the node the runtime packs in one go.
    add_parts(whole, team_ != nullptr && grid_->ranks().shares_memory_with(neighbour) ? team_->size() : 1);
}

// Cut along k, or along j where it is the k planes that travel.
template <class T> void brick_exchange<T>::add_parts(const plane_copy& whole, int parts) {
    const std::size_t along = whole.extents[0] >= parts ? 0 : 1;
    for (int part = 0; part < parts; ++part) {
        const std::int64_t first = whole.extents[along] * part / parts;
        const std::int64_t last = whole.extents[along] * (part + 1) / parts;
        if (first == last) continue;
        plane_copy piece = whole;
        piece.extents[along] = last - first;
        piece.from = whole.from + static_cast<std::size_t>(first * whole.from_strides[along]);
        piece.to = whole.to + static_cast<std::size_t>(first * whole.to_strides[along]);
        copies_.push_back(piece);
    }
}

template <class T> void brick_exchange<T>::begin() {
    CRATON_ASSERT(!rounds_->under_way_);
    CRATON_ASSERT(rounds_->last_ != this); // rule 3
    rounds_->under_way_ = true;
    rounds_->last_ = this;
    auto& round = rounds_->copies_;
    round.begin_round();
    const auto start = [&](std::int64_t n) {
        const plane_copy& each = copies_[static_cast<std::size_t>(n)];
        round.start(each.from, each.to, {each.extents, each.from_strides, each.to_strides});
    };
    if (team_ != nullptr) {
        team_->for_each(std::ssize(copies_), start);
    } else {
        for (std::int64_t n = 0; n < std::ssize(copies_); ++n) start(n);
    }
    round.end_round(neighbours_);
}

template <class T> void brick_exchange<T>::finish() {
    CRATON_ASSERT(rounds_->under_way_ && rounds_->last_ == this);
    for (const auto& [rank, elements] : arrivals_) rounds_->copies_.wait(rank, elements);
    rounds_->under_way_ = false;
}

template <class T> void brick_exchange<T>::fill() {
    grid_->ranks().barrier();
    rounds_->last_ = nullptr;
    begin();
    finish();
}

template <class T> std::int64_t brick_exchange<T>::bytes_per_round() const noexcept {
    std::int64_t elements = 0;
    for (const auto& each : copies_) elements += each.extents[0] * each.extents[1] * each.extents[2];
    return elements * static_cast<std::int64_t>(sizeof(T));
}

template class brick_exchange<float>;
template class brick_exchange<double>;

} // namespace craton::array
