#include "send_queue.hpp"

#include <craton/comm/environment.hpp>
#include <craton/comm/work_time.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace craton::runtime {

namespace {

// Looking at a few at a time keeps it cheap however many are under way.
constexpr std::size_t looked_at_together = 128;
// Two aggregates on their way keep a target busy: while it works on one, the other arrives.
constexpr int under_way_at_once = 2;
// What is flushed does not wait for those, but a target that does not receive must not have one for each record.
constexpr int flushed_at_once = 100;
// Outboxes of each lock that are kept though they are idle: a few targets that are sent to in turn do not need theirs made anew.
constexpr std::size_t kept_though_idle = 8;

} // namespace

send_queue::send_queue(const comm::communicator& ranks, int tag, buffer_pool& pool, doorbell& bell, inbox& neighbours,
                       std::size_t most_bytes)
    : ranks_(&ranks), tag_(tag), pool_(&pool), bell_(&bell), neighbours_(&neighbours), most_bytes_(most_bytes) {}

bool send_queue::reserve_counted(std::size_t bytes, bool forced) {
    std::size_t now = bytes_in_flight_.load(std::memory_order_relaxed);
    do {
        if (!forced && now != 0 && now + bytes > limit()) return false;
    } while (!bytes_in_flight_.compare_exchange_weak(now, now + bytes, std::memory_order_acq_rel, std::memory_order_relaxed));
    std::size_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < now + bytes && !peak_.compare_exchange_weak(peak, now + bytes, std::memory_order_relaxed)) {
    }
    return true;
}

void send_queue::hand_over(int target, byte_buffer buffer, std::size_t bytes, std::size_t counted, bool joint) {
    const comm::work_time work(comm::work::transfer);
    transfers_.fetch_add(1, std::memory_order_relaxed);
    if (neighbours_->reaches(target)) neighbours_->announce(target);
    auto request = ranks_->start_send(buffer.first(bytes), target, tag_);
    work.done(1);
    bell_->ring(target);
    const std::lock_guard lock(started_mutex_);
    started_.push_back({std::move(request), {std::move(buffer), counted, joint, target}});
    any_started_.store(true, std::memory_order_release);
}

void send_queue::start(int target, byte_buffer buffer, std::size_t bytes) {
    hand_over(target, std::move(buffer), bytes, counted(bytes), false);
}

void send_queue::append(int target, std::span<const std::byte> record) {
    auto& boxes = outboxes_with(target);
    const std::lock_guard lock(boxes.mutex);
    auto& box = boxes.at(target);
    if (box.used + record.size() > aggregate_bytes) start_locked(target, box);
    if (box.used + record.size() > box.buffer.capacity()) {
        make_room(target, box, record.size());
    } else {
        release(record.size()); // its place has been counted
    }
    if (!box.listed) {
        box.listed = true;
        const std::lock_guard waiting_lock(waiting_mutex_);
        waiting_.push_back(target);
        waiting_count_.fetch_add(1, std::memory_order_release);
        bell_->ring(ranks_->rank()); // a progress thread, to send it off
    }
    std::memcpy(box.buffer.data() + box.used, record.data(), record.size());
    box.used += static_cast<std::uint32_t>(record.size());
}

// What the record was counted for pays for its room, so that an outbox never takes more than what is in flight may.
void send_queue::make_room(int target, outbox& box, std::size_t record_bytes) {
    if (box.used > 0 && !grow(box, record_bytes)) start_locked(target, box);
    if (box.used > 0) return;
    // A whole aggregate's room, of which the pool has plenty, while all that wait take less than half the bound. Of the many
    // targets that a rank may send a little to, each beyond that takes what it needs.
    std::size_t capacity = buffer_pool::capacity_for(record_bytes);
    const bool plenty = waiting_capacity_.load(std::memory_order_relaxed) + aggregate_bytes <= limit() / 2;
    if (plenty && reserve_counted(buffer_pool::capacity_for(aggregate_bytes) - capacity, false)) capacity = aggregate_bytes;
    exchange_buffer(box, capacity);
}

// Twice as much room if the bound allows it, else what the record needs; false where that too is more than it was counted for.
bool send_queue::grow(outbox& box, std::size_t record_bytes) {
    const std::size_t needed = box.used + record_bytes;
    const std::size_t paid = counted(record_bytes);
    for (const std::size_t wanted : {std::min(std::max(needed, 2 * std::size_t{box.used}), aggregate_bytes), needed}) {
        const std::size_t more = buffer_pool::capacity_for(wanted) - box.buffer.capacity();
        if (more > paid && !reserve_counted(more - paid, false)) continue;
        if (more < paid) release_counted(paid - more);
        exchange_buffer(box, wanted);
        return true;
    }
    return false;
}

void send_queue::exchange_buffer(outbox& box, std::size_t capacity) {
    byte_buffer other = pool_->take(capacity);
    waiting_capacity_.fetch_add(other.capacity() - box.buffer.capacity(), std::memory_order_relaxed);
    if (box.used > 0) std::memcpy(other.data(), box.buffer.data(), box.used);
    std::swap(box.buffer, other);
    if (other.capacity() > 0) pool_->give_back(std::move(other));
}

void send_queue::start_locked(int target, outbox& box) {
    if (box.used == 0) return;
    std::size_t counts = box.counted();
    byte_buffer buffer = std::exchange(box.buffer, {});
    waiting_capacity_.fetch_sub(buffer.capacity(), std::memory_order_relaxed);
    const std::size_t bytes = std::exchange(box.used, 0U);
    constexpr bool briefly = true; // it may be in a handler
    if (neighbours_->reaches(target) && neighbours_->put(target, buffer.first(bytes), briefly)) {
        pool_->give_back(std::move(buffer));
        release_counted(counts);
        bell_->ring(target);
        return;
    }
    if (2 * buffer_pool::capacity_for(bytes) <=
        buffer.capacity()) { // the target may take its time: what is not needed meanwhile goes back
        byte_buffer fitting = pool_->take(bytes);
        std::memcpy(fitting.data(), buffer.data(), bytes);
        release_counted(buffer.capacity() - fitting.capacity());
        counts -= buffer.capacity() - fitting.capacity();
        pool_->give_back(std::exchange(buffer, std::move(fitting)));
    }
    ++box.under_way;
    hand_over(target, std::move(buffer), bytes, counts, true);
}

void send_queue::outboxes::forget_if_idle(int target) {
    if (of_target.size() <= kept_though_idle) return;
    const auto found = of_target.find(target);
    if (found == of_target.end()) return;
    const auto& box = found->second;
    if (box.used > 0 || box.listed || box.under_way > 0) return;
    of_target.erase(found);
    if (target == last_target) last_target = -1;
}

template <class Ready> void send_queue::flush_where(Ready ready) {
    if (waiting_count_.load(std::memory_order_acquire) == 0) return;
    std::vector<int> targets;
    {
        const std::lock_guard lock(waiting_mutex_);
        targets.swap(waiting_);
    }
    std::vector<int> held;
    for (const int target : targets) {
        auto& boxes = outboxes_with(target);
        const std::lock_guard lock(boxes.mutex);
        auto& box = boxes.at(target); // one that is listed stays
        if (box.used > 0 && !ready(box)) {
            held.push_back(target);
            continue;
        }
        start_locked(target, box);
        box.listed = false;
        boxes.forget_if_idle(target);
        waiting_count_.fetch_sub(1, std::memory_order_release);
    }
    if (held.empty()) return;
    const std::lock_guard lock(waiting_mutex_);
    waiting_.insert(waiting_.end(), held.begin(), held.end());
}

void send_queue::flush_idle() {
    flush_where([](const outbox& box) { return box.under_way < under_way_at_once; });
}

void send_queue::flush() {
    flush_where([](const outbox& box) { return box.under_way < flushed_at_once; });
}

bool send_queue::flush(int target) {
    auto& boxes = outboxes_with(target);
    const std::lock_guard lock(boxes.mutex);
    const auto found = boxes.of_target.find(target);
    if (found == boxes.of_target.end()) return true;
    auto& box = found->second;
    if (box.used > 0 && box.under_way >= flushed_at_once) return false;
    start_locked(target, box);
    return true;
}

int send_queue::complete() {
    if (any_started_.load(std::memory_order_acquire)) {
        const std::lock_guard lock(started_mutex_);
        for (auto& one : started_) {
            requests_.add(std::move(one.request));
            departures_.push_back(std::move(one.what));
        }
        started_.clear();
        any_started_.store(false, std::memory_order_release);
    }
    if (departures_.empty()) return 0;
    if (next_look_ >= departures_.size()) next_look_ = 0;
    const std::size_t looks = std::min(looked_at_together, departures_.size() - next_look_);
    const auto places = requests_.test_some(next_look_, looks);
    next_look_ += looks - places.size();
    // Downwards: whatever takes the place of one removed has been looked at or lies beyond this look.
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
        const auto at = static_cast<std::size_t>(*place);
        auto& gone = departures_[at];
        release_counted(gone.counted);
        if (gone.joint) {
            auto& boxes = outboxes_with(gone.target);
            const std::lock_guard lock(boxes.mutex);
            --boxes.at(gone.target).under_way; // one with something under way stays
            boxes.forget_if_idle(gone.target);
        }
        // MPI may have held it back beyond the ring at its start: the target woke, found nothing and went to sleep again.
        bell_->ring(gone.target);
        pool_->give_back(std::move(gone.buffer));
        if (at + 1 != departures_.size()) gone = std::move(departures_.back());
        departures_.pop_back();
        requests_.remove(at);
    }
    return static_cast<int>(places.size());
}

bool send_queue::abandon() {
    if (comm::environment::running()) complete();
    const bool any = !departures_.empty() || !started_.empty();
    for (auto& one : departures_) keep_until_the_end(std::move(one.buffer));
    for (auto& one : started_) keep_until_the_end(std::move(one.what.buffer));
    departures_.clear();
    started_.clear();
    return any;
}

} // namespace craton::runtime
