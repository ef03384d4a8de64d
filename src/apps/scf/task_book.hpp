#pragma once

#include <craton/apps/scf/fock_tasks.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::scf {

/// The tasks of all ranks, numbered rank by rank. Each rank keeps those that it made; who does another's reads them there.
class task_book {
  public:
    struct entry {
        fock_task task;
        float predicted = 0; // cost, relative
    };

    /// Collective, blocking. own: the tasks that this rank has made.
    task_book(runtime::world& ranks, std::span<const fock_task> own);

    /// Of all ranks.
    [[nodiscard]] std::int64_t size() const noexcept { return before_.back(); }
    /// What this rank has of it.
    [[nodiscard]] std::int64_t bytes() const;
    /// Writes the predicted costs of this rank's own tasks, which others see after a barrier.
    void predict(std::span<const double> costs);

    /// One thread's way to read entries: some together from other nodes, whose owners must poll or have a progress thread.
    class reader {
      public:
        explicit reader(const task_book& book) : book_(&book) {}
        /// Blocking, and polls, where it comes from another node.
        [[nodiscard]] entry at(std::int64_t task);
        /// Null where it would have to come from another node first. Until the next call of at().
        [[nodiscard]] const entry* at_hand(std::int64_t task) const;

      private:
        const task_book* book_;
        std::int64_t first_ = 0; // of those that came last
        std::vector<entry> from_elsewhere_;
    };

  private:
    [[nodiscard]] int owner(std::int64_t task) const;
    [[nodiscard]] runtime::global_ptr<entry> place(int rank, std::int64_t task) const;

    std::vector<std::int64_t> before_; // tasks of the ranks before each, and of all
    runtime::segment memory_;
};

} // namespace craton::scf
