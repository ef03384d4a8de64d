#pragma once

#include <craton/array/brick_layout.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace craton::array {

/// Which brick each rank should have so that neighbours are near each other in the machine's network (Cui et al. 2013, section VI).
/// Pure functions: no communication, the same result wherever they are called with the same arguments.

/// The nodes that a job has, and the network between them. Hops between two nodes:
///   torus      sum over the dimensions of weight * distance round the ring; 0 between nodes at one place (two nodes on a router)
///   dragonfly  1 on one router, 2 in one group, 3 between groups (whatever the groups' links)
/// and none within a node.
struct node_network {
    /// Which network it is.
    enum class kind : std::uint8_t { torus, dragonfly };
    kind what = kind::torus;
    std::vector<int> extents;         ///< torus: nodes round each dimension; dragonfly: empty
    std::vector<double> weights;      ///< torus: of a hop along each dimension, larger where links are slower
    int ranks_per_node = 1;           ///< node n has ranks n * ranks_per_node and so on; the last ones may have fewer or none
    std::vector<std::string> names;   ///< of the nodes
    std::vector<std::int32_t> places; ///< of each node in turn: its coordinates on the torus, or its group and its router within it

    /// Nodes of the list; numbers that say where one is; links between two of them.
    [[nodiscard]] int nodes() const noexcept { return static_cast<int>(names.size()); }
    [[nodiscard]] std::size_t dimensions() const noexcept { return what == kind::torus ? extents.size() : 2; }
    [[nodiscard]] double hops(int node, int other) const;
};

/// From a node list. A line each, empty lines and what follows # left out:
///     torus 24 24 24          or   dragonfly          first: the network; 1 to 6 dimensions
///     weights 1 2 1                                   torus, optional: of hops along each dimension, positive; 1 where not given
///     ranks_per_node 16                               optional: 1 where not given
///     nid00012 0 3 7          or   nid00012 4 13      name and coordinates (from 0), or name, group and router,
///                                                     in the order in which ranks fill nodes
/// Throws user_error that begins with `origin` (the file's path) and the line's number for anything else, a name that comes twice,
/// coordinates outside the torus, no nodes.
[[nodiscard]] node_network network_from_text(std::string_view text, std::string_view origin);

/// What crosses the faces between bricks in a step, of all pairs of neighbours.
struct placement_cost {
    double bytes = 0;          ///< in all
    double bytes_in_nodes = 0; ///< of them within nodes
    double hop_bytes = 0;      ///< sum of bytes times hops
    friend bool operator==(const placement_cost&, const placement_cost&) = default;
};

/// `bytes_per_face_cell`: what both sides together send through one cell of a face normal to x, y, z. Ranks are the layout's.
/// Throws user_error when the network has room for fewer.
[[nodiscard]] placement_cost cost_of(const brick_layout& layout, const std::array<double, 3>& bytes_per_face_cell,
                                     const node_network& network);

/// Which brick each rank should have, and what that saves.
struct placement {
    std::vector<int> brick_of_rank;     ///< for brick_layout
    placement_cost before, after;       ///< as the layout has it; with brick_of_rank
    std::array<std::int64_t, 3> tile{}; ///< bricks that most nodes have along x, y, z, when they make a box; else 0
};

/// Finds a placement with few hop-bytes, never more than the layout's own. Bricks are joined to node-sized boxes with small faces
/// where such boxes tile the process grid; boxes (else single bricks) and nodes are halved together, along the axis whose cut
/// carries least and along the network's widest dimension, in several orientations; then pairs of nodes and pairs of bricks are
/// swapped while that gains something, or until `evaluations` swaps have been looked at (a few microseconds each at most). Throws
/// user_error when the network has room for fewer ranks, or bytes or evaluations are negative.
[[nodiscard]] placement place_bricks(const brick_layout& layout, const std::array<double, 3>& bytes_per_face_cell,
                                     const node_network& network, std::int64_t evaluations = 20'000'000);

/// The placement as lines of text: hop-bytes and bytes within nodes, before and after.
[[nodiscard]] std::string in_words(const placement& found);

} // namespace craton::array
