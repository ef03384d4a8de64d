#pragma once

#include "buffer_pool.hpp"
#include "doorbell.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/comm/mailbox.hpp>
#include <craton/comm/request_set.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace craton::runtime {

/// Messages on their way in. Several are received at once: a long one may have to wait for its sender, which must not keep the
/// others waiting, nor the caller. One thread at a time, but busy(): any.
class receive_queue {
  public:
    receive_queue(const comm::communicator& ranks, int tag, buffer_pool& pool, doorbell& bell)
        : mailbox_(ranks, tag), pool_(&pool), bell_(&bell) {}

    struct arrival {
        int source = -1;
        std::size_t bytes = 0;
        byte_buffer buffer;
    };
    /// The first that is whole. Never blocks.
    [[nodiscard]] std::optional<arrival> take();
    /// True while a message is being received.
    [[nodiscard]] bool busy() const noexcept { return busy_.load(std::memory_order_relaxed); }
    /// Where they come in: for ranks that wait in one call of MPI.
    [[nodiscard]] comm::mailbox& messages() noexcept { return mailbox_; }
    /// For teardown: receives that have not completed keep their buffers to the end of the process. True when there were any.
    bool abandon();

  private:
    void start_more();

    comm::mailbox mailbox_;
    buffer_pool* pool_;
    doorbell* bell_;
    comm::request_set requests_;
    std::vector<arrival> arrivals_; // at the same place as its request
    std::size_t bytes_under_way_ = 0;
    std::deque<arrival> whole_;
    std::atomic<bool> busy_{false};
};

} // namespace craton::runtime
