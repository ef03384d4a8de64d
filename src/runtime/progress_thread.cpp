#include <craton/runtime/progress_thread.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>

#include <chrono>

namespace craton::runtime {

namespace {

// One long message over a slow network takes milliseconds.
constexpr attendance of_the_thread{.awake = std::chrono::microseconds{200},
                                   .awake_while_busy = std::chrono::milliseconds{20},
                                   .longest_sleep = std::chrono::milliseconds{100},
                                   .longest_sleep_while_busy = std::chrono::milliseconds{1}};

} // namespace

progress_thread::progress_thread(world& ranks) : world_(&ranks) {}

progress_thread::~progress_thread() { stop(); }

void progress_thread::start() {
    if (!comm::environment::running()) {
        throw user_error("progress thread: MPI has been finalised; allowed: calls before MPI_Finalize");
    }
    want(state::running);
    if (thread_.joinable()) return;
    hook_ = comm::environment::before_finalise([this] { stop(); });
    thread_ = std::thread([this] { run(); });
}

void progress_thread::want(state next) {
    const std::lock_guard lock(mutex_);
    wanted_.store(next);
    changed_.notify_all();
}

void progress_thread::pause() {
    if (!thread_.joinable()) return;
    CRATON_ASSERT(std::this_thread::get_id() != thread_.get_id());
    want(state::paused);
    world_->wake_sleepers();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !serving_; });
}

void progress_thread::stop() {
    if (!thread_.joinable()) return;
    CRATON_ASSERT(std::this_thread::get_id() != thread_.get_id());
    want(state::stopped);
    world_->wake_sleepers();
    thread_.join();
    hook_ = {};
}

void progress_thread::run() {
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            serving_ = false;
            changed_.notify_all();
            changed_.wait(lock, [this] { return wanted_.load() != state::paused; });
            if (wanted_.load() == state::stopped) return;
            serving_ = true;
        }
        serve();
    }
}

void progress_thread::serve() {
    world_->attend_while([this] { return wanted_.load() == state::running; }, of_the_thread);
}

} // namespace craton::runtime
