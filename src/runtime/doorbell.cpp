#include "doorbell.hpp"

#include <craton/base/error.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

namespace craton::runtime {

// At the start of each rank's zeroed page.
struct doorbell::bell {
    std::atomic<std::uint32_t> rung;
    std::atomic<std::uint32_t> sleepers;
};

doorbell::doorbell(const comm::communicator& ranks) : rank_(ranks.rank()) {
    const auto machine = ranks.split_shared_memory();
    // All cores, not those that this rank is bound to: the others are bound elsewhere.
    crowded_ = machine.size() > ::sysconf(_SC_NPROCESSORS_ONLN) || std::getenv("CRATON_CROWDED") != nullptr;
    crowded_ = machine.maximum(crowded_ ? 1 : 0) > 0;
    try {
        memory_ = memory_file(machine, sizeof(bell));
    } catch (const user_error&) {
        return;
    }
    const auto gathered = machine.all_gather(ranks.rank());
    neighbours_ = rank_places(std::vector<int>(gathered.begin(), gathered.end()));
    reaches_all_ = machine.size() == ranks.size();
}

doorbell::bell* doorbell::at(int rank) const noexcept {
    const int place = neighbours_.of(rank);
    return place < 0 ? nullptr : reinterpret_cast<bell*>(memory_.base(place)); // zeroed memory is a bell at rest
}

void doorbell::ring(int rank) noexcept {
    auto* const there = at(rank);
    if (there == nullptr) return;
    // Either the sleeper's last look sees what was sent before this fence, or this load sees the sleeper.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (there->sleepers.load(std::memory_order_relaxed) == 0) return;
    there->rung.fetch_add(1, std::memory_order_release);
    ::syscall(SYS_futex, &there->rung, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::uint32_t doorbell::about_to_sleep() noexcept {
    auto* const mine = at(rank_);
    if (mine == nullptr) return 0;
    const auto ticket = mine->rung.load(std::memory_order_acquire);
    mine->sleepers.fetch_add(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return ticket;
}

void doorbell::stay_awake() noexcept {
    if (auto* const mine = at(rank_); mine != nullptr) mine->sleepers.fetch_sub(1, std::memory_order_relaxed);
}

bool doorbell::sleep(std::uint32_t ticket, std::chrono::microseconds at_most) noexcept {
    auto* const mine = at(rank_);
    if (mine == nullptr) {
        std::this_thread::sleep_for(at_most);
        return false;
    }
    const timespec timeout{static_cast<time_t>(at_most.count() / 1000000), static_cast<long>(at_most.count() % 1000000 * 1000)};
    ::syscall(SYS_futex, &mine->rung, FUTEX_WAIT, ticket, &timeout, nullptr, 0);
    return mine->rung.load(std::memory_order_acquire) != ticket;
}

} // namespace craton::runtime
