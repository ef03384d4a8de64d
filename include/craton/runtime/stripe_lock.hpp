#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace craton::runtime {

/// A mutual exclusion that works between threads and between processes that map the same memory: a word of zeroed shared memory.
/// Test-and-test-and-set; yields the processor after a short spin, since there may be more ranks than cores.
class stripe_lock {
  public:
    /// As std::mutex has them: waits for the lock, tries once, gives it back.
    void lock() noexcept {
        int spins = 0;
        while (word_.exchange(1, std::memory_order_acquire) != 0) {
            while (word_.load(std::memory_order_relaxed) != 0) {
                if (++spins > spins_before_yield) std::this_thread::yield();
            }
        }
    }
    /// False when another holds it.
    [[nodiscard]] bool try_lock() noexcept {
        return word_.load(std::memory_order_relaxed) == 0 && word_.exchange(1, std::memory_order_acquire) == 0;
    }
    void unlock() noexcept { word_.store(0, std::memory_order_release); }

    /// For a count of something that the lock guards.
    [[nodiscard]] std::int64_t& count() noexcept { return count_; }

  private:
    static constexpr int spins_before_yield = 200;
    std::atomic<std::uint32_t> word_{0};
    std::int64_t count_ = 0;
    // One lock per cache line, so that neighbours do not slow each other.
    [[maybe_unused]] std::byte padding_[48]{};
};
static_assert(sizeof(stripe_lock) == 64 && std::atomic<std::uint32_t>::is_always_lock_free);

} // namespace craton::runtime
