#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace craton::array {

/// What update() does with its time (the parts of figure 4C of French et al. 2015).
enum class update_phase : int {
    binning, ///< dealing the indices out to the owners
    waiting, ///< for a stripe's lock, or for room among the bytes in flight (where the original allocates at the target)
    copying, ///< merging in place, or packing and starting messages
};

/// Processor-wide sums over all threads of this process, seconds of wall-clock time.
struct update_times {
    double binning_s = 0.0;
    double waiting_s = 0.0;
    double copying_s = 0.0;
};

/// Starts (from zero) or stops taking the times of update() calls in this process. Not collective, any thread. Off at first: clocks
/// cost some 50 ns for each part of an update.
void take_update_times(bool on) noexcept;
/// What has been taken since take_update_times(true).
[[nodiscard]] update_times taken_update_times() noexcept;

/// For the storey's own use: adds the time from its construction to its end to a phase, when times are taken.
class timed_phase {
  public:
    explicit timed_phase(update_phase phase) noexcept : phase_(phase), on_(taking_.load(std::memory_order_relaxed)) {
        if (on_) start_ = std::chrono::steady_clock::now();
    }
    timed_phase(const timed_phase&) = delete;
    timed_phase& operator=(const timed_phase&) = delete;
    ~timed_phase() {
        if (on_) add(phase_, std::chrono::steady_clock::now() - start_);
    }

  private:
    static void add(update_phase phase, std::chrono::steady_clock::duration time) noexcept;
    friend void take_update_times(bool on) noexcept;
    static inline std::atomic<bool> taking_{false};

    update_phase phase_;
    bool on_;
    std::chrono::steady_clock::time_point start_;
};

} // namespace craton::array
