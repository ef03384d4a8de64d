#pragma once

#include <string>

namespace craton::io {

/// An exclusive lock (flock) on a file beside the one that it protects. The system lets go of it when the process ends, however
/// that ends; the empty file stays and does no harm. Where the file system knows no locks there is none.
class file_lock {
  public:
    file_lock() = default;
    file_lock(const file_lock&) = delete;
    file_lock& operator=(const file_lock&) = delete;
    ~file_lock();

    /// Takes the lock, waiting up to so many seconds. Returns "" or why not.
    [[nodiscard]] std::string take(const std::string& path, double patience_s);

  private:
    int file_ = -1;
};

} // namespace craton::io
