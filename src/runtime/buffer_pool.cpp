#include "buffer_pool.hpp"

#include <craton/base/up_to_multiple.hpp>

#include <algorithm>
#include <bit>
#include <iterator>
#include <list>
#include <utility>

namespace craton::runtime {

std::size_t buffer_pool::capacity_for(std::size_t bytes) {
    constexpr std::size_t smallest = 128;
    if (bytes <= smallest) return smallest;
    const std::size_t step = std::bit_floor(bytes - 1) / 4;
    return base::up_to_multiple(bytes, step);
}

byte_buffer buffer_pool::take(std::size_t bytes) {
    const std::size_t capacity = capacity_for(bytes);
    {
        const std::lock_guard lock(mutex_);
        bytes_in_use_ += capacity;
        if (const auto found = kept_.find(capacity); found != kept_.end() && !found->second.empty()) {
            byte_buffer buffer = std::move(found->second.back());
            found->second.pop_back();
            bytes_kept_ -= capacity;
            return buffer;
        }
        shrink();
    }
    return byte_buffer(capacity);
}

void buffer_pool::give_back(byte_buffer buffer) {
    const std::lock_guard lock(mutex_);
    bytes_in_use_ -= buffer.capacity();
    bytes_kept_ += buffer.capacity();
    kept_[buffer.capacity()].push_back(std::move(buffer));
    shrink();
}

void buffer_pool::set_limit(std::size_t most_bytes) {
    const std::lock_guard lock(mutex_);
    most_bytes_ = most_bytes;
    shrink();
}

std::size_t buffer_pool::bytes_kept() const {
    const std::lock_guard lock(mutex_);
    return bytes_kept_;
}

// The largest go first: they hold the most and are the rarest to fit again.
void buffer_pool::shrink() {
    while (bytes_kept_ > 0 && bytes_in_use_ + bytes_kept_ > most_bytes_) {
        const auto largest = std::prev(kept_.end());
        if (!largest->second.empty()) {
            bytes_kept_ -= largest->first;
            largest->second.pop_back();
        }
        if (largest->second.empty()) kept_.erase(largest);
    }
}

void keep_until_the_end(byte_buffer buffer) {
    static std::mutex mutex;
    static auto* const kept = new std::list<byte_buffer>; // never destroyed, MPI may outlive every static
    const std::lock_guard lock(mutex);
    kept->push_back(std::move(buffer));
}

} // namespace craton::runtime
