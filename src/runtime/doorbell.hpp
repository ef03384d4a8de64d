#pragma once

#include <craton/comm/communicator.hpp>
#include <craton/runtime/memory_file.hpp>
#include <craton/runtime/rank_places.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace craton::runtime {

/// How ranks of one machine wake each other's sleeping threads: a word in memory that they share and a futex on it. MPI has no such
/// thing: without it a thread that waits for messages must wake up again and again to look. Any thread, but the constructor.
class doorbell {
  public:
    /// Collective. Where memory cannot be shared nobody can be woken, and sleeps are short.
    explicit doorbell(const comm::communicator& ranks);

    /// Wakes whoever sleeps at `rank`; a load and a comparison when nobody does, or when it is out of reach.
    void ring(int rank) noexcept;
    /// True when every rank of the world is within reach.
    [[nodiscard]] bool reaches_all() const noexcept { return reaches_all_; }
    /// Rings where ranks sleep though no message comes: on crowded machines, see crowded().
    void ring_if_crowded(int rank) noexcept {
        if (crowded_) ring(rank);
    }
    /// True where this machine has more ranks of the world than cores, or CRATON_CROWDED is set: those that wait sleep.
    [[nodiscard]] bool crowded() const noexcept { return crowded_; }

    /// A sleep that is announced while this lives; look once more for work before sleeping.
    class nap {
      public:
        explicit nap(doorbell& bell) noexcept : bell_(&bell), ticket_(bell.about_to_sleep()) {}
        nap(const nap&) = delete;
        nap& operator=(const nap&) = delete;
        ~nap() { bell_->stay_awake(); }
        /// Until rung after the announcement, or for so long. True when rung.
        bool sleep(std::chrono::microseconds at_most) noexcept { return bell_->sleep(ticket_, at_most); }

      private:
        doorbell* bell_;
        std::uint32_t ticket_;
    };

  private:
    struct bell;
    [[nodiscard]] std::uint32_t about_to_sleep() noexcept;
    bool sleep(std::uint32_t ticket, std::chrono::microseconds at_most) noexcept;
    void stay_awake() noexcept;
    [[nodiscard]] bell* at(int rank) const noexcept;

    memory_file memory_;
    rank_places neighbours_; // ranks of this machine; empty when memory cannot be shared
    int rank_;
    bool reaches_all_ = false;
    bool crowded_ = false;
};

} // namespace craton::runtime
