#pragma once

#include "doorbell.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/comm/pending_sum.hpp>
#include <craton/runtime/memory_file.hpp>
#include <craton/runtime/node.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

namespace craton::runtime {

/// Sums of two integers over all ranks of a world: within a node in memory that its ranks share, between nodes by MPI. The last
/// rank of a node that comes hands out the totals, or, where there are several nodes, leaves that to the first rank, which then
/// waits for MPI. Whoever sleeps meanwhile is rung. One at a time: the next starts when the last is done. One thread of a rank.
class node_sum {
  public:
    using pair = std::array<std::int64_t, 2>;

    /// Collective.
    node_sum(const comm::communicator& world, const node& neighbours, doorbell& bell);
    ~node_sum();

    /// What this rank has written before is seen by every rank whose sum is done.
    void start(pair own);
    /// As a sum without numbers: a barrier, which MPI has sooner.
    void start_barrier();
    /// True when the totals are there. Never blocks.
    [[nodiscard]] bool test();
    [[nodiscard]] const pair& totals() const noexcept { return totals_; }
    /// True while what this rank waits for rings: not while it waits for MPI.
    [[nodiscard]] bool rings() const noexcept;
    /// What this rank waits for between nodes, or null: for ranks that wait in one call of MPI.
    [[nodiscard]] comm::pending_sum* crossing() noexcept { return crossing_ && !done_ ? &crossed_ : nullptr; }

  private:
    struct desk;
    [[nodiscard]] std::uint64_t all_have_come() const noexcept { return turn_ * neighbours_->ranks.size(); }
    [[nodiscard]] pair collect();
    void hand_out(pair totals);
    void come();

    const node* neighbours_;
    doorbell* bell_;
    std::unique_ptr<desk> alone_; // where a node has one rank
    memory_file memory_;          // of the first rank, where it has several
    desk* desk_ = nullptr;
    std::optional<comm::communicator> first_ranks_; // of all nodes, at each of them
    bool several_nodes_;
    bool between_nodes_ = false; // this rank is the one that waits for MPI
    std::uint64_t turn_ = 0;
    bool done_ = true;
    bool crossing_ = false;
    bool of_numbers_ = true;
    pair sum_{}, totals_{};
    comm::pending_sum crossed_;
};

} // namespace craton::runtime
