#include <craton/comm/wait_for_any.hpp>

#include <craton/comm/of_this_thread.hpp>

#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace craton::comm {

namespace {

constexpr int alarm_tag = 3;
constexpr int ring_tag = 4;
// A call of MPI takes as long as there are things to wait for. Sends complete in about the order in which they start, so that a
// rank with many under way waits for a few of them, and for the next few when those have completed.
constexpr std::size_t sends_waited_for = 8;

struct clock_of_rank {
    alarm_clock* clock = nullptr;
};

} // namespace

void wait_for_any(const awaited_things& things) {
    if (things.sends != nullptr && things.sends->any_completed()) return;
    std::vector<MPI_Request> all;
    if (things.sends != nullptr) {
        const auto handles = things.sends->handles();
        all.assign(handles.begin(), handles.begin() + static_cast<std::ptrdiff_t>(std::min(handles.size(), sends_waited_for)));
    }
    const std::size_t sends = all.size();
    const auto add = [&](MPI_Request request) {
        if (request == MPI_REQUEST_NULL) return sends + 4; // no place
        all.push_back(request);
        return all.size() - 1;
    };
    const std::size_t message = things.messages == nullptr ? sends + 4 : add(things.messages->posted());
    const std::size_t sum = things.sum == nullptr ? sends + 4 : add(things.sum->awaited());
    alarm_clock* const clock = of_this_thread<clock_of_rank>().clock;
    if (clock != nullptr) add(clock->ring_);
    if (all.empty()) throw std::logic_error("a rank waits for nothing");
    int place = MPI_UNDEFINED;
    MPI_Status status;
    MPI_Waitany(static_cast<int>(all.size()), all.data(), &place, &status);
    if (place == MPI_UNDEFINED) throw std::logic_error("a rank waits for what has completed");
    const auto at = static_cast<std::size_t>(place);
    if (at < sends) {
        things.sends->set_completed(at);
    } else if (at == message) {
        things.messages->set_completed(status);
    } else if (at == sum) {
        things.sum->set_completed();
    } else {
        clock->ring_ = MPI_REQUEST_NULL;
    }
}

alarm_clock::alarm_clock(int clock_rank) : clock_rank_(clock_rank) { of_this_thread<clock_of_rank>().clock = this; }

alarm_clock::~alarm_clock() {
    of_this_thread<clock_of_rank>().clock = nullptr;
    const double never = -1.0;
    MPI_Send(&never, 1, MPI_DOUBLE, clock_rank_, alarm_tag, MPI_COMM_WORLD);
}

void alarm_clock::set(double seconds) {
    MPI_Irecv(&word_, 1, MPI_CHAR, clock_rank_, ring_tag, MPI_COMM_WORLD, &ring_);
    MPI_Send(&seconds, 1, MPI_DOUBLE, clock_rank_, alarm_tag, MPI_COMM_WORLD);
}

bool alarm_clock::rang() {
    int there = 0;
    if (ring_ != MPI_REQUEST_NULL) MPI_Test(&ring_, &there, MPI_STATUS_IGNORE);
    return ring_ == MPI_REQUEST_NULL;
}

void alarm_clock::keep_time(int rank) {
    for (;;) {
        double seconds = -1.0;
        MPI_Recv(&seconds, 1, MPI_DOUBLE, rank, alarm_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (seconds < 0.0) return;
        simgrid::s4u::this_actor::sleep_for(seconds);
        const char word = 0;
        MPI_Send(&word, 1, MPI_CHAR, rank, ring_tag, MPI_COMM_WORLD);
    }
}

} // namespace craton::comm
