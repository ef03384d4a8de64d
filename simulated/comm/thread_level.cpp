#include <craton/comm/environment.hpp>

namespace craton::comm {

bool environment::thread_multiple() { return true; } // a rank of the simulation has one thread

} // namespace craton::comm
