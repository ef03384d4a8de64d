#include <craton/comm/long_exchange.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/narrow.hpp>

#include <algorithm>
#include <vector>

namespace craton::comm {

void exchange_in_messages(const communicator& ranks, std::span<const std::byte> send, std::span<const std::int64_t> send_first,
                          std::span<const std::int64_t> send_count, std::span<std::byte> receive,
                          std::span<const std::int64_t> receive_first, std::span<const std::int64_t> receive_count,
                          std::int64_t item_bytes, std::int64_t message_bytes) {
    constexpr int tag = 7; // of no one else in a duplicate of a communicator
    CRATON_ASSERT(message_bytes > 0 && message_bytes <= std::int64_t{1} << 30);
    std::vector<MPI_Request> started;
    // start(place, bytes) for each message; those of a pair arrive in the order in which they were sent.
    const auto for_each_message = [&](std::int64_t first, std::int64_t count, [[maybe_unused]] std::size_t room, auto start) {
        CRATON_ASSERT(first >= 0 && count >= 0 && static_cast<std::size_t>((first + count) * item_bytes) <= room);
        for (std::int64_t done = 0; done < count * item_bytes; done += message_bytes) {
            started.push_back(MPI_REQUEST_NULL);
            start(first * item_bytes + done, static_cast<int>(std::min(message_bytes, count * item_bytes - done)));
        }
    };
    for (int rank = 0; rank < ranks.size(); ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        for_each_message(receive_first[r], receive_count[r], receive.size(), [&](std::int64_t place, int bytes) {
            MPI_Irecv(receive.data() + place, bytes, MPI_BYTE, rank, tag, ranks.native(), &started.back());
        });
    }
    for (int rank = 0; rank < ranks.size(); ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        for_each_message(send_first[r], send_count[r], send.size(), [&](std::int64_t place, int bytes) {
            MPI_Isend(send.data() + place, bytes, MPI_BYTE, rank, tag, ranks.native(), &started.back());
        });
    }
    MPI_Waitall(base::narrow<int>(started.size(), "messages of an exchange"), started.data(), MPI_STATUSES_IGNORE);
}

} // namespace craton::comm
