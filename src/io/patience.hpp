#pragma once

#include <craton/comm/communicator.hpp>

#include <chrono>
#include <list>
#include <string>

/// MPI-IO and HDF5 may keep some ranks waiting for ever in a call that fails on another (seen with Open MPI 4.1.4 and HDF5 1.10.8).
/// What cannot be led out of there is ended, with one line and exit code 2.
namespace craton::io {

/// True when the call that this rank has come back from was fine ("") on every rank. A rank on which it was not waits for the
/// others as long as patience allows: they may be in there still. Collective.
[[nodiscard]] bool fine_everywhere(const comm::communicator& ranks, const std::string& failure, double patience_s);

/// For its life: ends the job with this line when it lives longer than patience allows. One thread of the process watches them all:
/// one is made for each chunk of a file.
class deadline {
  public:
    deadline(int rank, std::string failure, double patience_s);
    deadline(const deadline&) = delete;
    deadline& operator=(const deadline&) = delete;
    ~deadline();

  private:
    struct watched {
        std::chrono::steady_clock::time_point end;
        int rank = 0;
        std::string failure;
        double patience_s = 0;
    };
    class watch;

    std::list<watched>::iterator own_;
};

} // namespace craton::io
