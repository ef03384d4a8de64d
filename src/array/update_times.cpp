#include <craton/array/update_times.hpp>

#include <array>
#include <cstddef>

namespace craton::array {

namespace {

std::array<std::atomic<std::int64_t>, 3> nanoseconds{};

double seconds(update_phase phase) noexcept {
    return 1e-9 * static_cast<double>(nanoseconds[static_cast<std::size_t>(phase)].load(std::memory_order_relaxed));
}

} // namespace

void take_update_times(bool on) noexcept {
    if (on) {
        for (auto& sum : nanoseconds) sum.store(0, std::memory_order_relaxed);
    }
    timed_phase::taking_.store(on, std::memory_order_relaxed);
}

update_times taken_update_times() noexcept {
    return {seconds(update_phase::binning), seconds(update_phase::waiting), seconds(update_phase::copying)};
}

void timed_phase::add(update_phase phase, std::chrono::steady_clock::duration time) noexcept {
    nanoseconds[static_cast<std::size_t>(phase)].fetch_add(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(),
                                                           std::memory_order_relaxed);
}

} // namespace craton::array
