#pragma once

#include <ctime>

namespace craton::tests {

/// What CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID says.
inline double cpu_seconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

} // namespace craton::tests
