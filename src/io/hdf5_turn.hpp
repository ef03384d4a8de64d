#pragma once

namespace craton::io {

/// HDF5, as distributions build it for MPI, serves one thread of a process at a time. A turn is held by the thread that took it,
/// which may take it again within; other threads wait for it. A collective call on a file takes its turn on every rank at the same
/// place of the program, so that ranks never wait for one another crosswise.
class hdf5_turn {
  public:
    /// Waits until no other thread has it.
    hdf5_turn();
    hdf5_turn(const hdf5_turn&) = delete;
    hdf5_turn& operator=(const hdf5_turn&) = delete;
    ~hdf5_turn();

    /// From now on it is another thread's, the one that will destroy it: the caller waits like others. Not for one taken within
    /// another.
    void hand_over();
};

} // namespace craton::io
