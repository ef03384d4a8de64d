#pragma once

#include <craton/comm/communicator.hpp>
#include <craton/comm/request.hpp>

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace craton::comm {

struct matched_message {
    int source = -1; ///< -1: nothing was there
    std::size_t bytes = 0;
};

/// As on a machine (include/craton/comm/mailbox.hpp), for an MPI without matched probes: receives from anyone are always posted, so
/// that a rank can wait for the next message and for other things in one call. They are taken in the order of posting. A simulated
/// message does not start before its receive, where a machine's short ones do: with several receives they overlap as there. No
/// message may be longer than longest_message.
class mailbox {
  public:
    static constexpr std::size_t longest_message = std::size_t{4} << 20;
    /// Of a mailbox made from now on, 1 or more. More of them take the simulator longer.
    static inline std::size_t receives = 1;

    mailbox(const communicator& ranks, int tag);
    mailbox(const mailbox&) = delete;
    mailbox& operator=(const mailbox&) = delete;
    ~mailbox();

    [[nodiscard]] matched_message match();
    [[nodiscard]] request start_receive(matched_message& message, std::span<std::byte> buffer);

    // For wait_for_any.
    [[nodiscard]] MPI_Request posted() const noexcept { return posted_[next_].request; }
    void set_completed(const MPI_Status& status);

  private:
    struct receive {
        std::unique_ptr<std::byte[]> buffer; // touched as far as messages reach
        MPI_Request request = MPI_REQUEST_NULL;
    };
    void post(receive& one);

    MPI_Comm comm_;
    int tag_;
    std::vector<receive> posted_;
    std::size_t next_ = 0;
    matched_message arrived_;
};

} // namespace craton::comm
