#include "busy_work.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace craton::bench {

namespace {

volatile float sink = 0.0F; // the result is used, so that no compiler leaves the work out

void multiply_add(std::int64_t steps) {
    std::array<float, 64> x{};
    for (std::int64_t s = 0; s < steps; ++s) {
        for (float& value : x) value = value * 0.999F + 0.5F;
    }
    float sum = 0.0F;
    for (const float value : x) sum += value;
    sink = sum;
}

// Not the wall clock's: others may use this core too.
double thread_processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

} // namespace

busy_work::busy_work() {
    constexpr std::int64_t steps = 1 << 20;
    for (int trial = 0; trial < 5; ++trial) {
        const double start = thread_processor_seconds();
        multiply_add(steps);
        steps_per_second_ = std::max(steps_per_second_, static_cast<double>(steps) / (thread_processor_seconds() - start));
    }
}

void busy_work::compute(double seconds) const { multiply_add(static_cast<std::int64_t>(seconds * steps_per_second_)); }

} // namespace craton::bench
