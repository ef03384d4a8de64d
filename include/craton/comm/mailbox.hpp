#pragma once

#include <craton/comm/communicator.hpp>
#include <craton/comm/request.hpp>

#include <mpi.h>

#include <cstddef>
#include <span>

namespace craton::comm {

/// A message that has arrived and that nobody else can receive any more: hand it to start_receive.
struct matched_message {
    int source = -1; ///< -1: nothing was there
    std::size_t bytes = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
};

/// Messages with one tag from any rank, in the order in which they come. Not collective; any thread. (Simulated builds have a
/// mailbox of their own: see docs/simulation.md.)
class mailbox {
  public:
    mailbox(const communicator& ranks, int tag) : comm_(ranks.native()), tag_(tag) {}

    /// Looks for a message. Does not block; makes MPI's progress when nothing is there.
    [[nodiscard]] matched_message match();
    /// Starts to receive it; `buffer` holds its bytes and must live until the request completes. Does not block: a long message may
    /// wait for its sender to look after it.
    [[nodiscard]] request start_receive(matched_message& message, std::span<std::byte> buffer);

  private:
    MPI_Comm comm_;
    int tag_;
};

} // namespace craton::comm
