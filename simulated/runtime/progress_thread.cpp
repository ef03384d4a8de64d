#include <craton/runtime/progress_thread.hpp>

#include <stdexcept>

// Ranks have no threads. Programs let a rank answer while it waits for its clock; what asks for a thread is a mistake.

namespace craton::runtime {

progress_thread::progress_thread(world& ranks) : world_(&ranks) {}
progress_thread::~progress_thread() = default;
void progress_thread::start() { throw std::logic_error("a simulated rank has no thread; programs ask for attention::never"); }
void progress_thread::pause() {}
void progress_thread::stop() {}

} // namespace craton::runtime
