#pragma once

#include <craton/comm/environment.hpp>
#include <craton/runtime/world.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace craton::runtime {

/// A thread that makes a world's progress while the others compute: handlers of arriving messages run although nobody calls poll()
/// (start, pause and stop as Ozog et al. 2016, III-D, Algorithm 3).
///
/// It stays awake, giving way to other threads after every look, while messages travel, and sleeps when nothing happens: it is
/// woken by ranks of the same machine, and where the world has ranks on other machines looks every 90 microseconds. Handlers then
/// run on this thread; poll() of other threads goes on beside it, still one handler at a time per rank. Members may be called from
/// any thread but not from inside a handler; one at a time. It stops by itself when MPI is finalised.
class progress_thread {
  public:
    /// Not collective; does not start it. The world must outlive it.
    explicit progress_thread(world& ranks);
    progress_thread(const progress_thread&) = delete;
    progress_thread& operator=(const progress_thread&) = delete;
    /// Stops it.
    ~progress_thread();

    /// Makes the thread, or wakes it after pause(). Throws user_error after MPI has been finalised. Not blocking.
    void start();
    /// The thread looks no more until resume() or start(); it costs nothing meanwhile. Blocks until a handler that it is running
    /// has ended. Does nothing when it does not run.
    void pause();
    void resume() { start(); }
    /// Ends the thread; start() makes another. Blocks as pause() does.
    void stop();

    /// True between start() and pause() or stop().
    [[nodiscard]] bool running() const noexcept { return wanted_.load() == state::running; }

  private:
    enum class state { stopped, paused, running };
    void want(state next);
    void run();
    void serve();

    world* world_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<state> wanted_{state::stopped};
    bool serving_ = false; // guarded by mutex_
    std::thread thread_;
    comm::environment::finalise_hook hook_;
};

} // namespace craton::runtime
