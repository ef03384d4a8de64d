#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>

namespace craton::bench {

/// Wall-clock seconds from a common start to the last end, and processor seconds of all that took part: on a machine that others
/// use too, the second says more about the code than the first.
struct time_taken {
    double wall_s = 0.0;
    double processor_s = 0.0;
};

/// Processor seconds that all threads of this process have used.
[[nodiscard]] double processor_seconds();

/// The first `size` ranks of a communicator, so that one job can measure several numbers of ranks in turn.
class team {
  public:
    /// Collective over `all`, which must outlive the team.
    team(MPI_Comm all, int size);
    team(const team&) = delete;
    team& operator=(const team&) = delete;
    ~team();

    [[nodiscard]] bool member() const { return comm_ != MPI_COMM_NULL; }
    [[nodiscard]] int rank() const { return rank_; } ///< -1 outside the team
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] MPI_Comm comm() const { return comm_; }

    /// Collective over all ranks: the members do the work while the others sleep, off the processor. Returns when all members are
    /// done.
    void alone(const std::function<void()>& work) const;

    /// Collective over the members: how long the work takes.
    [[nodiscard]] time_taken time(const std::function<void()>& work) const;
    /// Collective over the members: the sum modulo 2^64.
    [[nodiscard]] std::uint64_t sum(std::uint64_t value) const;

  private:
    MPI_Comm all_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = -1;
    int size_;
};

} // namespace craton::bench
