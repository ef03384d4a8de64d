#include <craton/comm/wait_for_any.hpp>

#include <craton/comm/of_this_thread.hpp>

#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>
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
    std::vector<MPI_Request> all;
    std::vector<std::pair<request_set*, std::size_t>> sends; // whose request lies at that place of `all`, and its place there
    for (request_set* const set : things.sends) {
        if (set->any_completed()) return;
        const auto handles = set->handles();
        for (std::size_t place = 0; place < std::min(handles.size(), sends_waited_for); ++place) {
            all.push_back(handles[place]);
            sends.emplace_back(set, place);
        }
    }
    const std::size_t nowhere = std::numeric_limits<std::size_t>::max();
    const auto add = [&](MPI_Request request) {
        if (request == MPI_REQUEST_NULL) return nowhere;
        all.push_back(request);
        return all.size() - 1;
    };
    std::vector<std::size_t> messages;
    for (const mailbox* const box : things.messages) messages.push_back(add(box->posted()));
    const std::size_t sum = things.sum == nullptr ? nowhere : add(things.sum->awaited());
    alarm_clock* const clock = of_this_thread<clock_of_rank>().clock;
    if (clock != nullptr) add(clock->ring_);
    if (all.empty()) throw std::logic_error("a rank waits for nothing");
    int place = MPI_UNDEFINED;
    MPI_Status status;
    MPI_Waitany(static_cast<int>(all.size()), all.data(), &place, &status);
    if (place == MPI_UNDEFINED) throw std::logic_error("a rank waits for what has completed");
    const auto at = static_cast<std::size_t>(place);
    if (at < sends.size()) {
        sends[at].first->set_completed(sends[at].second);
        return;
    }
    if (const auto found = std::ranges::find(messages, at); found != messages.end()) {
        things.messages[static_cast<std::size_t>(found - messages.begin())]->set_completed(status);
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
