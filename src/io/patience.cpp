#include "patience.hpp"

#include <craton/base/error.hpp>
#include <craton/base/timer.hpp>
#include <craton/comm/environment.hpp>

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

namespace craton::io {

namespace {

[[noreturn]] void end_job(int rank, const std::string& failure, double patience_s) {
    comm::environment::abort(
        fmt::format("craton: error: rank {}: {}: not all ranks have come back from it within {} s; allowed: a disk that "
                    "works and has room (or more patience)",
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
        std::this_thread::yield();
        if (!failure.empty() && waited.seconds() > patience_s) end_job(ranks.rank(), failure, patience_s);
    }
    return failed[0] == 0;
}

deadline::deadline(int rank, std::string failure, double patience_s)
    : watch_([this, rank, failure = std::move(failure), patience_s] {
          std::unique_lock guard(mutex_);
          if (!over_.wait_for(guard, std::chrono::duration<double>(patience_s), [this] { return is_over_; }))
              end_job(rank, failure, patience_s);
      }) {}

deadline::~deadline() {
    {
        const std::lock_guard guard(mutex_);
        is_over_ = true;
    }
    over_.notify_all();
    watch_.join();
}

} // namespace craton::io
