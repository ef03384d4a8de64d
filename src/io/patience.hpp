#pragma once

#include <craton/comm/communicator.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

/// MPI-IO and HDF5 may keep some ranks waiting for ever in a call that fails on another (seen with Open MPI 4.1.4 and HDF5 1.10.8).
/// What cannot be led out of there is ended, with one line and exit code 2.
namespace craton::io {

/// True when the call that this rank has come back from was fine ("") on every rank. A rank on which it was not waits for the
/// others as long as patience allows: they may be in there still. Collective.
[[nodiscard]] bool fine_everywhere(const comm::communicator& ranks, const std::string& failure, double patience_s);

/// For its life: ends the job with this line when it lives longer than patience allows.
class deadline {
  public:
    deadline(int rank, std::string failure, double patience_s);
    deadline(const deadline&) = delete;
    deadline& operator=(const deadline&) = delete;
    ~deadline();

  private:
    std::mutex mutex_;
    std::condition_variable over_;
    bool is_over_ = false;
    std::thread watch_;
};

} // namespace craton::io
