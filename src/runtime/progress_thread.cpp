#include <craton/runtime/progress_thread.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>

#include <chrono>

namespace craton::runtime {

namespace {

using clock = std::chrono::steady_clock;

// After the last message it looks on for so long without sleeping: what answers it comes soon.
constexpr std::chrono::microseconds awake_after_a_message{200};
// While something is under way, longer: one long message over a slow network takes milliseconds, and MPI moves it only while it is
// looked after.
constexpr std::chrono::milliseconds awake_while_busy{20};
constexpr std::chrono::milliseconds longest_sleep_idle{100};
constexpr std::chrono::milliseconds longest_sleep_busy{1};

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
    const auto go_on = [this] { return wanted_.load() == state::running; };
    auto last_message = clock::now();
    while (go_on()) {
        if (world_->poll() > 0) {
            last_message = clock::now();
            std::this_thread::yield(); // fewer cores than threads: the others come first
            continue;
        }
        const bool busy = world_->busy();
        const auto quiet = clock::now() - last_message;
        if (quiet < (busy ? clock::duration(awake_while_busy) : clock::duration(awake_after_a_message))) {
            std::this_thread::yield();
        } else if (world_->wait_for_arrivals(busy ? longest_sleep_busy : longest_sleep_idle, go_on)) {
            last_message = clock::now();
        }
    }
}

} // namespace craton::runtime
