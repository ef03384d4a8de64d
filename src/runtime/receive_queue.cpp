#include "receive_queue.hpp"

#include <craton/comm/work_time.hpp>

#include <utility>

namespace craton::runtime {

namespace {

constexpr std::size_t receives_at_once = 16;
constexpr std::size_t bytes_at_once = std::size_t{16} << 20;

} // namespace

void receive_queue::start_more() {
    while (arrivals_.size() < receives_at_once && (arrivals_.empty() || bytes_under_way_ < bytes_at_once)) {
        auto message = mailbox_.match();
        if (message.source < 0) return;
        const comm::work_time work(comm::work::transfer);
        arrival next{message.source, message.bytes, pool_->take(message.bytes)};
        auto request = mailbox_.start_receive(message, next.buffer.first(next.bytes));
        work.done(1);
        if (request.test()) { // short ones are whole at once
            whole_.push_back(std::move(next));
            return;
        }
        bell_->ring(next.source); // MPI at the source may have to send the rest
        bytes_under_way_ += next.bytes;
        requests_.add(std::move(request));
        arrivals_.push_back(std::move(next));
    }
}

std::optional<receive_queue::arrival> receive_queue::take() {
    if (whole_.empty() && !arrivals_.empty()) {
        const auto places = requests_.test_some(0, arrivals_.size());
        for (const int place : places) {
            auto& one = arrivals_[static_cast<std::size_t>(place)];
            bytes_under_way_ -= one.bytes;
            whole_.push_back(std::move(one));
        }
        for (auto place = places.rbegin(); place != places.rend(); ++place) {
            const auto at = static_cast<std::size_t>(*place);
            if (at + 1 != arrivals_.size()) arrivals_[at] = std::move(arrivals_.back());
            arrivals_.pop_back();
            requests_.remove(at);
        }
    }
    if (whole_.empty()) start_more();
    busy_.store(!arrivals_.empty(), std::memory_order_relaxed);
    if (whole_.empty()) return std::nullopt;
    arrival first = std::move(whole_.front());
    whole_.pop_front();
    return first;
}

bool receive_queue::abandon() {
    const bool any = !arrivals_.empty();
    for (auto& one : arrivals_) keep_until_the_end(std::move(one.buffer));
    arrivals_.clear();
    return any;
}

} // namespace craton::runtime
