#pragma once

#include <cstdint>

namespace craton::bench {

/// A calculation that keeps one core busy and touches no memory: fused multiply-adds in registers.
class busy_work {
  public:
    /// Measures this core for some milliseconds; the best of several, so that a disturbance does not pass for a slow core.
    busy_work();
    /// Computes for about so many seconds: always the same amount of work, however long the core takes for it.
    void compute(double seconds) const;

  private:
    double steps_per_second_ = 0.0;
};

} // namespace craton::bench
