#include "patience.hpp"

#include <craton/base/error.hpp>
#include <craton/base/timer.hpp>
#include <craton/comm/environment.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

namespace craton::io {

namespace {

[[noreturn]] void end_job(int rank, const std::string& failure, double patience_s) {
    comm::environment::abort(
        fmt::format("craton: error: rank {}: {}: not all ranks have come back from it within {} s; allowed: a disk that "
                    "works and has room, or more patience (CRATON_IO_PATIENCE, in seconds)",
                    rank, failure, patience_s),
        exit_user_error);
}

} // namespace

bool fine_everywhere(const comm::communicator& ranks, const std::string& failure, double patience_s) {
    const std::array<std::int64_t, 1> own{failure.empty() ? 0 : 1};
    std::array<std::int64_t, 1> failed{};
    auto request = ranks.start_sum(own, failed);
    const base::timer waited;
    while (!request.test()) {
        // A transfer takes milliseconds: a rank that waits longer than that for the others leaves its core to them.
        if (waited.seconds() < 1e-3) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        if (!failure.empty() && waited.seconds() > patience_s) end_job(ranks.rank(), failure, patience_s);
    }
    return failed[0] == 0;
}

/// Its thread starts with the first deadline and ends with the process, for which nobody waits. It looks when the earliest that it
/// knew of is over: a deadline that ends in time, as they do, wakes nobody.
class deadline::watch {
  public:
    static watch& of_process() {
        static watch* const only = new watch; // its thread may outlive every static object
        return *only;
    }

    std::list<watched>::iterator add(watched next) {
        const std::lock_guard guard(mutex_);
        if (!is_running_) std::thread([this] { run(); }).detach();
        is_running_ = true;
        const bool earliest = next.end < looks_at_;
        watched_.push_front(std::move(next));
        if (earliest) earlier_.notify_all();
        return watched_.begin();
    }

    void remove(std::list<watched>::iterator done) {
        const std::lock_guard guard(mutex_);
        watched_.erase(done);
    }

  private:
    using clock = std::chrono::steady_clock;

    [[noreturn]] void run() {
        std::unique_lock guard(mutex_);
        for (;;) {
            const auto first = std::ranges::min_element(watched_, {}, &watched::end);
            if (first != watched_.end() && first->end <= clock::now()) end_job(first->rank, first->failure, first->patience_s);
            if (first == watched_.end()) {
                looks_at_ = clock::time_point::max();
                earlier_.wait(guard);
            } else {
                looks_at_ = first->end;
                earlier_.wait_until(guard, looks_at_);
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable earlier_;
    std::list<watched> watched_;
    clock::time_point looks_at_ = clock::time_point::max();
    bool is_running_ = false;
};

deadline::deadline(int rank, std::string failure, double patience_s) {
    using clock = std::chrono::steady_clock;
    constexpr double longest_s = 1e9; // far within what the clock holds
    const auto patience =
        std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(std::min(patience_s, longest_s)));
    own_ = watch::of_process().add({clock::now() + patience, rank, std::move(failure), patience_s});
}

deadline::~deadline() { watch::of_process().remove(own_); }

} // namespace craton::io
