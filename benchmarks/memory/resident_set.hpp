#pragma once

#include <atomic>
#include <thread>

namespace craton::bench {

/// Bytes of memory that this process has resident, from /proc/self/status. Zeros where there is no such file.
struct resident_set {
    double total = 0.0;
    double anonymous = 0.0;
    double shared = 0.0;
    double high_water = 0.0; ///< the kernel's mark of the largest total
    [[nodiscard]] static resident_set now();
};

/// Watches the resident set, a look every millisecond from a thread of its own, and resets the kernel's mark at the start where it
/// may.
class resident_set_watch {
  public:
    resident_set_watch();
    resident_set_watch(const resident_set_watch&) = delete;
    resident_set_watch& operator=(const resident_set_watch&) = delete;
    ~resident_set_watch() { static_cast<void>(stop()); }
    /// The largest of each since the start. high_water is at least the largest total seen.
    resident_set stop();

  private:
    void look();
    bool marked_ = false;
    resident_set peak_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

} // namespace craton::bench
