#include <craton/base/thread_team.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <utility>

namespace craton::base {

namespace {

// Loops follow each other within microseconds; waking a thread takes tens.
constexpr std::chrono::microseconds awake_between_loops{100};

} // namespace

thread_team::thread_team(int threads) {
    if (threads < 1) throw user_error(fmt::format("thread team: {} threads; allowed: at least 1", threads));
    shares_ = std::vector<share>(static_cast<std::size_t>(threads));
    try {
        for (std::size_t t = 1; t < shares_.size(); ++t) others_.emplace_back([this, t] { work(t); });
    } catch (const std::system_error& error) {
        const auto started = others_.size() + 1;
        end();
        throw user_error(fmt::format("thread team: {} threads: {} after {}; allowed: as many as the system starts", threads,
                                     error.what(), started));
    }
}

thread_team::~thread_team() { end(); }

void thread_team::end() noexcept {
    ended_.store(true, std::memory_order_relaxed);
    loop_.fetch_add(1, std::memory_order_release);
    loop_.notify_all();
    for (auto& each : others_) each.join();
    others_.clear();
}

void thread_team::for_each(std::int64_t count, const std::function<void(std::int64_t)>& what) {
    what_ = &what;
    const auto threads = std::ssize(shares_);
    for (std::int64_t t = 0; t < threads; ++t) {
        auto& each = shares_[static_cast<std::size_t>(t)];
        each.next.store(t * count / threads, std::memory_order_relaxed);
        each.end = (t + 1) * count / threads;
    }
    still_in_.store(static_cast<int>(others_.size()), std::memory_order_relaxed);
    if (!others_.empty()) {
        loop_.fetch_add(1, std::memory_order_release); // what is set above is seen by who reads this
        loop_.notify_all();
    }
    take_part(0);
    for (std::int64_t looks = 0; still_in_.load(std::memory_order_acquire) > 0; ++looks) {
        constexpr int looks_before_yield = 1000;
        if (looks > looks_before_yield) std::this_thread::yield();
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// Its own share first, then what the others have not come to.
void thread_team::take_part(std::size_t number) {
    try {
        for (std::size_t t = 0; t < shares_.size(); ++t) {
            auto& from = shares_[(number + t) % shares_.size()];
            for (std::int64_t n = from.next.fetch_add(1, std::memory_order_relaxed); n < from.end;
                 n = from.next.fetch_add(1, std::memory_order_relaxed)) {
                (*what_)(n);
            }
        }
    } catch (...) {
        for (auto& each : shares_) each.next.store(each.end, std::memory_order_relaxed);
        const std::lock_guard guard(failure_mutex_);
        if (!failure_) failure_ = std::current_exception();
    }
}

void thread_team::work(std::size_t number) {
    std::uint32_t seen = 0;
    for (;;) {
        const auto since = std::chrono::steady_clock::now();
        while (loop_.load(std::memory_order_acquire) == seen) {
            if (std::chrono::steady_clock::now() - since > awake_between_loops) loop_.wait(seen, std::memory_order_acquire);
        }
        ++seen; // a loop ends only when all have taken part: none is missed
        if (ended_.load(std::memory_order_relaxed)) return;
        take_part(number);
        still_in_.fetch_sub(1, std::memory_order_release);
    }
}

} // namespace craton::base
