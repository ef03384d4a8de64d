#include <craton/array/halo_exchange.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace craton::array {

namespace {

constexpr std::array<std::pair<std::string_view, exchange_step>, 5> step_names{{{"small-copies", exchange_step::small_copies},
                                                                                {"local-loops", exchange_step::local_loops},
                                                                                {"strided", exchange_step::strided},
                                                                                {"neighbours", exchange_step::neighbours},
                                                                                {"one-wait", exchange_step::one_wait}}};

index3 opposite(const index3& side) { return {-side[0], -side[1], -side[2]}; }

domain with_layers(const box_layout& layout, std::int64_t box, const index3& on_top) {
    domain cells = layout.cells(box);
    for (std::size_t d = 0; d < 3; ++d) {
        if (cells.high[d] == layout.grid().high[d] && !layout.what().periodic[d]) cells.high[d] += on_top[d];
    }
    return cells;
}

// What a rank's boxes give to the halos round them: their cells that lie in a neighbour's halo.
std::vector<box_transfer> outgoing(const box_layout& layout, int rank, halo_reach reach, std::int64_t depth, const index3& on_top) {
    std::vector<box_transfer> found;
    for (const std::int64_t box : layout.boxes_of(rank)) {
        for (const index3& side : sides_of(reach)) {
            const auto [neighbour, shift] = layout.beside(box, side);
            if (neighbour < 0) continue;
            const domain halo = translate(halo_side(with_layers(layout, neighbour, on_top), opposite(side), depth), shift);
            found.push_back({box, neighbour, intersect(with_layers(layout, box, on_top), halo), opposite(shift)});
        }
    }
    return found;
}

} // namespace

std::vector<index3> sides_of(halo_reach reach) {
    const std::int64_t most = reach == halo_reach::faces ? 1 : reach == halo_reach::edges ? 2 : 3;
    std::vector<index3> found;
    for (std::int64_t k = -1; k <= 1; ++k) {
        for (std::int64_t j = -1; j <= 1; ++j) {
            for (std::int64_t i = -1; i <= 1; ++i) {
                const std::int64_t off = std::abs(i) + std::abs(j) + std::abs(k);
                if (off >= 1 && off <= most) found.push_back({i, j, k});
            }
        }
    }
    return found;
}

exchange_step exchange_step_named(std::string_view name) {
    for (const auto& [each, step] : step_names) {
        if (each == name) return step;
    }
    throw user_error(fmt::format("exchange step '{}'; allowed: small-copies, local-loops, strided, neighbours, one-wait", name));
}

template <class T>
halo_exchange<T>::halo_exchange(const box_grid<T>& grid, halo_reach reach, std::int64_t depth, exchange_step step,
                                const index3& layers_on_top, base::thread_team* team, std::shared_ptr<halo_turns> turns)
    : grid_(&grid), step_(step), outgoing_(outgoing(grid.layout(), grid.ranks().rank(), reach, depth, layers_on_top)),
      sync_(grid.ranks()), copies_(grid.ranks()), team_(team),
      turns_(turns ? std::move(turns) : std::make_shared<halo_turns>(grid.ranks().size())) {
    if (depth < 1 || depth > grid.ghost()) {
        throw user_error(fmt::format("halo exchange: depth {}; allowed: 1 to the ghost zone's {}", depth, grid.ghost()));
    }
    const int me = grid.ranks().rank();
    const auto owner = [&](const box_transfer& each) { return grid.layout().owner(each.target); };
    const auto own = std::ranges::stable_partition(outgoing_, [&](const auto& each) { return owner(each) != me; });
    to_other_ranks_ = static_cast<std::size_t>(own.begin() - outgoing_.begin());
    for (auto each = outgoing_.begin(); each != own.begin(); ++each) neighbours_.push_back(owner(*each));
    std::ranges::sort(neighbours_);
    neighbours_.erase(std::ranges::unique(neighbours_).begin(), neighbours_.end());
    alone_ = std::ssize(grid.layout().boxes_of(grid.layout().owner(0))) == grid.layout().boxes();
    for (const int rank : neighbours_) {
        std::int64_t elements = 0;
        for (const auto& each : outgoing(grid.layout(), rank, reach, depth, layers_on_top)) {
            if (owner(each) == me) elements += each.from.cells();
        }
        incoming_.push_back(elements);
    }
}

template <class T> void halo_exchange<T>::wait_for_others() {
    if (alone_) return;
    if (step_ < exchange_step::neighbours) {
        grid_->ranks().barrier();
    } else {
        sync_.synchronise(neighbours_);
    }
}

template <class T> void halo_exchange<T>::copy_piece_by_piece(const box_transfer& what, int vector) {
    auto row = what;
    for (std::int64_t k = what.from.low[2]; k < what.from.high[2]; ++k) {
        for (std::int64_t j = what.from.low[1]; j < what.from.high[1]; ++j) {
            row.from.low = {what.from.low[0], j, k};
            row.from.high = {what.from.high[0], j + 1, k + 1};
            under_way_.push_back(start_copy(*grid_, row, vector, *grid_, vector));
        }
    }
}

template <class T> template <class What> void halo_exchange<T>::for_each(std::size_t first, std::size_t last, const What& what) {
    const auto one = [&](std::int64_t n) {
        what(outgoing_[first + static_cast<std::size_t>(n)], first + static_cast<std::size_t>(n));
    };
    const auto count = static_cast<std::int64_t>(last - first);
    if (team_ != nullptr && count > 1) {
        team_->for_each(count, one);
    } else {
        for (std::int64_t n = 0; n < count; ++n) one(n);
    }
}

// Off the node a rank lets nothing into its memory before it is in the exchange itself.
template <class T> void halo_exchange<T>::wait_for_readers(int vector) {
    readers_.clear();
    for (const int rank : neighbours_) {
        if (grid_->ranks().shares_memory_with(rank) && !turns_->is_free(grid_, vector, rank)) readers_.push_back(rank);
    }
    sync_.synchronise(readers_);
}

// What goes to others is on its way while this rank's boxes copy from each other.
template <class T> void halo_exchange<T>::copy_notifying(int vector, halo_use use) {
    copies_.begin_round();
    wait_for_readers(vector);
    const auto copy = [&](const box_transfer& what, std::size_t) { start_copy(copies_, *grid_, what, vector, *grid_, vector); };
    for_each(0, to_other_ranks_, copy);
    copies_.end_round(neighbours_);
    for_each(to_other_ranks_, outgoing_.size(), copy);
    for (std::size_t n = 0; n < neighbours_.size(); ++n) {
        copies_.wait(neighbours_[n], incoming_[n]);
        turns_->received(grid_, vector, neighbours_[n], use == halo_use::kept);
    }
}

template <class T> void halo_exchange<T>::operator()(int vector, halo_use use) {
    if (step_ == exchange_step::one_wait) return copy_notifying(vector, use);
    wait_for_others();
    if (step_ == exchange_step::strided || step_ == exchange_step::neighbours) {
        under_way_.resize(outgoing_.size());
        for_each(0, outgoing_.size(), [&](const box_transfer& what, std::size_t n) {
            under_way_[n] = start_copy(*grid_, what, vector, *grid_, vector);
        });
    } else {
        under_way_.clear();
        for (const auto& each : outgoing_) {
            if (step_ == exchange_step::local_loops && grid_->mapped(each.target)) {
                under_way_.push_back(start_copy(*grid_, each, vector, *grid_, vector));
            } else {
                copy_piece_by_piece(each, vector);
            }
        }
    }
    for (auto& each : under_way_) each.wait();
    wait_for_others();
}

template class halo_exchange<float>;
template class halo_exchange<double>;

} // namespace craton::array
