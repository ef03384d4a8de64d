#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace craton::base {

/// A few threads that share short loops again and again, the caller one of them. Between loops the others look for work for some microseconds and then sleep.
class thread_team {
  public:
    /// `threads` includes the caller; throws user_error below 1.
    explicit thread_team(int threads);
    thread_team(const thread_team&) = delete;
    thread_team& operator=(const thread_team&) = delete;
    /// No loop may be under way.
    ~thread_team();

    [[nodiscard]] int size() const noexcept { return static_cast<int>(others_.size()) + 1; }

    /// what(n) for 0 <= n < count, each once, by whichever thread is free; returns when all are done, and everything that they wrote is seen.
    /// One loop at a time; not from within a loop. The first exception is thrown again when the loop has ended.
    void for_each(std::int64_t count, const std::function<void(std::int64_t)>& what);

  private:
    void work();
    void take_part();

    std::vector<std::thread> others_;
    std::atomic<std::uint32_t> loop_{0}; // goes up when a loop starts, or the team ends
    std::atomic<bool> ended_{false};
    const std::function<void(std::int64_t)>* what_ = nullptr;
    std::int64_t count_ = 0;
    std::atomic<std::int64_t> next_{0};
    std::atomic<int> still_in_{0};
    std::mutex failure_mutex_;
    std::exception_ptr failure_;
};

} // namespace craton::base
