#pragma once

#include <craton/runtime/segment.hpp>
#include <craton/runtime/world.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace craton::runtime {

/// What has come to each rank from each of the others, in counters that begin at zero. Neighbours on the node count in memory that
/// they share, one cache line for each source. For sources off the node a rank counts itself, by messages, and keeps counters only
/// for those that it deals with: its memory grows with the node and its neighbours, not with the world.
class arrival_counters {
  public:
    /// Rounds that follow each other count apart: there are two counters for a source and a target, for even and for odd rounds.
    static constexpr std::size_t turns = 2;
    using counter = std::atomic<std::int64_t>;

    /// Collective.
    explicit arrival_counters(world& ranks);

    /// A neighbour's counter of what comes from this rank. Any thread.
    [[nodiscard]] counter& at_neighbour(int target, std::int64_t round = 0) const;
    /// This rank's counter of a source off the node. It stays where it is. Any thread.
    [[nodiscard]] counter& off_node(int source, std::int64_t round = 0);
    /// This rank's counter of any source. Any thread.
    [[nodiscard]] counter& of(int source, std::int64_t round = 0);
    /// The same on every rank, and of no other segment or counters.
    [[nodiscard]] std::uint32_t name() const noexcept { return memory_.name(); }

  private:
    using pair = std::array<counter, turns>;
    struct alignas(64) line { // each is written by another rank
        pair counters;
    };
    static_assert(counter::is_always_lock_free && sizeof(line) == 64);
    [[nodiscard]] static counter& in(pair& counters, std::int64_t round) {
        return counters[static_cast<std::size_t>(round) % turns];
    }
    [[nodiscard]] line* lines_of(int rank) const;
    world* world_;
    segment memory_; // one line per source of the node, by its place there; as large on every rank as on the largest node
    line* mine_;
    int own_place_;
    std::mutex mutex_;
    std::unordered_map<int, pair> off_node_;
};

} // namespace craton::runtime
