#include <craton/comm/work_time.hpp>

#include <craton/comm/of_this_thread.hpp>

#include <simgrid/s4u/Actor.hpp>

#include <array>

namespace craton::comm {

namespace {

constexpr double worth_an_event_s = 1e-6;
std::array<double, kinds_of_work> seconds_per_unit{};

struct owed_time {
    double seconds = 0.0;
};

} // namespace

void set_time_of(work what, double seconds) { seconds_per_unit[static_cast<std::size_t>(what)] = seconds; }

void compute(double seconds) {
    if (seconds > 0.0) simgrid::s4u::this_actor::sleep_for(seconds);
}

void spend(work what, std::size_t units) {
    double& owed = of_this_thread<owed_time>().seconds;
    owed += seconds_per_unit[static_cast<std::size_t>(what)] * static_cast<double>(units);
    if (owed < worth_an_event_s) return;
    const double now = owed;
    owed = 0.0;
    compute(now);
}

} // namespace craton::comm
