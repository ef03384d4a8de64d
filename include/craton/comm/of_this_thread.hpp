#pragma once

namespace craton::comm {

/// The T of the calling thread. In a simulated build, whose ranks take turns on one thread: of the calling rank.
template <class T> T& of_this_thread() noexcept {
    thread_local T value{};
    return value;
}

} // namespace craton::comm
