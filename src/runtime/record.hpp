#pragma once

#include <craton/runtime/message.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace craton::runtime {

// Records follow each other in a transfer: a header and a payload, up to a 16-byte boundary. What is to be handed on is a record
// whose payload is a record, and whose token names both ends.

constexpr std::size_t padded_record(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

[[nodiscard]] inline message_header header_of(std::span<const std::byte> records) {
    message_header header;
    std::memcpy(&header, records.data(), sizeof(header));
    return header;
}
/// Of the first one.
[[nodiscard]] inline std::size_t record_bytes(std::span<const std::byte> records) {
    return padded_record(sizeof(message_header) + header_of(records).payload_bytes);
}

constexpr handler_id relayed_record = 0xFFFFFFFF;

struct record_ends {
    int origin = -1;
    int target = -1;
};
[[nodiscard]] constexpr std::uint64_t token_of(record_ends ends) {
    return std::uint64_t{static_cast<std::uint32_t>(ends.origin)} << 32 | static_cast<std::uint32_t>(ends.target);
}
[[nodiscard]] constexpr record_ends ends_of(std::uint64_t token) {
    return {static_cast<int>(token >> 32), static_cast<int>(token & 0xFFFFFFFF)};
}

} // namespace craton::runtime
