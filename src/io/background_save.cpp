#include "background_save.hpp"

#include <exception>
#include <optional>
#include <utility>

namespace craton::io {

void background_save::start(const comm::communicator& ranks, std::function<void(const comm::communicator&)> write) {
    static_cast<void>(wait());
    stop_.store(false);
    auto turn = std::make_unique<quiet_hdf5>();
    auto own = comm::communicator::duplicate(ranks.native());
    hook_ = comm::environment::before_finalise([this] {
        if (thread_.joinable()) thread_.join();
    });
    turn->hand_over();
    busy_.store(true);
    thread_ =
        std::thread([this, turn = std::move(turn), among = std::optional(std::move(own)), write = std::move(write)]() mutable {
            try {
                write(*among);
            } catch (const std::exception& error) {
                failure_ = error.what();
            }
            // One that any rank has stopped has failed on all of them, for no reason to tell.
            if (among->maximum(stop_.load() ? 1 : 0) == 1) failure_.clear();
            among.reset(); // collective: the threads of all ranks come here
            turn.reset();
            busy_.store(false);
        });
}

std::string background_save::wait() {
    if (thread_.joinable()) thread_.join();
    hook_ = {};
    return std::exchange(failure_, {});
}

} // namespace craton::io
