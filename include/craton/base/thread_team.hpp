#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace craton::base {

/// A few threads that share short loops again and again, the caller one of them. Between loops the others look for work for some
/// microseconds and then sleep.
class thread_team {
  public:
    /// `threads` includes the caller; throws user_error below 1, and when the system starts no more.
    explicit thread_team(int threads);
    thread_team(const thread_team&) = delete;
    thread_team& operator=(const thread_team&) = delete;
    /// No loop may be under way.
    ~thread_team();

    /// Threads, the caller's among them.
    [[nodiscard]] int size() const noexcept { return static_cast<int>(others_.size()) + 1; }

    /// what(n) for 0 <= n < count, each once; returns when all are done, and everything that they wrote is seen. Loops of the same
    /// count give a thread the same n, which its caches may still have, until it is done with those and helps the others. One loop
    /// at a time; not from within a loop. The first exception is thrown again when the loop has ended.
    void for_each(std::int64_t count, const std::function<void(std::int64_t)>& what);

  private:
    // What is left of a thread's share, on a cache line of its own.
    struct alignas(64) share {
        std::atomic<std::int64_t> next{0};
        std::int64_t end = 0;
    };

    void end() noexcept;
    void work(std::size_t number);
    void take_part(std::size_t number);

    std::vector<std::thread> others_;
    std::atomic<std::uint32_t> loop_{0}; // goes up when a loop starts, or the team ends
    std::atomic<bool> ended_{false};
    const std::function<void(std::int64_t)>* what_ = nullptr;
    std::vector<share> shares_; // the caller's first
    std::atomic<int> still_in_{0};
    std::mutex failure_mutex_;
    std::exception_ptr failure_;
};

} // namespace craton::base
