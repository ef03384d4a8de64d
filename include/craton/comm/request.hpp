#pragma once

#include <mpi.h>

namespace craton::comm {

/// A started communication. Movable; must have completed (test() returned true) before it is destroyed.
class request {
  public:
    request() = default;
    explicit request(MPI_Request handle) : handle_(handle) {}
    request(request&& other) noexcept : handle_(other.handle_) { other.handle_ = MPI_REQUEST_NULL; }
    request& operator=(request&& other) noexcept {
        handle_ = other.handle_;
        other.handle_ = MPI_REQUEST_NULL;
        return *this;
    }
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    /// True once complete; gives MPI a chance to make progress. Any thread, one at a time per request.
    [[nodiscard]] bool test();
    /// Gives the handle away.
    [[nodiscard]] MPI_Request release() noexcept {
        const MPI_Request handle = handle_;
        handle_ = MPI_REQUEST_NULL;
        return handle;
    }

  private:
    MPI_Request handle_ = MPI_REQUEST_NULL;
};

} // namespace craton::comm
