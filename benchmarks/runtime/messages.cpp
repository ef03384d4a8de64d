#include "measure.hpp"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace craton::benchmarks {

namespace {

constexpr int tag = 77;

// Ranks 0 and 1 take part; the others wait in the barrier that ends every measurement.
struct pair_of_ranks {
    runtime::world& world;
    [[nodiscard]] bool first() const { return world.rank() == 0; }
    [[nodiscard]] bool second() const { return world.rank() == 1; }
    [[nodiscard]] int other() const { return 1 - world.rank(); }
};

// A message goes there, its handler sends one back: half the time of a round trip, in microseconds.
spread one_way(runtime::world& world, std::size_t bytes, int rounds) {
    const pair_of_ranks pair{world};
    std::atomic<int> arrived{0};
    runtime::handler_id id = 0;
    const auto send = [&] {
        auto message = world.prepare(pair.other(), id, bytes);
        std::memset(message.payload().data(), 1, bytes);
        world.send(std::move(message));
    };
    id = world.register_handler([&](const runtime::incoming_message&) {
        arrived.fetch_add(1, std::memory_order_relaxed);
        if (pair.second()) send();
    });
    const auto result = repeat(world, [&] {
        arrived = 0;
        world.barrier(); // or a message would come before
        const base::timer clock;
        for (int i = 0; i < rounds; ++i) {
            if (pair.first()) send();
            while (world.rank() < 2 && arrived.load(std::memory_order_relaxed) <= i) world.poll();
        }
        return clock.seconds() / rounds / 2 * 1e6;
    });
    world.unregister_handler(id);
    return result;
}

spread mpi_one_way(runtime::world& world, std::size_t bytes, int rounds) {
    const pair_of_ranks pair{world};
    std::vector<char> out(bytes, 1);
    std::vector<char> in(bytes);
    const int count = static_cast<int>(bytes);
    MPI_Comm comm = world.communicator().native();
    return repeat(world, [&] {
        const base::timer clock;
        for (int i = 0; i < rounds; ++i) {
            if (pair.first()) {
                std::memset(out.data(), 1, bytes);
                MPI_Send(out.data(), count, MPI_BYTE, 1, tag, comm);
                MPI_Recv(in.data(), count, MPI_BYTE, 1, tag, comm, MPI_STATUS_IGNORE);
            } else if (pair.second()) {
                MPI_Recv(in.data(), count, MPI_BYTE, 0, tag, comm, MPI_STATUS_IGNORE);
                std::memset(out.data(), 1, bytes);
                MPI_Send(out.data(), count, MPI_BYTE, 0, tag, comm);
            }
        }
        return clock.seconds() / rounds / 2 * 1e6;
    });
}

// A request and its reply of `bytes` each, in microseconds for both.
spread call(runtime::world& world, std::size_t bytes, int rounds) {
    const pair_of_ranks pair{world};
    std::atomic<int> served{0};
    const auto id = world.register_handler([&](const runtime::incoming_message& message) {
        served.fetch_add(1, std::memory_order_relaxed);
        world.reply(message, message.payload);
    });
    const std::vector<std::byte> question(bytes, std::byte{1});
    const auto result = repeat(world, [&] {
        served = 0;
        world.barrier(); // or a message would come before
        const base::timer clock;
        if (pair.first()) {
            for (int i = 0; i < rounds; ++i) static_cast<void>(world.call(1, id, question));
        } else if (pair.second()) {
            while (served.load(std::memory_order_relaxed) < rounds) world.poll();
        }
        return clock.seconds() / rounds * 1e6;
    });
    world.unregister_handler(id);
    return result;
}

// Rank 0 sends without waiting; the clock stops when rank 1 has run the last handler and said so. Microseconds per message.
spread stream(runtime::world& world, std::size_t bytes, int rounds) {
    const pair_of_ranks pair{world};
    std::atomic<int> arrived{0};
    std::uint64_t seen = 0;
    // It reads the payload, as MPI's copy does.
    const auto id = world.register_handler([&](const runtime::incoming_message& message) {
        const auto* const words = reinterpret_cast<const std::uint64_t*>(message.payload.data());
        for (std::size_t i = 0; i < message.payload.size() / sizeof(std::uint64_t); ++i) seen += words[i];
        arrived.fetch_add(1, std::memory_order_relaxed);
    });
    const auto result = repeat(world, [&] {
        arrived = 0;
        world.barrier();
        const base::timer clock;
        if (pair.first()) {
            for (int i = 0; i < rounds; ++i) {
                auto message = world.prepare(1, id, bytes);
                std::memset(message.payload().data(), i, bytes);
                world.send(std::move(message));
            }
            while (arrived.load(std::memory_order_relaxed) < 1) world.poll();
        } else if (pair.second()) {
            while (arrived.load(std::memory_order_relaxed) < rounds) world.poll();
            world.send(world.prepare(0, id, 0));
            world.poll();
        }
        return clock.seconds() / rounds * 1e6;
    });
    world.unregister_handler(id);
    if (seen == 1) std::puts(""); // or the compiler would leave out the reading
    return result;
}

// The same with MPI_Isend and receives posted ahead, 64 at a time, the way a bandwidth test is written.
spread mpi_stream(runtime::world& world, std::size_t bytes, int rounds) {
    const pair_of_ranks pair{world};
    constexpr int window = 64;
    std::vector<char> buffer(bytes * static_cast<std::size_t>(std::min(window, rounds)), 1);
    std::vector<MPI_Request> requests(window);
    MPI_Comm comm = world.communicator().native();
    const int count = static_cast<int>(bytes);
    return repeat(world, [&] {
        const base::timer clock;
        for (int done = 0; done < rounds && world.rank() < 2; done += window) {
            const int now = std::min(window, rounds - done);
            for (int i = 0; i < now; ++i) {
                char* const place = buffer.data() + static_cast<std::size_t>(i) * bytes;
                auto* const request = &requests[static_cast<std::size_t>(i)];
                if (pair.first()) {
                    std::memset(place, i, bytes);
                    MPI_Isend(place, count, MPI_BYTE, 1, tag, comm, request);
                } else {
                    MPI_Irecv(place, count, MPI_BYTE, 0, tag, comm, request);
                }
            }
            MPI_Waitall(now, requests.data(), MPI_STATUSES_IGNORE);
        }
        char last = 0;
        if (pair.first()) MPI_Recv(&last, 1, MPI_BYTE, 1, tag, comm, MPI_STATUS_IGNORE);
        if (pair.second()) MPI_Send(&last, 1, MPI_BYTE, 0, tag, comm);
        return clock.seconds() / rounds * 1e6;
    });
}

} // namespace

void measure_messages(runtime::world& world, report& out) {
    for (const std::size_t bytes : message_sizes) {
        const int rounds = rounds_for(bytes);
        out.add({"message one-way", "craton", bytes, "us", one_way(world, bytes, rounds)});
        out.add({"message one-way", "mpi", bytes, "us", mpi_one_way(world, bytes, rounds)});
        out.add({"message call and reply", "craton", bytes, "us", call(world, bytes, rounds)});
        const auto per_message = stream(world, bytes, rounds * 4);
        const auto mpi_per_message = mpi_stream(world, bytes, rounds * 4);
        out.add({"message stream rate", "craton", bytes, "million/s", inverse(per_message, 1.0)});
        out.add({"message stream rate", "mpi", bytes, "million/s", inverse(mpi_per_message, 1.0)});
        out.add({"message stream bandwidth", "craton", bytes, "GB/s", inverse(per_message, static_cast<double>(bytes) * 1e-3)});
        out.add({"message stream bandwidth", "mpi", bytes, "GB/s", inverse(mpi_per_message, static_cast<double>(bytes) * 1e-3)});
    }
}

} // namespace craton::benchmarks
