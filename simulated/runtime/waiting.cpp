// How a rank of a simulated run waits: in one call of MPI, which the simulator answers when something has happened. A loop that
// looks again and again would be an event of the simulator for each look.

#include "node_sum.hpp"
#include "receive_queue.hpp"
#include "relay.hpp"
#include "send_queue.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/wait_for_any.hpp>
#include <craton/runtime/world.hpp>

namespace craton::runtime {

void world::wait_for(condition done, condition /*rings*/) {
    while (!done()) {
        if (poll() > 0) continue;
        if (done()) return; // sends that have completed make room
        if (complete_sends() > 0) continue;
        comm::awaited_things things{{&sends_->under_way()}, {&receives_->messages()}, sums_->crossing()};
        if (relay_) {
            things.sends.push_back(&relay_->first().under_way());
            things.sends.push_back(&relay_->last().under_way());
            things.messages.push_back(&relay_->receives().messages());
        }
        comm::wait_for_any(things);
    }
}

void world::hear_of_sends() {
    while (bytes_in_flight() > 0) {
        if (complete_sends() > 0) continue;
        comm::awaited_things things{{&sends_->under_way()}, {}, nullptr};
        if (relay_) things.sends.insert(things.sends.end(), {&relay_->first().under_way(), &relay_->last().under_way()});
        comm::wait_for_any(things);
    }
}

bool world::wait_for_arrivals(std::chrono::microseconds /*at_most*/, const std::function<bool()>& /*go_on*/) {
    abort("bug: a simulated rank has one thread, which does nothing but wait", exit_bug);
}

void world::wake_sleepers() noexcept {}
void world::wake(int /*rank*/) noexcept {}

} // namespace craton::runtime
