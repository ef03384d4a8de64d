#include <craton/comm/work_time.hpp>

#include <craton/comm/of_this_thread.hpp>

#include <simgrid/s4u/Actor.hpp>

#include <array>

namespace craton::comm {

namespace {

double worth_an_event_s = 1e-4; // ten times what the simulator tells apart (tools/simulate)
std::array<double, kinds_of_work> seconds_per_unit{};
std::array<measured_work, kinds_of_work> measured{};
bool measuring = false;

struct owed_time {
    double seconds = 0.0;
};

} // namespace

void set_time_of(work what, double seconds) { seconds_per_unit[static_cast<std::size_t>(what)] = seconds; }

void save_up(double seconds) { worth_an_event_s = seconds; }

void compute(double seconds) {
    if (seconds > 0.0) simgrid::s4u::this_actor::sleep_for(seconds);
}

void measure_work() { measuring = true; }

std::array<measured_work, kinds_of_work> work_so_far() { return measured; }

work_time::work_time(work what) : what_(what) {
    if (measuring) begin_ = std::chrono::steady_clock::now();
}

void work_time::done(std::size_t units) const {
    const auto kind = static_cast<std::size_t>(what_);
    if (measuring) {
        measured[kind].seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
        measured[kind].units += units;
        return;
    }
    double& owed = of_this_thread<owed_time>().seconds;
    owed += seconds_per_unit[kind] * static_cast<double>(units);
    if (owed < worth_an_event_s) return;
    const double now = owed;
    owed = 0.0;
    compute(now);
}

} // namespace craton::comm
