#include <craton/array/placement.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

namespace craton::array {

namespace {

using bytes3 = std::array<double, 3>;

struct link {
    int to = -1;
    double bytes = 0;
};

/// What crosses the faces of each brick, by brick's number; or those of each group of bricks.
using link_lists = std::vector<std::vector<link>>;

link_lists links_between_bricks(const brick_layout& layout, const bytes3& bytes_per_face_cell) {
    const brick_layout bricks(layout.grid().high, layout.processes());
    link_lists links(static_cast<std::size_t>(bricks.ranks()));
    for (int brick = 0; brick < bricks.ranks(); ++brick) {
        for (int axis = 0; axis < 3; ++axis) {
            for (const int side : {-1, 1}) {
                const int other = bricks.rank_beside(brick, axis, side);
                const double bytes =
                    bytes_per_face_cell[static_cast<std::size_t>(axis)] * static_cast<double>(bricks.face_cells(brick, axis));
                if (other >= 0) links[static_cast<std::size_t>(brick)].push_back({other, bytes});
            }
        }
    }
    return links;
}

std::vector<int> nodes_of_ranks(const node_network& network, int ranks) {
    const std::int64_t room = std::int64_t{network.nodes()} * network.ranks_per_node;
    if (room < ranks) {
        throw user_error(fmt::format("placement: {} ranks on {} nodes of {} ranks each; allowed: at most {} ranks, or more nodes",
                                     ranks, network.nodes(), network.ranks_per_node, room));
    }
    std::vector<int> nodes(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) nodes[static_cast<std::size_t>(rank)] = rank / network.ranks_per_node;
    return nodes;
}

placement_cost cost_of(const link_lists& links, const std::vector<int>& node_of_brick, const node_network& network) {
    placement_cost cost;
    for (std::size_t brick = 0; brick < links.size(); ++brick) {
        const int here = node_of_brick[brick];
        for (const auto& [other, bytes] : links[brick]) {
            if (std::cmp_less(other, brick)) continue; // each pair once
            const int there = node_of_brick[static_cast<std::size_t>(other)];
            cost.bytes += bytes;
            if (here == there) cost.bytes_in_nodes += bytes;
            cost.hop_bytes += bytes * network.hops(here, there);
        }
    }
    return cost;
}

/// Ways to give boxes of bricks to nodes by halving both together.
class bisection {
  public:
    /// `tile`: bricks of a box along each axis. One slot per box: the node that takes it.
    bisection(const brick_layout& layout, const bytes3& bytes_per_face_cell, const node_network& network, const index3& tile)
        : network_(&network), processes_(layout.processes()), tile_(tile) {
        const index3 cells = layout.grid().high;
        for (std::size_t d = 0; d < 3; ++d) {
            boxes_.high[d] = processes_[d] / tile[d];
            box_cells_[d] = static_cast<double>(cells[d]) / static_cast<double>(boxes_.high[d]);
            bytes_[d] = bytes_per_face_cell[d];
        }
    }

    /// The node of each brick. `orientation` > 0: halves are turned round at random, the same way for the same number.
    std::vector<int> place(std::vector<int> slots, std::uint32_t orientation) {
        random_.seed(orientation);
        turns_ = orientation > 0;
        follow_.reset();
        return start(slots);
    }
    /// The same with a dimension of the network for each axis of the bricks, while nodes differ in it.
    std::vector<int> place_along(std::vector<int> slots, const std::array<std::size_t, 3>& dimensions) {
        turns_ = false;
        follow_ = dimensions;
        return start(slots);
    }

  private:
    using slot = std::vector<int>::iterator;

    std::vector<int> start(std::vector<int>& slots) {
        node_of_brick_.assign(static_cast<std::size_t>(processes_[0] * processes_[1] * processes_[2]), -1);
        halve(boxes_, slots.begin(), slots.end());
        return node_of_brick_;
    }

    void halve(const domain& boxes, slot first, slot last) {
        if (boxes.cells() == 1) return give(boxes.low, *first);
        const std::size_t axis = lightest_cut(boxes);
        domain low = boxes;
        domain high = boxes;
        low.high[axis] = high.low[axis] = boxes.low[axis] + boxes.extent(axis) / 2;
        if (turns_ && (random_() & 1U) != 0) std::swap(low, high);
        sort_nodes(first, last, axis);
        const slot middle = first + static_cast<std::ptrdiff_t>(low.cells());
        halve(low, first, middle);
        halve(high, middle, last);
    }

    void give(const index3& box, int node) {
        for (std::int64_t r = box[2] * tile_[2]; r < (box[2] + 1) * tile_[2]; ++r) {
            for (std::int64_t q = box[1] * tile_[1]; q < (box[1] + 1) * tile_[1]; ++q) {
                for (std::int64_t p = box[0] * tile_[0]; p < (box[0] + 1) * tile_[0]; ++p)
                    node_of_brick_[static_cast<std::size_t>(p + processes_[0] * (q + processes_[1] * r))] = node;
            }
        }
    }

    [[nodiscard]] std::size_t lightest_cut(const domain& boxes) const {
        std::size_t best = 3;
        double least = 0;
        for (std::size_t d = 0; d < 3; ++d) {
            if (boxes.extent(d) < 2) continue;
            const std::size_t e = (d + 1) % 3;
            const std::size_t f = (d + 2) % 3;
            const double through = bytes_[d] * box_cells_[e] * box_cells_[f] * static_cast<double>(boxes.extent(e)) *
                                   static_cast<double>(boxes.extent(f));
            if (best == 3 || through < least) {
                best = d;
                least = through;
            }
        }
        return best;
    }

    void sort_nodes(slot first, slot last, std::size_t axis) const {
        const std::size_t n = network_->dimensions();
        const auto coordinate = [&](int node, std::size_t d) { return network_->places[static_cast<std::size_t>(node) * n + d]; };
        if (network_->what == node_network::kind::dragonfly) {
            std::sort(first, last, [&](int a, int b) {
                return std::tuple(coordinate(a, 0), coordinate(a, 1), a) < std::tuple(coordinate(b, 0), coordinate(b, 1), b);
            });
            return;
        }
        const auto [d, start] = dimension_to_halve(first, last, axis);
        const int extent = network_->extents[d];
        const auto along = [&, dimension = d, opening = start](int node) {
            return (coordinate(node, dimension) - opening + extent) % extent;
        };
        std::sort(first, last, [&](int a, int b) { return std::pair(along(a), a) < std::pair(along(b), b); });
    }

    // A dimension, and the coordinate at which its ring is opened: where the nodes leave the widest gap, so that a part that runs
    // over the ring's end stays together.
    [[nodiscard]] std::pair<std::size_t, int> dimension_to_halve(slot first, slot last, std::size_t axis) const {
        if (follow_) {
            const std::size_t d = (*follow_)[axis];
            const auto [opening, span] = opened(first, last, d);
            if (span > 1) return {d, opening};
        }
        std::pair<std::size_t, int> widest{};
        double most = -1;
        for (std::size_t d = 0; d < network_->dimensions(); ++d) {
            const auto [opening, span] = opened(first, last, d);
            const double width = (span - 1) * network_->weights[d];
            if (width <= most) continue;
            most = width;
            widest = {d, opening};
        }
        return widest;
    }

    // Where the nodes' coordinates begin behind the widest gap of the ring, and how many there are from there to the last.
    [[nodiscard]] std::pair<int, int> opened(slot first, slot last, std::size_t d) const {
        std::vector<int> on;
        for (auto each = first; each != last; ++each)
            on.push_back(network_->places[static_cast<std::size_t>(*each) * network_->dimensions() + d]);
        std::ranges::sort(on);
        const int extent = network_->extents[d];
        int start = on.front();
        int gap = on.front() + extent - on.back();
        for (std::size_t i = 1; i < on.size(); ++i) {
            if (on[i] - on[i - 1] > gap) {
                gap = on[i] - on[i - 1];
                start = on[i];
            }
        }
        return {start, extent - gap + 1};
    }

    const node_network* network_;
    index3 processes_, tile_;
    domain boxes_;
    bytes3 box_cells_{}, bytes_{};
    bool turns_ = false;
    std::optional<std::array<std::size_t, 3>> follow_;
    std::mt19937 random_;
    std::vector<int> node_of_brick_;
};

/// Swaps that lower hop-bytes.
class improvement {
  public:
    improvement(const link_lists& links, const node_network& network, std::vector<int>& node_of_brick, std::int64_t evaluations)
        : links_(&links), network_(&network), node_of_brick_(&node_of_brick), left_(evaluations) {
        for (const auto& each : links) {
            for (const auto& [other, bytes] : each) least_gain_ += 1e-12 * bytes; // less is rounding
        }
    }

    /// Swaps nodes' bricks at random, as many times, whatever that costs.
    void disturb(std::mt19937& random, int times) {
        auto& node_of = *node_of_brick_;
        std::vector<int> counts(static_cast<std::size_t>(network_->nodes()));
        for (const int node : node_of) ++counts[static_cast<std::size_t>(node)];
        for (int time = 0; time < times; ++time) {
            const int a = node_of[random() % node_of.size()];
            const int b = node_of[random() % node_of.size()];
            if (counts[static_cast<std::size_t>(a)] != counts[static_cast<std::size_t>(b)]) continue;
            for (int& node : node_of) node = node == a ? b : node == b ? a : node;
        }
    }

    /// Returns the evaluations that are left, none or more.
    std::int64_t run() {
        bool gained = true;
        while (gained && left_ > 0) {
            gained = swap_nodes();
            gained = swap_bricks() || gained;
        }
        return std::max<std::int64_t>(left_, 0);
    }

  private:
    // Change of hop-bytes when x and y, which lie on p and q, change places.
    [[nodiscard]] double change(const link_lists& links, const std::vector<int>& node_of, int x, int y) const {
        const int p = node_of[static_cast<std::size_t>(x)];
        const int q = node_of[static_cast<std::size_t>(y)];
        return moved(links, node_of, x, y, p, q) + moved(links, node_of, y, x, q, p);
    }
    [[nodiscard]] double moved(const link_lists& links, const std::vector<int>& node_of, int x, int y, int from, int to) const {
        double sum = 0;
        for (const auto& [other, bytes] : links[static_cast<std::size_t>(x)]) {
            if (other == y) continue; // as far apart as before
            const int there = node_of[static_cast<std::size_t>(other)];
            sum += bytes * (network_->hops(to, there) - network_->hops(from, there));
        }
        return sum;
    }

    // What a node has goes to another node that has as many, and the other way round.
    bool swap_nodes() {
        const int nodes = network_->nodes();
        left_ -= std::ssize(*links_); // for what follows
        std::vector<std::map<int, double>> sums(static_cast<std::size_t>(nodes));
        std::vector<int> bricks(static_cast<std::size_t>(nodes));
        for (std::size_t brick = 0; brick < links_->size(); ++brick) {
            const auto here = static_cast<std::size_t>((*node_of_brick_)[brick]);
            ++bricks[here];
            for (const auto& [other, bytes] : (*links_)[brick]) {
                const int there = (*node_of_brick_)[static_cast<std::size_t>(other)];
                if (std::cmp_not_equal(there, here)) sums[here][there] += bytes;
            }
        }
        link_lists groups(sums.size());
        for (std::size_t n = 0; n < sums.size(); ++n) {
            for (const auto& [other, bytes] : sums[n]) groups[n].push_back({other, bytes});
        }
        std::vector<int> node_of_group(static_cast<std::size_t>(nodes));
        std::iota(node_of_group.begin(), node_of_group.end(), 0);
        bool any = false;
        for (bool gained = true; gained && left_ > 0;) {
            gained = false;
            for (int x = 0; x < nodes && left_ > 0; ++x) {
                for (int y = x + 1; y < nodes && left_ > 0; ++y) {
                    if (bricks[static_cast<std::size_t>(x)] != bricks[static_cast<std::size_t>(y)]) continue;
                    --left_;
                    if (change(groups, node_of_group, x, y) >= -least_gain_) continue;
                    std::swap(node_of_group[static_cast<std::size_t>(x)], node_of_group[static_cast<std::size_t>(y)]);
                    gained = true;
                }
            }
            any = any || gained;
        }
        for (int& node : *node_of_brick_) node = node_of_group[static_cast<std::size_t>(node)];
        return any;
    }

    // A brick goes to the node of one beside it, for another of that node.
    bool swap_bricks() {
        auto& node_of = *node_of_brick_;
        std::vector<std::vector<int>> on(static_cast<std::size_t>(network_->nodes()));
        for (std::size_t brick = 0; brick < node_of.size(); ++brick)
            on[static_cast<std::size_t>(node_of[brick])].push_back(static_cast<int>(brick));
        bool any = false;
        for (int brick = 0; std::cmp_less(brick, node_of.size()) && left_ > 0; ++brick) {
            for (const auto& beside : (*links_)[static_cast<std::size_t>(brick)]) {
                const int here = node_of[static_cast<std::size_t>(brick)];
                const int there = node_of[static_cast<std::size_t>(beside.to)];
                if (here == there) continue;
                for (int& other : on[static_cast<std::size_t>(there)]) {
                    --left_;
                    if (change(*links_, node_of, brick, other) >= -least_gain_) continue;
                    std::swap(node_of[static_cast<std::size_t>(brick)], node_of[static_cast<std::size_t>(other)]);
                    *std::ranges::find(on[static_cast<std::size_t>(here)], brick) = other;
                    other = brick;
                    any = true;
                    break;
                }
            }
        }
        return any;
    }

    const link_lists* links_;
    const node_network* network_;
    std::vector<int>* node_of_brick_;
    std::int64_t left_;
    double least_gain_ = 0;
};

/// Boxes of as many bricks as a node has ranks, which tile the process grid; those with the smallest faces first.
std::vector<index3> tiles_of(const brick_layout& layout, const bytes3& bytes_per_face_cell, int bricks) {
    const index3 processes = layout.processes();
    const index3 cells = layout.grid().high;
    std::vector<std::pair<double, index3>> found;
    for (std::int64_t p = 1; p <= bricks; ++p) {
        for (std::int64_t q = 1; q <= bricks / p; ++q) {
            const index3 tile{p, q, bricks / p / q};
            if (tile[0] * tile[1] * tile[2] != bricks) continue;
            if (processes[0] % tile[0] != 0 || processes[1] % tile[1] != 0 || processes[2] % tile[2] != 0) continue;
            double off_node = 0;
            for (std::size_t d = 0; d < 3; ++d) {
                const double face = static_cast<double>(cells[(d + 1) % 3]) * static_cast<double>(cells[(d + 2) % 3]);
                off_node += static_cast<double>(processes[d] / tile[d] - 1) * face * bytes_per_face_cell[d];
            }
            found.emplace_back(off_node, tile);
        }
    }
    std::ranges::sort(found);
    std::vector<index3> tiles;
    for (const auto& each : found) tiles.push_back(each.second);
    return tiles;
}

/// Three different dimensions of a torus, where it has so many, in every order.
std::vector<std::array<std::size_t, 3>> choices_of_dimensions(const node_network& network) {
    const std::size_t n = network.dimensions();
    std::vector<std::array<std::size_t, 3>> found;
    if (network.what != node_network::kind::torus || n < 2) return found;
    for (std::size_t x = 0; x < n; ++x) {
        for (std::size_t y = 0; y < n; ++y) {
            for (std::size_t z = 0; z < n; ++z) {
                if (n == 2 ? x != y || y != z : x != y && y != z && x != z) found.push_back({x, y, z});
            }
        }
    }
    return found;
}

struct candidate {
    double hop_bytes = 0;
    std::vector<int> node_of_brick;
};

/// Where to begin: as it is, and bisections of boxes and of single bricks; the best few.
std::vector<candidate> candidates_of(const brick_layout& layout, const bytes3& bytes_per_face_cell, const node_network& network,
                                     const link_lists& links, const std::vector<int>& node_of_rank) {
    constexpr std::size_t most_tiles = 3;
    constexpr std::uint32_t orientations = 12;
    constexpr std::size_t most_candidates = 10;
    std::vector<candidate> found;
    const auto add = [&](std::vector<int> nodes) {
        const double hop_bytes = cost_of(links, nodes, network).hop_bytes;
        found.push_back({hop_bytes, std::move(nodes)});
    };
    const auto bisect = [&](const index3& tile, const std::vector<int>& slots) {
        bisection ways(layout, bytes_per_face_cell, network, tile);
        for (std::uint32_t orientation = 0; orientation < orientations; ++orientation) add(ways.place(slots, orientation));
        for (const auto& dimensions : choices_of_dimensions(network)) add(ways.place_along(slots, dimensions));
    };
    const int ranks = layout.ranks();
    const int each_has = std::min(ranks, network.ranks_per_node);
    if (ranks % each_has == 0 && each_has > 1) {
        std::vector<int> nodes(static_cast<std::size_t>(ranks / each_has));
        std::iota(nodes.begin(), nodes.end(), 0);
        auto tiles = tiles_of(layout, bytes_per_face_cell, each_has);
        tiles.resize(std::min(tiles.size(), most_tiles));
        for (const auto& tile : tiles) bisect(tile, nodes);
    }
    bisect({1, 1, 1}, node_of_rank);
    std::ranges::stable_sort(found, {}, &candidate::hop_bytes);
    found.resize(std::min(found.size(), most_candidates));
    std::vector<int> as_it_is(node_of_rank.size());
    for (int rank = 0; rank < ranks; ++rank)
        as_it_is[static_cast<std::size_t>(layout.brick_of(rank))] = node_of_rank[static_cast<std::size_t>(rank)];
    add(std::move(as_it_is));
    return found;
}

/// Out of what swaps of two cannot leave: a few at random, then those that gain, again and again, as long as that finds something
/// better now and then.
void disturb_and_improve(const link_lists& links, const node_network& network, std::vector<int>& best, double hop_bytes,
                         std::int64_t evaluations) {
    constexpr int patience = 200;
    std::mt19937 random; // the same each time
    for (int since_gain = 0; since_gain < patience && evaluations > 0; ++since_gain) {
        std::vector<int> trial = best;
        improvement swaps(links, network, trial, evaluations);
        swaps.disturb(random, 2 + since_gain % 3);
        evaluations = swaps.run();
        const double reached = cost_of(links, trial, network).hop_bytes;
        if (reached > hop_bytes) continue;
        if (reached < hop_bytes) since_gain = -1;
        hop_bytes = reached; // as good, but another: sideways is on the way to some
        best = std::move(trial);
    }
}

/// Bricks of a node go to its ranks; a brick that is on its node already stays with its rank.
std::vector<int> bricks_of_ranks(const brick_layout& layout, const std::vector<int>& node_of_brick,
                                 const std::vector<int>& node_of_rank) {
    std::vector<int> brick_of_rank(node_of_rank.size(), -1);
    std::vector<std::vector<int>> waiting(static_cast<std::size_t>(1 + *std::ranges::max_element(node_of_rank)));
    for (std::size_t brick = node_of_brick.size(); brick-- > 0;) {
        const auto rank = static_cast<std::size_t>(layout.rank_of(static_cast<int>(brick)));
        if (node_of_rank[rank] == node_of_brick[brick]) {
            brick_of_rank[rank] = static_cast<int>(brick);
        } else {
            waiting[static_cast<std::size_t>(node_of_brick[brick])].push_back(static_cast<int>(brick));
        }
    }
    for (std::size_t rank = 0; rank < brick_of_rank.size(); ++rank) {
        if (brick_of_rank[rank] >= 0) continue;
        auto& bricks = waiting[static_cast<std::size_t>(node_of_rank[rank])];
        brick_of_rank[rank] = bricks.back(); // the lowest
        bricks.pop_back();
    }
    return brick_of_rank;
}

/// The box of bricks that most nodes have.
index3 usual_tile(const brick_layout& layout, const std::vector<int>& node_of_brick, int nodes) {
    const brick_layout bricks(layout.grid().high, layout.processes());
    std::vector<domain> hulls(static_cast<std::size_t>(nodes));
    std::vector<std::int64_t> counts(static_cast<std::size_t>(nodes));
    for (int brick = 0; brick < bricks.ranks(); ++brick) {
        const auto node = static_cast<std::size_t>(node_of_brick[static_cast<std::size_t>(brick)]);
        const index3 place = bricks.place(brick);
        for (std::size_t d = 0; d < 3; ++d) {
            hulls[node].low[d] = counts[node] == 0 ? place[d] : std::min(hulls[node].low[d], place[d]);
            hulls[node].high[d] = counts[node] == 0 ? place[d] + 1 : std::max(hulls[node].high[d], place[d] + 1);
        }
        ++counts[node];
    }
    std::map<index3, int> found;
    int used = 0;
    for (std::size_t node = 0; node < hulls.size(); ++node) {
        used += counts[node] > 0 ? 1 : 0;
        if (counts[node] > 0 && counts[node] == hulls[node].cells())
            ++found[{hulls[node].extent(0), hulls[node].extent(1), hulls[node].extent(2)}];
    }
    for (const auto& [tile, times] : found) {
        if (2 * times > used) return tile;
    }
    return {};
}

} // namespace

placement_cost cost_of(const brick_layout& layout, const bytes3& bytes_per_face_cell, const node_network& network) {
    const auto node_of_rank = nodes_of_ranks(network, layout.ranks());
    std::vector<int> node_of_brick(node_of_rank.size());
    for (int rank = 0; rank < layout.ranks(); ++rank)
        node_of_brick[static_cast<std::size_t>(layout.brick_of(rank))] = node_of_rank[static_cast<std::size_t>(rank)];
    return cost_of(links_between_bricks(layout, bytes_per_face_cell), node_of_brick, network);
}

placement place_bricks(const brick_layout& layout, const bytes3& bytes_per_face_cell, const node_network& network,
                       std::int64_t evaluations) {
    if (std::ranges::any_of(bytes_per_face_cell, [](double b) { return !(b >= 0); }) || evaluations < 0) {
        throw user_error(fmt::format("placement: {}, {} and {} bytes per face cell and {} evaluations; allowed: none negative",
                                     bytes_per_face_cell[0], bytes_per_face_cell[1], bytes_per_face_cell[2], evaluations));
    }
    const auto node_of_rank = nodes_of_ranks(network, layout.ranks());
    const auto links = links_between_bricks(layout, bytes_per_face_cell);
    auto candidates = candidates_of(layout, bytes_per_face_cell, network, links, node_of_rank);
    placement found;
    found.before = cost_of(links, candidates.back().node_of_brick, network);
    std::int64_t left = evaluations;
    for (std::size_t n = 0; n < candidates.size(); ++n) { // what one does not need is for those after it
        const std::int64_t share = left / static_cast<std::int64_t>(candidates.size() - n);
        left += improvement(links, network, candidates[n].node_of_brick, share).run() - share;
        candidates[n].hop_bytes = cost_of(links, candidates[n].node_of_brick, network).hop_bytes;
    }
    auto [hop_bytes, best] = *std::ranges::min_element(candidates, {}, &candidate::hop_bytes);
    disturb_and_improve(links, network, best, hop_bytes, left);
    found.brick_of_rank = bricks_of_ranks(layout, best, node_of_rank);
    found.after = cost_of(links, best, network);
    found.tile = usual_tile(layout, best, network.nodes());
    return found;
}

std::string in_words(const placement& found) {
    const auto percent = [](double part, double whole) { return whole > 0 ? 100 * part / whole : 0.0; };
    const auto line = [&](const char* when, const placement_cost& cost) {
        return fmt::format("{}: {:.6g} hop-bytes per step, {:.6g} of {:.6g} bytes ({:.1f} %) within nodes\n", when, cost.hop_bytes,
                           cost.bytes_in_nodes, cost.bytes, percent(cost.bytes_in_nodes, cost.bytes));
    };
    std::string text = line("before", found.before) + line("after", found.after);
    if (found.tile[0] > 0) text += fmt::format("bricks of most nodes: {} x {} x {}\n", found.tile[0], found.tile[1], found.tile[2]);
    return text;
}

} // namespace craton::array
