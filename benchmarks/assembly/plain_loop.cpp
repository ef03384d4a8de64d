#include "plain_loop.hpp"

#include <craton/base/timer.hpp>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

namespace craton::bench {

namespace {

constexpr int threads = 2;

// Runs part 0 and part 1 at once; returns the time from the common start to the later end, without the making of threads.
time_taken on_two_threads(const std::function<void(int)>& part) {
    time_taken taken;
    base::timer watch;
    std::barrier start(threads, [&]() noexcept {
        taken.processor_s = -processor_seconds();
        watch.restart();
    });
    std::barrier end(threads, [&]() noexcept {
        taken.wall_s = watch.seconds();
        taken.processor_s += processor_seconds();
    });
    const auto run = [&](int thread) {
        start.arrive_and_wait();
        part(thread);
        end.arrive_and_wait();
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    return taken;
}

void add_column(float* column, const float* block, const std::int64_t* ix, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) column[ix[i]] += block[i];
}

} // namespace

plain_loop::plain_loop(std::int64_t side)
    : side_(side), elements_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(side * side))) { // as above
    reset();
}

void plain_loop::reset() {
    const std::int64_t half = side_ * side_ / threads;
    on_two_threads([&](int thread) { std::fill_n(elements_.get() + thread * half, half, 0.0F); });
}

time_taken plain_loop::time(const update_list& updates, split how) {
    constexpr std::int64_t group = 64;
    return on_two_threads([&](int thread) {
        for (std::size_t u = 0; u < updates.size(); ++u) {
            if (how == split::updates && static_cast<int>(u % threads) != thread) continue;
            const std::int64_t* const ix = updates[u]->indices.data();
            const float* const block = updates[u]->block.data();
            const auto n = std::ssize(updates[u]->indices);
            for (std::int64_t j = 0; j < n; ++j) {
                if (how == split::columns && ix[j] / group % threads != thread) continue;
                add_column(elements_.get() + ix[j] * side_, block + j * n, ix, j + 1);
            }
        }
    });
}

std::uint64_t plain_loop::sum() const { return sum_of_matrix(elements_.get(), side_); }

} // namespace craton::bench
