#include <craton/array/halo_exchange.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

namespace craton::array {

namespace {

constexpr std::array<std::pair<std::string_view, exchange_step>, 5> step_names{{{"small-copies", exchange_step::small_copies},
                                                                                {"local-loops", exchange_step::local_loops},
                                                                                {"strided", exchange_step::strided},
                                                                                {"neighbours", exchange_step::neighbours},
                                                                                {"one-wait", exchange_step::one_wait}}};

index3 opposite(const index3& side) { return {-side[0], -side[1], -side[2]}; }

domain with_layers(const grid_layout& layout, std::int64_t block, const index3& on_top) {
    domain cells = layout.cells(block);
    for (std::size_t d = 0; d < 3; ++d) {
        if (cells.high[d] == layout.grid().high[d] && !layout.periodic()[d]) cells.high[d] += on_top[d];
    }
    return cells;
}

template <class T> std::string why_not(const block_grid<T>& grid, const std::vector<ghost_planes>& wanted) {
    for (auto each = wanted.begin(); each != wanted.end(); ++each) {
        if (each->array < 0 || each->array >= grid.arrays() || each->axis < 0 || each->axis > 2 || each->low < 0 ||
            each->high < 0 || each->low > grid.ghost() || each->high > grid.ghost()) {
            return fmt::format("halo exchange: {} planes below and {} above along axis {} of array {}; allowed: 0 to {} planes, "
                               "axis 0 to 2, array 0 to {}",
                               each->low, each->high, each->axis, each->array, grid.ghost(), grid.arrays() - 1);
        }
        const auto same = [&](const ghost_planes& other) { return other.array == each->array && other.axis == each->axis; };
        if (std::any_of(wanted.begin(), each, same)) {
            return fmt::format("halo exchange: axis {} of array {} is given twice; allowed: once", each->axis, each->array);
        }
    }
    return {};
}

std::string in_words(const std::vector<ghost_planes>& wanted) {
    std::string all;
    for (const auto& each : wanted)
        all += fmt::format("[array {} axis {}: {} below, {} above]", each.array, each.axis, each.low, each.high);
    return all.empty() ? "nothing" : all;
}

template <class T> void check(const block_grid<T>& grid, const std::vector<ghost_planes>& wanted) {
    const auto& communicator = grid.ranks().communicator();
    grid.ranks().barrier(); // polls, unlike what follows
    comm::agree(communicator, why_not(grid, wanted));
    const std::string own = in_words(wanted);
    const std::string first = communicator.broadcast(own);
    comm::agree(communicator, own == first
                                  ? ""
                                  : fmt::format("halo exchange: rank {} wants {} but rank 0 {}; allowed: the same on every rank",
                                                communicator.rank(), own, first));
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
halo_exchange<T>::halo_exchange(const block_grid<T>& grid, halo_reach reach, std::int64_t depth, const exchange_options& options)
    : halo_exchange(
          grid,
          [&] {
              if (depth < 1 || depth > grid.ghost()) {
                  throw user_error(fmt::format("halo exchange: depth {}; allowed: 1 to the ghost zone's {}", depth, grid.ghost()));
              }
              std::vector<piece> pieces;
              for (const index3& side : sides_of(reach)) pieces.push_back({any_array, side, depth, depth});
              return pieces;
          }(),
          {}, options) {}

template <class T>
halo_exchange<T>::halo_exchange(const block_grid<T>& grid, std::vector<ghost_planes> wanted, const exchange_options& options)
    : halo_exchange(
          grid,
          [&] {
              check(grid, wanted);
              std::vector<piece> pieces;
              for (const auto& each : wanted) {
                  index3 low{};
                  low[static_cast<std::size_t>(each.axis)] = -1;
                  pieces.push_back({each.array, low, each.high, each.low}); // what lies below wants planes above it
                  pieces.push_back({each.array, opposite(low), each.low, each.high});
              }
              return pieces;
          }(),
          wanted, options) {}

template <class T>
halo_exchange<T>::halo_exchange(const block_grid<T>& grid, const std::vector<piece>& pieces, std::vector<ghost_planes> wanted,
                                const exchange_options& options)
    : grid_(&grid), wanted_(std::move(wanted)), options_(options), sync_(grid.ranks()), rounds_(grid.ranks()) {
    if (!options_.turns) options_.turns = std::make_shared<halo_turns>();
    const auto& layout = grid.layout();
    alone_ = std::ssize(layout.blocks_of(layout.owner(0))) == layout.blocks();
    find_copies(pieces);
    add_notices();
    const auto elsewhere = [&](const copy& each) { return each.of_first.to.rank != grid.ranks().rank(); };
    to_other_ranks_ = static_cast<std::size_t>(std::ranges::stable_partition(copies_, elsewhere).begin() - copies_.begin());
    if (options_.team != nullptr) share_among(options_.team->size());
}

// What this rank's blocks give to the halos round them, and how many elements they get from whom.
template <class T> void halo_exchange<T>::find_copies(const std::vector<piece>& pieces) {
    const auto& layout = grid_->layout();
    const int me = grid_->ranks().rank();
    const index3& on_top = options_.layers_on_top;
    std::map<int, std::int64_t> incoming;
    for (const std::int64_t block : layout.blocks_of(me)) {
        const domain own = with_layers(layout, block, on_top);
        for (const auto& [array, side, given, wanted] : pieces) {
            const auto [neighbour, shift] = layout.beside(block, side);
            if (neighbour < 0 || (given == 0 && wanted == 0)) continue;
            const domain beside = translate(with_layers(layout, neighbour, on_top), shift);
            const int rank = layout.owner(neighbour);
            if (rank != me) incoming[rank] += intersect(beside, halo_side(own, side, wanted)).cells();
            const domain from = intersect(own, halo_side(beside, opposite(side), given));
            if (from.empty()) continue;
            const bool any = array == any_array;
            copies_.push_back(
                {copy_between(*grid_, {block, neighbour, from, opposite(shift)}, any ? 0 : array, *grid_, any ? 0 : array),
                 any ? grid_->array_elements(block) : 0, any ? grid_->array_elements(neighbour) : 0});
        }
    }
    for (const auto& [rank, elements] : incoming) {
        neighbours_.push_back(rank);
        incoming_.push_back(elements);
    }
}

// Where data travels one way only, an element travels the other way. Nobody reads it. Ranks of a node write it to places of their
// own; what comes from off the node is written by the target itself, in one place, one after the other.
template <class T> void halo_exchange<T>::add_notices() {
    auto& ranks = grid_->ranks();
    std::vector<int> silent; // this rank gives them nothing
    bool any = false;
    for (std::size_t n = 0; n < neighbours_.size(); ++n) {
        const auto to_it = [&](const copy& each) { return each.of_first.to.rank == neighbours_[n]; };
        const bool gives = std::ranges::any_of(copies_, to_it);
        if (!gives) silent.push_back(neighbours_[n]);
        any = any || !gives || incoming_[n] == 0;
        incoming_[n] = std::max<std::int64_t>(incoming_[n], 1);
    }
    ranks.barrier(); // polls, before a reduction that does not
    if (ranks.communicator().maximum(any ? 1 : 0) == 0) return;
    const auto from_afar = static_cast<std::size_t>(ranks.node().most_ranks);
    const auto given = from_afar + 1;
    notices_.emplace(ranks, (given + 1) * sizeof(T));
    for (const int rank : silent) {
        const auto own_place = static_cast<std::size_t>(ranks.node().ranks.of(ranks.rank()));
        const runtime::global_ptr<T> from{&*notices_, ranks.rank(), given * sizeof(T)};
        const runtime::global_ptr<T> to{&*notices_, rank, (ranks.shares_memory_with(rank) ? own_place : from_afar) * sizeof(T)};
        copies_.push_back({{from, to, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}});
    }
}

// A few large copies are cut along k, or along j where it is the k planes that travel. Off the node the runtime packs in one go.
template <class T> void halo_exchange<T>::share_among(int threads) {
    constexpr std::size_t enough_each = 8;
    if (to_other_ranks_ >= enough_each * static_cast<std::size_t>(threads)) return;
    std::vector<copy> cut;
    for (std::size_t n = 0; n < to_other_ranks_; ++n) {
        const auto& whole = copies_[n];
        const std::size_t along = whole.of_first.extents[0] >= threads ? 0 : 1;
        const std::int64_t extent = whole.of_first.extents[along];
        const std::int64_t parts =
            grid_->ranks().shares_memory_with(whole.of_first.to.rank) ? std::min<std::int64_t>(threads, extent) : 1;
        for (std::int64_t part = 0; part < parts; ++part) {
            const std::int64_t first = extent * part / parts;
            copy one = whole;
            one.of_first.extents[along] = extent * (part + 1) / parts - first;
            one.of_first.from = whole.of_first.from + static_cast<std::size_t>(first * whole.of_first.from_strides[along]);
            one.of_first.to = whole.of_first.to + static_cast<std::size_t>(first * whole.of_first.to_strides[along]);
            cut.push_back(one);
        }
    }
    const std::size_t before = to_other_ranks_;
    to_other_ranks_ = cut.size();
    cut.insert(cut.end(), copies_.begin() + static_cast<std::ptrdiff_t>(before), copies_.end());
    copies_ = std::move(cut);
}

template <class T> block_copy<T> halo_exchange<T>::of(const copy& each, int array) const {
    block_copy<T> found = each.of_first;
    found.from = found.from + static_cast<std::size_t>(array) * each.from_next;
    found.to = found.to + static_cast<std::size_t>(array) * each.to_next;
    return found;
}

template <class T> void halo_exchange<T>::wait_for_others() {
    if (alone_) return;
    if (options_.step < exchange_step::neighbours) {
        grid_->ranks().barrier();
    } else {
        sync_.synchronise(neighbours_);
    }
}

template <class T> template <class What> void halo_exchange<T>::for_each(std::size_t first, std::size_t last, const What& what) {
    const auto one = [&](std::int64_t n) {
        what(copies_[first + static_cast<std::size_t>(n)], first + static_cast<std::size_t>(n));
    };
    const auto count = static_cast<std::int64_t>(last - first);
    if (options_.team != nullptr && count > 1) {
        options_.team->for_each(count, one);
    } else {
        for (std::int64_t n = 0; n < count; ++n) one(n);
    }
}

// Off the node a rank lets nothing into its memory before it is in the exchange itself.
template <class T> void halo_exchange<T>::wait_for_readers(int array) {
    readers_.clear();
    for (const int rank : neighbours_) {
        if (grid_->ranks().shares_memory_with(rank) && !options_.turns->is_free(key(), array, rank)) readers_.push_back(rank);
    }
    sync_.synchronise(readers_);
}

// What goes to others is on its way while this rank's blocks copy from each other.
template <class T> void halo_exchange<T>::begin(int array) {
    CRATON_ASSERT(array_ < 0); // finish() comes before the next begin()
    CRATON_ASSERT(wanted_.empty() || array == 0);
    array_ = array;
    if (options_.step != exchange_step::one_wait) return copy_blocking(array);
    rounds_.begin_round();
    wait_for_readers(array);
    const auto start = [&](const copy& each, std::size_t) {
        const block_copy<T> what = of(each, array);
        rounds_.start(what.from, what.to, what.shape());
    };
    for_each(0, to_other_ranks_, start);
    rounds_.end_round(neighbours_);
    for_each(to_other_ranks_, copies_.size(), start);
}

template <class T> void halo_exchange<T>::finish(halo_use use) {
    CRATON_ASSERT(array_ >= 0);
    const int array = std::exchange(array_, -1);
    if (options_.step != exchange_step::one_wait) return;
    for (std::size_t n = 0; n < neighbours_.size(); ++n) {
        rounds_.wait(neighbours_[n], incoming_[n]);
        options_.turns->received(key(), array, neighbours_[n], use == halo_use::kept);
    }
}

template <class T> void halo_exchange<T>::operator()(int array, halo_use use) {
    begin(array);
    finish(use);
}

template <class T> void halo_exchange<T>::fill(int array) {
    options_.turns->forget(key(), array);
    (*this)(array);
}

// The steps of the ladder below the last.
template <class T> void halo_exchange<T>::copy_blocking(int array) {
    wait_for_others();
    const auto start = [](const block_copy<T>& what) { return runtime::start_copy_strided(what.from, what.to, what.shape()); };
    if (options_.step >= exchange_step::strided) {
        under_way_.resize(copies_.size());
        for_each(0, copies_.size(), [&](const copy& each, std::size_t n) { under_way_[n] = start(of(each, array)); });
    } else {
        under_way_.clear();
        for (const auto& each : copies_) {
            const block_copy<T> whole = of(each, array);
            if (options_.step == exchange_step::local_loops && whole.to.local() != nullptr) {
                under_way_.push_back(start(whole));
                continue;
            }
            for (std::int64_t k = 0; k < whole.extents[0]; ++k) {
                for (std::int64_t j = 0; j < whole.extents[1]; ++j) {
                    const auto to_row = [&](const auto& strides) {
                        return static_cast<std::size_t>(k * strides[0] + j * strides[1]);
                    };
                    block_copy<T> row = whole;
                    row.from = whole.from + to_row(whole.from_strides);
                    row.to = whole.to + to_row(whole.to_strides);
                    row.extents = {1, 1, whole.extents[2]};
                    under_way_.push_back(start(row));
                }
            }
        }
    }
    for (auto& each : under_way_) each.wait();
    wait_for_others();
}

template <class T> std::int64_t halo_exchange<T>::bytes_per_round() const noexcept {
    std::int64_t elements = 0;
    for (std::size_t n = 0; n < to_other_ranks_; ++n) elements += copies_[n].of_first.elements();
    return elements * static_cast<std::int64_t>(sizeof(T));
}

template class halo_exchange<float>;
template class halo_exchange<double>;

} // namespace craton::array
