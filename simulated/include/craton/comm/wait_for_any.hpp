#pragma once

#include <craton/comm/mailbox.hpp>
#include <craton/comm/pending_sum.hpp>
#include <craton/comm/request_set.hpp>

#include <vector>

namespace craton::comm {

/// What a rank waits for.
struct awaited_things {
    std::vector<request_set*> sends;
    std::vector<mailbox*> messages;
    pending_sum* sum = nullptr; ///< may be null
};

/// Blocks, in one call of MPI, until one of them has completed, a message has arrived or an alarm of this rank has rung; returns at
/// once where one had. Throws std::logic_error where there is nothing to wait for.
void wait_for_any(const awaited_things& things);

/// A second clock for a rank, which rings while the rank waits for messages. It is a rank of its own, on the same host, that
/// sleeps: MPI knows no deadline. Half of all ranks are clocks: keep_time() is all that they do.
class alarm_clock {
  public:
    /// Of this rank; `clock_rank` is its clock's number in MPI_COMM_WORLD.
    explicit alarm_clock(int clock_rank);
    alarm_clock(const alarm_clock&) = delete;
    alarm_clock& operator=(const alarm_clock&) = delete;
    /// Lets the clock go.
    ~alarm_clock();

    /// Rings after so many seconds. One alarm at a time.
    void set(double seconds);
    [[nodiscard]] bool rang();

    /// What the clock of `rank` does until that rank lets it go.
    static void keep_time(int rank);

  private:
    friend void wait_for_any(const awaited_things& things);
    int clock_rank_;
    MPI_Request ring_ = MPI_REQUEST_NULL;
    char word_ = 0;
};

} // namespace craton::comm
