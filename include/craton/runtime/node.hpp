#pragma once

#include <craton/comm/communicator.hpp>
#include <craton/runtime/rank_places.hpp>

#include <vector>

namespace craton::runtime {

/// The ranks that share memory with this one.
struct node {
    comm::communicator communicator; ///< over the ranks of the node, in world order
    rank_places ranks;               ///< world ranks of the node; the place of each is its rank within the node
    std::vector<int> first_of;       ///< for each world rank the first world rank of its node: equal for ranks that share memory
    int count = 1;                   ///< nodes in the world
    int most_ranks = 1;              ///< of a node of the world: memory that is sized by it is as large on every rank

    /// Whether a rank of the world is on this node.
    [[nodiscard]] bool contains(int rank) const { return ranks.contains(rank); }
};

/// Finds the node of this rank. Collective. ranks_per_node = k > 0 splits each machine into virtual nodes of k consecutive ranks.
/// Where ranks of one machine cannot open each other's memory files, each becomes a node of its own.
[[nodiscard]] node make_node(const comm::communicator& world, int ranks_per_node);

} // namespace craton::runtime
