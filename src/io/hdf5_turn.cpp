#include "hdf5_turn.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace craton::io {

namespace {

struct holder {
    std::mutex mutex;
    std::condition_variable given_back;
    int depth = 0;
    std::thread::id thread; // nobody's after hand_over()
};

holder& of_process() {
    static holder* const only = new holder; // a thread may give its turn back after every static object has gone
    return *only;
}

} // namespace

hdf5_turn::hdf5_turn() {
    auto& h = of_process();
    std::unique_lock guard(h.mutex);
    h.given_back.wait(guard, [&] { return h.depth == 0 || h.thread == std::this_thread::get_id(); });
    ++h.depth;
    h.thread = std::this_thread::get_id();
}

hdf5_turn::~hdf5_turn() {
    auto& h = of_process();
    {
        const std::lock_guard guard(h.mutex);
        if (--h.depth > 0) return;
        h.thread = {};
    }
    h.given_back.notify_one();
}

void hdf5_turn::hand_over() {
    auto& h = of_process();
    const std::lock_guard guard(h.mutex);
    h.thread = {};
}

} // namespace craton::io
