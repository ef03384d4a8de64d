#pragma once

#include <craton/comm/communicator.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace craton::comm {

/// What communicator::exchange_items does, for as many bytes as 64 bits count: MPI's own call counts in 32. Each rank sends each
/// other messages of at most `message_bytes`. Places and counts are of items. Collective, blocking, does not poll.
void exchange_in_messages(const communicator& ranks, std::span<const std::byte> send, std::span<const std::int64_t> send_first,
                          std::span<const std::int64_t> send_count, std::span<std::byte> receive,
                          std::span<const std::int64_t> receive_first, std::span<const std::int64_t> receive_count,
                          std::int64_t item_bytes, std::int64_t message_bytes = std::int64_t{1} << 30);

} // namespace craton::comm
