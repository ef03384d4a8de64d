// How a thread of a rank waits for what others bring about: the one place where ranks wait. A simulated build has its own.

#include "doorbell.hpp"

#include <craton/runtime/world.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace craton::runtime {

namespace {

// How a thread that waits spends the time between its looks. The answer is usually microseconds away, and who gives up the core at
// once may have it back only after another's time slice; after that, others come first.
constexpr int looks_before_yield = 100; // about 3 us, in which a reply of 32 KiB has come
// With more ranks than cores the looks keep others from computing, those between two yields too.
constexpr int looks_before_yield_while_crowded = 16;
constexpr std::chrono::microseconds awake_while_crowded{100};
constexpr std::chrono::microseconds longest_sleep{1000};
// Where nobody rings there is nothing but to look again: a compromise of attention and of time spent waking up.
constexpr std::chrono::microseconds longest_sleep_unrung{90};

// How often the end of a quiesce() looks whether its sends have completed; once or twice is usual.
constexpr int most_looks_at_the_end = 1000;

} // namespace

bool world::wait_for_arrivals(std::chrono::microseconds at_most, const std::function<bool()>& go_on) {
    doorbell::nap nap(*bell_);
    // Whoever has the progress lock may have looked before the last message came: then nobody would look at it until the sleep
    // ends.
    const bool nothing_came = try_poll(true) == 0;
    // After the nap was announced: who changes that and then rings either is seen here or wakes the sleep.
    if (!nothing_came || (go_on && !go_on())) return true;
    return nap.sleep(bell_->reaches_all() ? at_most : std::min(at_most, longest_sleep_unrung));
}

double world::attend_while(const std::function<bool()>& go_on, const attendance& how) {
    using clock = std::chrono::steady_clock;
    clock::duration in_handlers{};
    auto last_message = clock::now();
    while (go_on()) {
        const auto look = clock::now();
        if (poll() > 0) {
            last_message = clock::now();
            in_handlers += last_message - look;
            std::this_thread::yield(); // fewer cores than threads: the others come first
            continue;
        }
        const bool is_busy = busy();
        if (look - last_message < (is_busy ? how.awake_while_busy : how.awake)) {
            std::this_thread::yield();
        } else if (wait_for_arrivals(is_busy ? how.longest_sleep_while_busy : how.longest_sleep, go_on)) {
            last_message = clock::now();
        }
    }
    return std::chrono::duration<double>(in_handlers).count();
}

void world::wake_sleepers() noexcept { bell_->ring(rank()); }

void world::wait_for(condition done, condition rings) {
    using clock = std::chrono::steady_clock;
    const int most_looks = bell_->crowded() ? looks_before_yield_while_crowded : looks_before_yield;
    int idle_looks = 0;
    clock::time_point idle_since;
    // Once it has held it is not asked again: it may take what it waited for.
    for (bool over = done(); !over; over = over || done()) {
        if (poll() > 0) {
            idle_looks = 0;
            continue;
        }
        if (idle_looks < most_looks) {
            if (++idle_looks == most_looks) idle_since = clock::now();
            continue;
        }
        if (bell_->crowded() && rings() && !busy() && clock::now() - idle_since >= awake_while_crowded) {
            bool asked = false;
            wait_for_arrivals(longest_sleep, [&] {
                asked = true;
                over = done();
                return !over && rings() && !busy(); // the last poll may have begun what MPI must be looked after for
            });
            if (asked) continue; // else another thread has progress_, and may need this core
        }
        std::this_thread::yield();
    }
}

void world::wake(int rank) noexcept { bell_->ring_if_crowded(rank); }

void world::hear_of_sends() {
    for (int looks = 0; looks < most_looks_at_the_end && bytes_in_flight() > 0; ++looks) complete_sends();
}

} // namespace craton::runtime
