#include "path_team.hpp"

#include <craton/base/timer.hpp>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

namespace craton::tomography {

namespace {
constexpr double seconds_between_reports = 0.2;
// More subsets than there can be; times any number of paths in a subset it is still a 64-bit number.
constexpr std::int64_t beyond_all_subsets = std::int64_t{1} << 40;
} // namespace

path_team::path_team(runtime::world& ranks, std::int64_t paths, const team_options& options)
    : world_(&ranks), paths_(paths), options_(&options), subsets_taken_(ranks) {}

std::int64_t path_team::next_path() {
    const std::lock_guard lock(mutex_);
    if (stop_.load(std::memory_order_relaxed)) return -1;
    if (next_ == subset_end_) {
        pause_if_due();
        next_ = std::min(paths_, subsets_taken_.fetch_add(1) * options_->subset);
        subset_end_ = std::min(paths_, next_ + options_->subset);
    }
    return next_ < subset_end_ ? next_++ : -1;
}

void path_team::work_until_done(int thread, const std::function<void(int, std::int64_t)>& work) {
    try {
        for (std::int64_t path = next_path(); path >= 0; path = next_path()) work(thread, path);
    } catch (...) {
        fail_with_current_exception();
    }
    if (working_.fetch_sub(1, std::memory_order_release) == 1) world_->wake_sleepers();
}

void path_team::fail_with_current_exception() {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    stop_ = true;
}

std::int64_t path_team::handed_out() {
    const std::int64_t at_pause = taken_at_pause_;
    return std::min(paths_, (at_pause < 0 ? subsets_taken_.read() % beyond_all_subsets : at_pause) * options_->subset);
}

// Rank 0 moves the counter beyond the last subset: every rank finds nothing more to take, ends what it has, and waits in the
// barrier of run(). Not before a subset has been taken, so that every call gets on.
void path_team::pause_if_due() {
    const bool due = options_->pause_after_s > 0 && world_->rank() == 0 && since_start_.seconds() > options_->pause_after_s;
    if (due && taken_at_pause_ < 0 && subsets_taken_.read() > 0) taken_at_pause_ = subsets_taken_.fetch_add(beyond_all_subsets);
}

void path_team::report_progress() {
    if (!options_->progress || world_->rank() != 0 || stop_) return;
    try {
        options_->progress(handed_out(), paths_);
    } catch (...) { // a Ctrl-C in Python arrives here: the team stops, and the messages of others are still attended to meanwhile
        fail_with_current_exception();
    }
}

double path_team::run(const std::function<void(int, std::int64_t)>& work) {
    working_ = options_->threads;
    since_start_.restart();
    std::vector<std::jthread> team;
    for (int thread = 0; thread < options_->threads; ++thread) {
        team.emplace_back([this, thread, &work] { work_until_done(thread, work); });
    }
    double handlers_s = 0;
    const auto is_working = [this] { return working_.load(std::memory_order_acquire) > 0; };
    for (base::timer since_report; is_working(); since_report.restart()) {
        handlers_s += world_->attend_while([&] { return is_working() && since_report.seconds() < seconds_between_reports; });
        report_progress();
    }
    team.clear(); // joins
    if (failure_) std::rethrow_exception(failure_);
    // Nobody may destroy the counter while another rank still asks it.
    world_->barrier();
    if (options_->progress && world_->rank() == 0) options_->progress(handed_out(), paths_);
    return handlers_s;
}

} // namespace craton::tomography
