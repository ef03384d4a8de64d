#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::comm {

/// A sum over ranks in steps along a binomial tree and back: the simulator's own non-blocking collectives cannot be waited for
/// together with messages. One receive is under way at a time.
class pending_sum {
  public:
    pending_sum() = default;
    pending_sum(MPI_Comm comm, std::span<const std::int64_t> in, std::span<std::int64_t> out);

    [[nodiscard]] bool test();

    // For wait_for_any.
    [[nodiscard]] MPI_Request awaited() const noexcept { return awaited_; }
    void set_completed() noexcept { awaited_ = MPI_REQUEST_NULL; }

  private:
    void receive(int source);
    void send(int target) const;
    void go_on();

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
    std::span<std::int64_t> out_;
    std::vector<std::int64_t> arrived_;
    MPI_Request awaited_ = MPI_REQUEST_NULL;
    int distance_ = 1; // to the next partner on the way to the root, then to that on the way back
    enum class stage { collecting, waiting_for_total, done } stage_ = stage::done;
    bool receiving_ = false;
};

} // namespace craton::comm
