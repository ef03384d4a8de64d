#pragma once

#include <host_device.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

namespace craton::waves::device {

/// When the emulated device does what its streams hold. All are allowed to a real one.
enum class delivery {
    at_once,  ///< in the order in which it is asked for
    as_late,  ///< only when somebody waits, other streams only as far as events demand
    at_random ///< when somebody waits, and now and then before
};

/// A device in host memory, as device_memory.hpp wants it, whose threads take turns in a loop: kernels, indices and the order of
/// streams are tested without a device. Fresh memory holds quiet NaNs, so that what is read before it is written shows.
class emulated_device {
  public:
    using stream = std::size_t;
    struct event {
        std::size_t number = 0;
    };

    explicit emulated_device(delivery order, unsigned seed = 1) : order_(order), generator_(seed) {}
    emulated_device(const emulated_device&) = delete;
    emulated_device& operator=(const emulated_device&) = delete;

    stream make_stream() {
        streams_.emplace_back();
        return streams_.size() - 1;
    }
    event make_event() {
        events_.emplace_back();
        return {events_.size() - 1};
    }

    void* allocate(std::size_t bytes) { return fresh(bytes); }
    void release(void* first) noexcept { std::free(first); }
    void* allocate_pinned(std::size_t bytes) { return fresh(bytes); }
    void release_pinned(void* first) noexcept { std::free(first); }

    void clear(void* first, std::size_t bytes, stream in) {
        add(in, [=] { std::memset(first, 0, bytes); });
    }
    void to_device(void* to, const void* from, std::size_t bytes, stream in) {
        add(in, [=] { std::memcpy(to, from, bytes); });
    }
    void to_host(void* to, const void* from, std::size_t bytes, stream in) { to_device(to, from, bytes, in); }
    void rows_to_device(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                        std::size_t rows, stream in) {
        add(in, [=] {
            for (std::size_t n = 0; n < rows; ++n)
                std::memcpy(static_cast<std::byte*>(to) + n * to_pitch, static_cast<const std::byte*>(from) + n * from_pitch,
                            width);
        });
    }
    void rows_to_host(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t rows,
                      stream in) {
        rows_to_device(to, to_pitch, from, from_pitch, width, rows, in);
    }

    // Blocks and threads in a random order: none may need another.
    template <class Body> void launch(const launch_shape& shape, const Body& body, stream in) {
        if (shape.threads_x * shape.threads_y > threads_of<Body>())
            throw std::logic_error("more threads in a block than there may be");
        if (shape.blocks_y > 65535 || shape.blocks_z > 65535) throw std::logic_error("more blocks than there may be");
        add(in, [this, shape, body] {
            const std::int64_t blocks = shape.blocks_x * shape.blocks_y * shape.blocks_z;
            const std::int64_t first = blocks == 0 ? 0 : static_cast<std::int64_t>(generator_()) % blocks;
            for (std::int64_t n = 0; n < blocks; ++n) {
                const std::int64_t block = (first + n) % blocks;
                for (int y = shape.threads_y - 1; y >= 0; --y) {
                    for (int x = 0; x < shape.threads_x; ++x) {
                        body(place{block % shape.blocks_x, block / shape.blocks_x % shape.blocks_y,
                                   block / (shape.blocks_x * shape.blocks_y), x, y});
                    }
                }
            }
        });
    }

    void record(event what, stream in) {
        const auto times = ++events_[what.number].recorded;
        add(in, [this, what, times] { events_[what.number].done = times; });
    }
    void wait(stream waiting, event what) {
        const auto times = events_[what.number].recorded;
        streams_[waiting].push_back({{}, what, times});
        after_adding();
    }
    void finish(stream which) {
        while (!streams_[which].empty()) step(which);
    }
    void finish(event what) { // other streams only as far as it must
        const auto times = events_[what.number].recorded;
        while (events_[what.number].done < times) {
            for (std::size_t n = 0; n < streams_.size() && events_[what.number].done < times; ++n) try_front(n);
        }
    }

  private:
    struct entry {
        std::function<void()> run; // none: waits
        event waits_for;
        std::uint64_t times = 0;
    };
    struct event_state {
        std::uint64_t recorded = 0, done = 0;
    };

    static void* fresh(std::size_t bytes) {
        void* const first = std::malloc(bytes);
        if (first == nullptr) throw std::bad_alloc();
        std::memset(first, 0xff, bytes); // all bits: a NaN
        return first;
    }

    void add(stream in, std::function<void()> run) {
        streams_[in].push_back({std::move(run), {}, 0});
        after_adding();
    }
    void after_adding() {
        if (order_ == delivery::at_once) {
            for (std::size_t n = 0; n < streams_.size(); ++n) {
                while (try_front(n)) {
                }
            }
        } else if (order_ == delivery::at_random && generator_() % 4 == 0) {
            try_front(generator_() % streams_.size());
        }
    }
    // False where there is nothing, or an event is missing.
    bool try_front(stream which) {
        auto& waiting = streams_[which];
        if (waiting.empty()) return false;
        const auto& front = waiting.front();
        if (!front.run) {
            if (events_[front.waits_for.number].done < front.times) return false;
            waiting.pop_front();
            return true;
        }
        const auto run = front.run;
        waiting.pop_front();
        run();
        return true;
    }
    void step(stream which) {
        if (order_ == delivery::at_random && generator_() % 2 == 0) try_front(generator_() % streams_.size());
        if (try_front(which) || streams_[which].empty()) return;
        bool moved = false;
        for (std::size_t n = 0; n < streams_.size(); ++n) moved = (n != which && try_front(n)) || moved;
        if (!moved) throw std::logic_error("streams wait for each other");
    }

    delivery order_;
    std::mt19937 generator_;
    std::vector<std::deque<entry>> streams_;
    std::vector<event_state> events_;
};

} // namespace craton::waves::device
