#pragma once

#include <thread>

namespace craton::runtime {

/// How a thread that waits for an answer spends the time between its polls: the answer is usually microseconds away, and who gives
/// up the core at once may have it back only after another's time slice; after that, others come first.
class spin_then_yield {
  public:
    /// After a poll that ran so many handlers.
    void after(int executed) noexcept {
        if (executed > 0) {
            idle_polls_ = 0;
        } else if (++idle_polls_ >= polls_before_yield) {
            std::this_thread::yield();
        }
    }

  private:
    static constexpr int polls_before_yield = 16;
    int idle_polls_ = 0;
};

} // namespace craton::runtime
