#include "inbox.hpp"

#include <craton/base/error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <random>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace craton::runtime {

namespace {

constexpr std::size_t slot_bytes = 64;
constexpr std::uint64_t slots = std::uint64_t{1} << 14;
// A message that takes more of a ring would keep the others out.
constexpr std::uint64_t most_slots = slots / 4 + 4; // 256 KiB and headers

// How long a writer waits for room after the reader's last step: 10 us, and as long as a reader at 4 GB/s takes for a message like
// its own. It waits for so many steps at most. "Briefly" is as if its message were empty: in a handler, since nobody reads
// this rank's ring meanwhile.
constexpr std::chrono::nanoseconds step_without_data{10000};
constexpr std::chrono::nanoseconds longer_for_each_slot{16};
constexpr int most_steps = 5;

struct slot_header {
    std::uint32_t bytes = 0; // to_the_end: the message did not fit behind here, and begins at the ring's first slot
    std::int32_t source = -1;
    std::uint64_t mark = 0;
};
static_assert(sizeof(slot_header) == 16);
constexpr std::uint32_t to_the_end = 0xFFFFFFFF;

constexpr std::uint64_t slots_for(std::size_t bytes) { return (sizeof(slot_header) + bytes + slot_bytes - 1) / slot_bytes; }
/// What marks a message that begins at a position as whole. The key is the ring's own and drawn at random: what is left of an
/// older message, whatever its sender wrote, is not taken for a mark.
constexpr std::uint64_t mark(std::uint64_t position, std::uint64_t key) { return (position + 1) ^ key; }

std::uint64_t random_key() {
    constexpr std::uint64_t not_zero = std::uint64_t{1} << 63; // which is what an empty ring has
    try {
        std::random_device device;
        return (std::uint64_t{device()} << 32 | device()) | not_zero;
    } catch (const std::exception&) { // no source of random numbers here: the neighbours must not wait for this rank
        const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
        return std::mt19937_64(now)() | not_zero;
    }
}

/// More than a ring ahead of the reader; a reader that has passed this place meanwhile is none.
constexpr bool beyond(std::uint64_t end, std::uint64_t read) {
    return static_cast<std::int64_t>(end - read) > static_cast<std::int64_t>(slots);
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic_ref<std::uint64_t>::is_always_lock_free);

} // namespace

/// Zeroed memory is an empty ring. Positions are counted in slots from the beginning of time.
struct inbox::ring {
    alignas(64) std::atomic<std::uint64_t> claimed;
    alignas(64) std::atomic<std::uint64_t> read;
    alignas(64) std::atomic<std::uint32_t> announced;
    alignas(64) std::array<std::byte, slots * slot_bytes> data;

    [[nodiscard]] std::byte* at(std::uint64_t position) noexcept { return data.data() + position % slots * slot_bytes; }
    [[nodiscard]] slot_header& header_at(std::uint64_t position) noexcept { return *reinterpret_cast<slot_header*>(at(position)); }
    void write(std::uint64_t position, std::uint64_t key, std::uint32_t size, std::int32_t source,
               std::span<const std::byte> bytes) noexcept {
        slot_header& header = header_at(position);
        tell_sanitizer<false>(position, bytes.size());
        header.bytes = size;
        header.source = source;
        if (!bytes.empty()) std::memcpy(at(position) + sizeof(header), bytes.data(), bytes.size());
        tell_sanitizer<true>(position, bytes.size());
        std::atomic_ref(header.mark).store(mark(position, key), std::memory_order_release);
    }

    // Two threads of a rank may write a slot one after the other. What lies between is that the reader has read it (has_room): in
    // another process, which the thread sanitizer does not see.
    template <bool written>
    void tell_sanitizer([[maybe_unused]] std::uint64_t position, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef __SANITIZE_THREAD__
        for (std::uint64_t n = 0; n < slots_for(bytes); ++n) {
            if constexpr (written) {
                __tsan_release(at(position + n));
            } else {
                __tsan_acquire(at(position + n));
            }
        }
#endif
    }
};

inbox::inbox(const comm::communicator& world, const node& neighbours) : own_rank_(world.rank()) {
    if (neighbours.ranks.size() < 2) return;
    try {
        memory_ = memory_file(neighbours.communicator, sizeof(ring));
    } catch (const user_error&) {
        return;
    }
    own_place_ = neighbours.communicator.rank();
    neighbours_ = neighbours.ranks;
    seen_read_ = std::make_unique<std::atomic<std::uint64_t>[]>(neighbours_.size());
    stood_at_ = std::make_unique<std::atomic<std::uint64_t>[]>(neighbours_.size());
    const auto keys = neighbours.communicator.all_gather(static_cast<std::int64_t>(random_key()));
    for (const auto key : keys) keys_.push_back(static_cast<std::uint64_t>(key));
    mine_ = reinterpret_cast<ring*>(memory_.base(own_place_));
    reaches_all_ = static_cast<int>(neighbours_.size()) == world.size();
}

inbox::ring& inbox::of(int rank) const noexcept { return *reinterpret_cast<ring*>(memory_.base(neighbours_.of(rank))); }

bool inbox::put(int target, std::span<const std::byte> bytes, bool briefly) noexcept {
    const std::uint64_t needed = slots_for(bytes.size());
    if (needed > most_slots) return false;
    const auto place = static_cast<std::size_t>(neighbours_.of(target));
    ring& there = of(target);
    std::uint64_t begin = there.claimed.load(std::memory_order_relaxed);
    std::uint64_t skipped = 0;
    std::optional<clock::time_point> give_up;
    for (;;) {
        const std::uint64_t behind = slots - begin % slots;
        skipped = behind < needed ? behind : 0;
        const std::uint64_t end = begin + skipped + needed;
        if (has_room(there, place, end)) {
            if (there.claimed.compare_exchange_weak(begin, end, std::memory_order_acquire, std::memory_order_relaxed)) break;
            continue;
        }
        // One limit for all that it waits: others may take what has become free, and go on doing so.
        const auto step = step_without_data + (briefly ? 0 : static_cast<std::int64_t>(needed)) * longer_for_each_slot;
        if (!give_up) give_up = clock::now() + most_steps * step;
        if (!await_room(there, place, end, step, *give_up)) return false;
        begin = there.claimed.load(std::memory_order_relaxed);
    }
    const std::uint64_t key = keys_[place];
    const std::int32_t source = own_rank_;
    if (skipped > 0) there.write(begin, key, to_the_end, source, {});
    there.write(begin + skipped, key, static_cast<std::uint32_t>(bytes.size()), source, bytes);
    return true;
}

bool inbox::has_room(const ring& there, std::size_t place, std::uint64_t end) noexcept {
    // The reader's line is left alone while what was once read of it is enough.
    std::atomic<std::uint64_t>& seen = seen_read_[place];
    if (!beyond(end, seen.load(std::memory_order_acquire))) return true;
    const std::uint64_t read = there.read.load(std::memory_order_acquire);
    seen.store(read, std::memory_order_release);
    return !beyond(end, read);
}

bool inbox::await_room(const ring& there, std::size_t place, std::uint64_t end, clock::duration step,
                       clock::time_point give_up) noexcept {
    std::uint64_t read = there.read.load(std::memory_order_acquire);
    // It has not read since a writer last gave up: it computes, and each message would wait for nothing.
    if (read == stood_at_[place].load(std::memory_order_relaxed)) return false;
    auto stepped = clock::now();
    if (stepped > give_up) return false; // others have taken what became free
    for (;;) {
        const auto now = clock::now(); // takes as long as is right between two looks at a line that the reader writes
        if (has_room(there, place, end)) return true;
        if (now > give_up) return false;
        const std::uint64_t read_now = there.read.load(std::memory_order_acquire);
        if (read_now != read) {
            read = read_now;
            stepped = now;
        } else if (now - stepped > step) {
            stood_at_[place].store(read, std::memory_order_relaxed);
            return false;
        }
    }
}

void inbox::announce(int target) noexcept { of(target).announced.fetch_add(1, std::memory_order_release); }

bool inbox::expects_other_way() const noexcept {
    return mine_ != nullptr && mine_->announced.load(std::memory_order_acquire) != came_other_way_.load(std::memory_order_relaxed);
}

std::optional<inbox::arrival> inbox::front() noexcept {
    if (mine_ == nullptr) return std::nullopt;
    for (;;) {
        slot_header& header = mine_->header_at(next_);
        const std::uint64_t wanted = mark(next_, keys_[static_cast<std::size_t>(own_place_)]);
        if (std::atomic_ref(header.mark).load(std::memory_order_acquire) != wanted) return std::nullopt;
        if (header.bytes != to_the_end) return arrival{header.source, {mine_->at(next_) + sizeof(header), header.bytes}};
        next_ += slots - next_ % slots;
        mine_->read.store(next_, std::memory_order_release);
    }
}

void inbox::pop() noexcept {
    next_ += slots_for(mine_->header_at(next_).bytes);
    mine_->read.store(next_, std::memory_order_release);
}

bool inbox::empty() const noexcept {
    if (mine_ == nullptr) return true;
    return mine_->claimed.load(std::memory_order_acquire) == mine_->read.load(std::memory_order_acquire);
}

} // namespace craton::runtime
