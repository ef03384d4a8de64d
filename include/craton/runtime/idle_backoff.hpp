#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace craton::runtime {

/// How a thread that only polls spends the time when nothing arrives: it stays awake for a while after the last message, since
/// large transfers need attention, then sleeps in growing steps so that threads that compute have the cores.
class idle_backoff {
  public:
    void something_happened() noexcept { idle_polls_ = 0; }
    void pause() {
        if (++idle_polls_ < awake_polls) {
            std::this_thread::yield();
            return;
        }
        const auto sleep = std::min(longest_sleep, shortest_sleep * (1 + (idle_polls_ - awake_polls) / 16));
        std::this_thread::sleep_for(sleep);
    }

  private:
    static constexpr int awake_polls = 64;
    static constexpr std::chrono::microseconds shortest_sleep{20};
    static constexpr std::chrono::microseconds longest_sleep{500};
    int idle_polls_ = 0;
};

} // namespace craton::runtime
