#include "file_lock.hpp"

#include <craton/base/timer.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

namespace craton::io {

file_lock::~file_lock() {
    if (file_ >= 0) ::close(file_);
}

std::string file_lock::take(const std::string& path, double patience_s) {
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); // POSIX's own signature
    if (file_ < 0) return fmt::format("{} when opening '{}'", std::error_code(errno, std::generic_category()).message(), path);
    const base::timer waited;
    while (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return {}; // no locks here
        if (waited.seconds() > patience_s) return fmt::format("another job has held '{}' for {} s", path, patience_s);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return {};
}

} // namespace craton::io
