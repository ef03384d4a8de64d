#include <craton/runtime/node.hpp>

#include <craton/base/error.hpp>
#include <craton/runtime/memory_file.hpp>

#include <utility>

namespace craton::runtime {

namespace {

// Trying it is the only sure test: containers may hide /proc/<pid>/fd of a neighbour.
bool can_share_memory(const comm::communicator& ranks) {
    try {
        const memory_file probe(ranks, 1);
        return true;
    } catch (const user_error&) {
        return false;
    }
}

node describe(const comm::communicator& world, comm::communicator ranks) {
    node result{std::move(ranks), {}, {}, 1, 1};
    const auto gathered = result.communicator.all_gather(world.rank());
    result.ranks = rank_places(std::vector<int>(gathered.begin(), gathered.end()));
    result.first_of.reserve(static_cast<std::size_t>(world.size()));
    for (const auto rank : world.all_gather(result.ranks.at(0))) result.first_of.push_back(static_cast<int>(rank));
    result.count = static_cast<int>(world.sum(result.communicator.rank() == 0 ? 1 : 0));
    result.most_ranks = static_cast<int>(world.maximum(result.communicator.size()));
    return result;
}

} // namespace

node make_node(const comm::communicator& world, int ranks_per_node) {
    comm::communicator ranks = world.split_shared_memory();
    if (ranks_per_node > 0) ranks = ranks.split(ranks.rank() / ranks_per_node);
    if (!can_share_memory(ranks)) ranks = ranks.split(ranks.rank());
    return describe(world, std::move(ranks));
}

} // namespace craton::runtime
