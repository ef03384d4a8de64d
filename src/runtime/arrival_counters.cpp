#include <craton/runtime/arrival_counters.hpp>

#include <craton/base/assert.hpp>

namespace craton::runtime {

arrival_counters::arrival_counters(world& ranks)
    : world_(&ranks), memory_(ranks, static_cast<std::size_t>(ranks.node().most_ranks) * sizeof(line)),
      mine_(lines_of(ranks.rank())), own_place_(ranks.node().ranks.of(ranks.rank())) {}

arrival_counters::line* arrival_counters::lines_of(int rank) const {
    std::byte* const base = memory_.base(rank);
    CRATON_ASSERT(base != nullptr);
    return reinterpret_cast<line*>(base); // zeroed memory is counters at zero
}

arrival_counters::counter& arrival_counters::at_neighbour(int target, std::int64_t round) const {
    return in(lines_of(target)[own_place_].counters, round);
}

arrival_counters::counter& arrival_counters::off_node(int source, std::int64_t round) {
    const std::lock_guard lock(mutex_);
    return in(off_node_[source], round);
}

arrival_counters::counter& arrival_counters::of(int source, std::int64_t round) {
    const int place = world_->node().ranks.of(source);
    return place < 0 ? off_node(source, round) : in(mine_[place].counters, round);
}

} // namespace craton::runtime
