#include "relay.hpp"

#include "record.hpp"

#include <craton/comm/work_time.hpp>

#include <algorithm>
#include <utility>

namespace craton::runtime {

namespace {

// A rank that hands on must still return to its own work.
constexpr int most_at_once = 1024;
constexpr std::size_t most_bytes_at_once = std::size_t{1} << 20;

// Of the bound on bytes in flight: what goes straight has the rest.
constexpr std::size_t part_of_a_hop(std::size_t most_bytes) { return most_bytes / 4; }

} // namespace

relay::relay(const comm::communicator& ranks, const node& node, int row, int first_tag, int last_tag, buffer_pool& pool,
             doorbell& bell, inbox& neighbours, std::size_t most_bytes)
    : rank_(ranks.rank()), size_(ranks.size()), row_(row), pool_(&pool), from_row_(ranks, node),
      first_(ranks, first_tag, pool, bell, from_row_, part_of_a_hop(most_bytes)),
      last_(ranks, last_tag, pool, bell, neighbours, part_of_a_hop(most_bytes)), receives_(ranks, first_tag, pool, bell) {
    const int begin = rank_ / row_ * row_;
    row_in_reach_ = size_ % row_ == 0; // ranks of a short last row go along columns first
    for (int other = begin; other < std::min(begin + row_, size_); ++other) {
        row_in_reach_ = row_in_reach_ && (other == rank_ || from_row_.reaches(other));
    }
}

relay::way relay::way_between(int from, int to, int row, int ranks) noexcept {
    const int in_the_row = from / row * row + to % row;
    if (in_the_row == to) return {hop::only, to};
    if (in_the_row == from) return {hop::last, to};
    if (in_the_row < ranks) return {hop::first, in_the_row};
    return {hop::first, to / row * row + from % row}; // from a short last row: the target's is whole
}

void relay::flush_idle() {
    first_.flush_idle();
    last_.flush_idle();
}

void relay::flush() {
    first_.flush();
    last_.flush();
}

bool relay::flush(int target) {
    const auto [which, over] = way_to(target);
    return which == hop::only || queue(which).flush(over);
}

bool relay::reserve(hop which, std::size_t bytes, bool forced) {
    if (which == hop::last && !forced && waits_for_room_.load(std::memory_order_relaxed)) return false;
    return queue(which).reserve(bytes, forced);
}

bool relay::take_from_ring() {
    const auto arrival = from_row_.front();
    if (arrival) rest_ = arrival->bytes;
    return arrival.has_value();
}

bool relay::take_from_mpi() {
    by_mpi_ = receives_.take();
    if (!by_mpi_) return false;
    if (from_row_.reaches(by_mpi_->source)) from_row_.count_other_way();
    rest_ = std::as_const(by_mpi_->buffer).first(by_mpi_->bytes);
    return true;
}

// In turn: neither may ever be empty.
bool relay::take_next(bool by_mpi) {
    by_mpi = by_mpi || from_row_.expects_other_way();
    holds_.store(true, std::memory_order_relaxed); // before what is taken is missed where it was
    ring_next_ = !ring_next_;
    const bool taken =
        ring_next_ ? take_from_ring() || (by_mpi && take_from_mpi()) : (by_mpi && take_from_mpi()) || take_from_ring();
    if (!taken) holds_.store(false, std::memory_order_release);
    return taken;
}

void relay::finish() {
    if (by_mpi_) {
        pool_->give_back(std::move(by_mpi_->buffer));
        by_mpi_.reset();
    } else {
        from_row_.pop();
    }
    holds_.store(false, std::memory_order_release);
}

int relay::serve(bool by_mpi) {
    int handed_on = 0;
    std::size_t handed_bytes = 0;
    while (handed_on < most_at_once && handed_bytes < most_bytes_at_once) {
        if (rest_.empty() && !take_next(by_mpi)) break;
        const comm::work_time work(comm::work::hand_on);
        const std::size_t bytes = record_bytes(rest_);
        const bool room = last_.reserve(bytes, false);
        waits_for_room_.store(!room, std::memory_order_relaxed);
        if (!room) break; // the rest stays: what is under way makes room for it
        last_.append(ends_of(header_of(rest_).token).target, rest_.first(bytes));
        work.done(1);
        ++handed_on;
        handed_bytes += bytes;
        rest_ = rest_.subspan(bytes);
        if (rest_.empty()) finish();
    }
    handed_on_.fetch_add(handed_on, std::memory_order_relaxed);
    return handed_on;
}

bool relay::busy() const noexcept {
    // What has arrived before what is under way: another thread may be handing on.
    return receives_.busy() || holds_.load(std::memory_order_acquire) || !from_row_.empty() || from_row_.expects_other_way() ||
           bytes_in_flight() > 0;
}

void relay::set_limit(std::size_t most_bytes) noexcept {
    first_.set_limit(part_of_a_hop(most_bytes));
    last_.set_limit(part_of_a_hop(most_bytes));
}

bool relay::abandon() {
    const bool first = first_.abandon();
    const bool last = last_.abandon();
    return receives_.abandon() || first || last;
}

} // namespace craton::runtime
