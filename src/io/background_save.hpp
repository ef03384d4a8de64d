#pragma once

#include "hdf5_handle.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/comm/environment.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace craton::io {

/// A file that all ranks write together, each on a thread of its own, while its other threads go on. Called by one thread.
class background_save {
  public:
    background_save() = default;
    background_save(const background_save&) = delete;
    background_save& operator=(const background_save&) = delete;
    /// Waits.
    ~background_save() { static_cast<void>(wait()); }

    /// Collective, does not block once the one before has ended. `write` throws user_error on every rank or on none. It calls MPI
    /// on a duplicate of `ranks`, and has the turn of HDF5 (quiet_hdf5) from now on until it ends.
    void start(const comm::communicator& ranks, std::function<void(const comm::communicator&)> write);
    /// Not collective.
    [[nodiscard]] bool busy() const noexcept { return busy_.load(); }
    /// Blocks until the last one has ended. Returns "" or why that failed, once; "" where it was stopped. Not collective.
    [[nodiscard]] std::string wait();
    /// Ends the one under way at its next piece, on all ranks. Not collective, does not block.
    void stop() noexcept { stop_.store(true); }
    /// For transfer_options.
    [[nodiscard]] const std::atomic<bool>& stopped() const noexcept { return stop_; }

  private:
    std::thread thread_;
    std::atomic<bool> busy_{false}, stop_{false};
    std::string failure_; // the thread's until it has been joined
    comm::environment::finalise_hook hook_;
};

} // namespace craton::io
