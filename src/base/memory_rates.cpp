#include <craton/base/memory_rates.hpp>

#include <craton/base/error.hpp>
#include <craton/base/timer.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace craton::base {

namespace {

void check_threads(int threads) {
    if (threads < 1) throw user_error("memory rates: " + std::to_string(threads) + " threads; allowed: at least 1");
}

} // namespace

memory_rates measure_memory(int threads) {
    check_threads(threads);
    constexpr std::size_t count = std::size_t{16} << 20;
    constexpr int passes = 5;
    memory_rates best;
    timer watch;
    std::barrier<> gate(threads);
    const auto run = [&](int thread) {
        std::vector<float> a(count, 1.0F), b(count, 2.0F), c(count, 3.0F);
        const double elements = static_cast<double>(count) * threads;
        for (int pass = 0; pass < passes; ++pass) {
            gate.arrive_and_wait();
            if (thread == 0) watch.restart();
            gate.arrive_and_wait();
            std::memcpy(a.data(), b.data(), count * sizeof(float));
            gate.arrive_and_wait();
            if (thread == 0) {
                best.memcpy_gb_s = std::max(best.memcpy_gb_s, 4e-9 * elements / watch.seconds());
                watch.restart();
            }
            gate.arrive_and_wait();
            for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + 0.5F * c[i];
            gate.arrive_and_wait();
            if (thread == 0) best.triad_gb_s = std::max(best.triad_gb_s, 12e-9 * elements / watch.seconds());
            b[static_cast<std::size_t>(pass)] = a[static_cast<std::size_t>(pass) + 1]; // the sums are used
        }
    };
    std::vector<std::jthread> others;
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
    run(0);
    return best;
}

double measure_memory_in_place(int threads) {
    check_threads(threads);
    constexpr std::size_t bytes = std::size_t{256} << 20, count = bytes / sizeof(float);
    constexpr std::align_val_t large_page{std::size_t{2} << 20};
    constexpr int passes = 5;
    double best = 0;
    timer watch;
    std::barrier<> gate(threads);
    const auto run = [&](int thread) {
        auto* const memory = static_cast<float*>(::operator new(bytes, large_page));
        ::madvise(memory, bytes, MADV_HUGEPAGE);
        std::fill(memory, memory + count, 1.0F);
        for (int pass = 0; pass < passes; ++pass) {
            gate.arrive_and_wait();
            if (thread == 0) watch.restart();
            gate.arrive_and_wait();
            for (std::size_t i = 0; i < count; ++i) memory[i] *= 0.9999F;
            gate.arrive_and_wait();
            if (thread == 0) best = std::max(best, 2e-9 * static_cast<double>(bytes) * threads / watch.seconds());
        }
        ::operator delete(memory, large_page);
    };
    std::vector<std::jthread> others;
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
    run(0);
    return best;
}

} // namespace craton::base
