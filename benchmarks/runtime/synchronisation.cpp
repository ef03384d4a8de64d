#include "measure.hpp"

#include <craton/runtime/neighbour_sync.hpp>
#include <craton/runtime/progress_thread.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>
#include <vector>

namespace craton::benchmarks {

namespace {

double seconds_of(clockid_t id) {
    timespec now{};
    clock_gettime(id, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Arithmetic that no compiler leaves out; returns how often it went around in the time.
std::int64_t compute_for(double seconds) {
    const base::timer clock;
    volatile double x = 1.0;
    std::int64_t around = 0;
    for (; clock.seconds() < seconds; ++around) {
        for (int i = 0; i < 100; ++i) x = std::sqrt(x + 1.0);
    }
    return around;
}

// Arithmetic of a tenth of a millisecond or so, so many times.
void compute_units(int units) {
    volatile double x = 1.0;
    for (int i = 0; i < units * 20000; ++i) x = std::sqrt(x + 1.0);
}

} // namespace

// Ranks compute 1 to 4 units, another number in each step, and then meet. With more ranks than cores those that wait should leave
// the cores to those that compute.
void measure_crowding(runtime::world& world, report& out) {
    constexpr int steps = 200;
    const int size = world.size();
    const int cores = std::min(size, static_cast<int>(std::thread::hardware_concurrency()));
    double unit = 1.0;
    for (int i = 0; i < 50; ++i) {
        const base::timer clock;
        compute_units(1);
        unit = std::min(unit, clock.seconds());
    }
    unit = -world.communicator().maximum(-unit);
    const auto units = [](int rank, int step) { return 1 + (7 * rank + 3 * step + rank * step) % 4; };
    double perfect = 0.0;
    for (int step = 0; step < steps; ++step) {
        int total = 0;
        int most = 0;
        for (int rank = 0; rank < size; ++rank) {
            total += units(rank, step);
            most = std::max(most, units(rank, step));
        }
        perfect += unit * std::max(static_cast<double>(total) / cores, static_cast<double>(most));
    }
    const auto time = [&](auto meet) {
        return repeat(world, [&] {
            const base::timer clock;
            for (int step = 0; step < steps; ++step) {
                compute_units(units(world.rank(), step));
                meet();
            }
            world.barrier();
            return perfect / clock.seconds() * 100.0;
        });
    };
    runtime::neighbour_sync sync(world);
    const std::array<int, 2> neighbours{(world.rank() + 1) % size, (world.rank() + size - 1) % size};
    const auto ping = world.register_handler([&](const runtime::incoming_message& message) { world.reply(message, {}); });
    MPI_Comm comm = world.communicator().native();
    world.barrier();
    out.add({"computing, then a barrier", "craton", 0, "% of perfect", time([&] { world.barrier(); })});
    out.add({"computing, then a barrier", "mpi", 0, "% of perfect", time([&] { MPI_Barrier(comm); })});
    out.add({"computing, then quiescence", "craton", 0, "% of perfect", time([&] { world.quiesce(); })});
    out.add({"computing, then two neighbours", "craton", 0, "% of perfect", time([&] { sync.synchronise(neighbours); })});
    out.add({"computing, then a call to a neighbour", "craton", 0, "% of perfect",
             time([&] { static_cast<void>(world.call(neighbours[0], ping, {})); })});
    world.quiesce();
    world.unregister_handler(ping);
}

void measure_synchronisation(runtime::world& world, report& out) {
    constexpr int rounds = 500;
    runtime::neighbour_sync sync(world);
    const int size = world.size();
    const std::array<int, 2> neighbours{(world.rank() + 1) % size, (world.rank() + size - 1) % size};
    const auto time = [&](auto work) {
        return repeat(world, [&] {
            const base::timer clock;
            for (int i = 0; i < rounds; ++i) work();
            return clock.seconds() / rounds * 1e6;
        });
    };
    MPI_Comm comm = world.communicator().native();
    out.add({"neighbour sync, two neighbours", "craton", 0, "us", time([&] { sync.synchronise(neighbours); })});
    out.add({"neighbour sync, two neighbours", "mpi", 0, "us", time([&] {
                 std::array<MPI_Request, 4> requests{};
                 for (std::size_t i = 0; i < 2; ++i) {
                     MPI_Irecv(nullptr, 0, MPI_BYTE, neighbours[i], 79, comm, &requests[i]);
                     MPI_Isend(nullptr, 0, MPI_BYTE, neighbours[i], 79, comm, &requests[2 + i]);
                 }
                 MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
             })});
    out.add({"barrier", "craton", 0, "us", time([&] { world.barrier(); })});
    out.add({"barrier", "mpi", 0, "us", time([&] { MPI_Barrier(comm); })});
}

// What the progress thread costs when nothing happens, how soon it answers a message to a rank that sleeps, and what is lost of
// computations beside it.
void measure_progress(runtime::world& world, report& out) {
    std::atomic<std::int64_t> arrived{0};
    const auto id = world.register_handler([&](const runtime::incoming_message& message) {
        arrived.fetch_add(1, std::memory_order_relaxed);
        world.reply(message, {});
    });
    const auto take = world.register_handler([&](const runtime::incoming_message&) { arrived.fetch_add(1); });
    const double alone = static_cast<double>(compute_for(0.5));
    runtime::progress_thread progress(world);
    progress.start();
    world.barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::vector<double> idle;
    for (int i = 0; i < repeats; ++i) {
        const double before = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        idle.push_back((seconds_of(CLOCK_PROCESS_CPUTIME_ID) - before) / 0.5 * 100.0);
    }
    out.add({"progress thread idle", "craton", 0, "% of a core", spread_of(idle)});
    world.communicator().barrier();

    std::vector<double> answers;
    for (int i = 0; i < 101 && world.rank() == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(3)); // it has fallen asleep
        const base::timer clock;
        static_cast<void>(world.call(1, id, {}));
        answers.push_back(clock.seconds() * 1e6);
    }
    if (world.rank() == 0) out.add({"progress thread: call to a sleeping rank", "craton", 0, "us", spread_of(answers)});
    world.barrier();

    // Rank 1 computes for a second and does not poll; rank 0 sends 32 MiB to it.
    std::vector<double> returned;
    double share = 100.0;
    if (world.rank() == 1) share = static_cast<double>(compute_for(0.5)) / alone * 100.0;
    if (world.rank() == 0) {
        for (int i = 0; i < 32; ++i) {
            const base::timer clock;
            world.send(world.prepare(1, take, std::size_t{1} << 20));
            returned.push_back(clock.seconds() * 1e6);
        }
        out.add({"send of 1 MiB to a rank that computes", "craton", std::size_t{1} << 20, "us", spread_of(returned)});
    }
    const auto least = static_cast<double>(world.communicator().minimum(static_cast<std::int64_t>(share * 100.0))) / 100.0;
    out.add({"computing beside the progress thread, 32 MiB arriving", "craton", 0, "% of alone", {least, least, least}});
    progress.stop();
    world.quiesce();
    world.unregister_handler(take);
    world.unregister_handler(id);
}

} // namespace craton::benchmarks
