// How fast rank 0 reaches rank 1 when messages are all there is (tools/two_hosts --bandwidth): plain MPI, Craton's messages, a
// matrix's updates. Prints "rate NAME GB/s", the best of several; ends with 1 when the ranks share memory or something did not
// arrive.

#include <craton/array/convergent_matrix.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/comm/environment.hpp>
#include <craton/runtime/world.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

namespace {

constexpr std::size_t message_bytes = std::size_t{1} << 20;
constexpr int messages = 256;
constexpr int repeats = 5;
constexpr double gigabytes = static_cast<double>(message_bytes) * messages / 1e9;

// The best rate of several runs of `work`, which begins and ends with all ranks together.
template <class Work> double best_rate(const craton::runtime::world& ranks, Work work) {
    double best = 0;
    for (int n = 0; n < repeats; ++n) {
        ranks.communicator().barrier();
        const double start = MPI_Wtime();
        work();
        best = std::max(best, gigabytes / (MPI_Wtime() - start));
    }
    return best;
}

double plain_mpi(const craton::runtime::world& ranks, int count, int bytes) {
    std::vector<char> buffer(static_cast<std::size_t>(bytes), 'x');
    return best_rate(ranks, [&] {
        for (int i = 0; i < count; ++i) {
            if (ranks.rank() == 0) MPI_Send(buffer.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            if (ranks.rank() == 1) MPI_Recv(buffer.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        ranks.communicator().barrier();
    });
}

double craton_messages(craton::runtime::world& world) {
    std::size_t arrived = 0;
    const auto take = world.register_handler([&](const craton::runtime::incoming_message& m) { arrived += m.payload.size(); });
    const double rate = best_rate(world, [&] {
        for (int i = 0; i < messages && world.rank() == 0; ++i) {
            auto message = world.prepare(1, take, message_bytes);
            std::ranges::fill(message.payload(), std::byte{1});
            world.send(std::move(message));
        }
        world.quiesce();
    });
    if (world.rank() == 1 && arrived != message_bytes * messages * repeats) world.abort("messages were lost", 1);
    world.unregister_handler(take);
    return rate;
}

// Updates of 512 x 512 floats, 1 MiB each, to the part of the matrix that rank 1 owns.
double matrix_updates(craton::runtime::world& world) {
    constexpr std::int64_t n = 512;
    craton::array::convergent_matrix<float> matrix(world, n, 2 * n, n, n, {1, 2});
    std::vector<std::int64_t> rows(n);
    std::vector<std::int64_t> cols(n);
    std::iota(rows.begin(), rows.end(), 0);
    std::iota(cols.begin(), cols.end(), n);
    const std::vector<float> ones(n * n, 1.0F);
    const double rate = best_rate(world, [&] {
        for (int i = 0; i < messages && world.rank() == 0; ++i) {
            matrix.update(craton::base::column_major(ones.data(), n, n, n), rows, cols);
        }
        matrix.commit();
    });
    if (matrix.read(n - 1, 2 * n - 1) != static_cast<float>(messages * repeats)) world.abort("updates were lost", 1);
    world.barrier();
    return rate;
}

} // namespace

int main() {
    const craton::comm::environment environment;
    craton::runtime::world world(craton::comm::communicator::world());
    if (world.size() != 2 || world.node().count != 2) world.abort("needs two ranks that share no memory", 1);
    const double small = plain_mpi(world, messages, static_cast<int>(message_bytes));
    const double large = plain_mpi(world, messages / 16, static_cast<int>(16 * message_bytes));
    const double sent = craton_messages(world);
    const double updated = matrix_updates(world);
    if (world.rank() == 0) {
        std::printf("rate plain_MPI_Send_1_MiB %.3f\nrate plain_MPI_Send_16_MiB %.3f\nrate craton_messages_1_MiB %.3f\n"
                    "rate matrix_updates_1_MiB %.3f\n",
                    small, large, sent, updated);
    }
    return 0;
}
