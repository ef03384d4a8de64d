#pragma once

#include <array>
#include <chrono>
#include <cstddef>

namespace craton::comm {

enum class work { message, transfer, hand_on, bin, pack, merge, sweep, few };
inline constexpr int kinds_of_work = 8;

/// done() makes the clock of the calling rank advance by the time that this takes. Less than 0.1 ms is saved up, or what
/// save_up() said.
class work_time {
  public:
    explicit work_time(work what);
    void done(std::size_t units) const;

  private:
    work what_;
    std::chrono::steady_clock::time_point begin_; // of the machine's clock, when it is measured
};

/// Seconds per unit, of all ranks; 0 until it is set.
void set_time_of(work what, double seconds_per_unit);
/// Shorter work than this is saved up: each advance of a clock is an event of the simulator's.
void save_up(double seconds);

/// From now on work is measured by the machine's clock and takes no simulated time.
void measure_work();
/// Of all ranks so far.
struct measured_work {
    double seconds = 0.0;
    std::size_t units = 0;
};
[[nodiscard]] std::array<measured_work, kinds_of_work> work_so_far();

/// The clock of the calling rank advances. Nothing arrives for it meanwhile: as long as it computes, it does not look.
void compute(double seconds);

} // namespace craton::comm
