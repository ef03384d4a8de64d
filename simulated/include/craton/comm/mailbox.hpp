#pragma once

#include <craton/comm/communicator.hpp>
#include <craton/comm/request.hpp>

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>

namespace craton::comm {

struct matched_message {
    int source = -1; ///< -1: nothing was there
    std::size_t bytes = 0;
};

/// As on a machine (include/craton/comm/mailbox.hpp), for an MPI without matched probes: a receive from anyone is always posted,
/// so that a rank can wait for the next message and for other things in one call. No message may be longer than longest_message.
class mailbox {
  public:
    static constexpr std::size_t longest_message = std::size_t{4} << 20;

    mailbox(const communicator& ranks, int tag);
    mailbox(const mailbox&) = delete;
    mailbox& operator=(const mailbox&) = delete;
    ~mailbox();

    [[nodiscard]] matched_message match();
    [[nodiscard]] request start_receive(matched_message& message, std::span<std::byte> buffer);

    // For wait_for_any.
    [[nodiscard]] MPI_Request posted() const noexcept { return posted_; }
    void set_completed(const MPI_Status& status);

  private:
    void post();

    MPI_Comm comm_;
    int tag_;
    std::unique_ptr<std::byte[]> buffer_; // touched as far as messages reach
    MPI_Request posted_ = MPI_REQUEST_NULL;
    matched_message arrived_;
};

} // namespace craton::comm
