#pragma once

#include <craton/apps/tomography/assembly.hpp>
#include <craton/base/timer.hpp>
#include <craton/runtime/counter.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace craton::tomography {

/// Hands out paths, or stacks of them, to the threads of all ranks: each rank takes subsets from a shared counter, its threads take
/// paths from the subset.
class path_team {
  public:
    /// Collective.
    path_team(runtime::world& ranks, std::int64_t paths, const team_options& options);

    /// Runs work(thread, path) for every path, somewhere, once; or, where the options ask for a pause, for those handed out until
    /// then. Collective, blocking; the calling thread polls and reports progress. Rethrows the first exception of this rank's
    /// threads. Returns the seconds spent running handlers.
    double run(const std::function<void(int thread, std::int64_t path)>& work);

  private:
    [[nodiscard]] std::int64_t next_path();
    void fail_with_current_exception();
    void report_progress();
    void pause_if_due();
    [[nodiscard]] std::int64_t handed_out();
    void work_until_done(int thread, const std::function<void(int, std::int64_t)>& work);

    runtime::world* world_;
    std::int64_t paths_;
    const team_options* options_;
    runtime::counter subsets_taken_;
    std::mutex mutex_;
    std::int64_t next_ = 0;
    std::int64_t subset_end_ = 0;
    base::timer since_start_;
    std::atomic<std::int64_t> taken_at_pause_{-1}; // rank 0's; -1 without a pause
    std::atomic<bool> stop_{false};
    std::atomic<int> working_{0};
    std::exception_ptr failure_;
};

} // namespace craton::tomography
