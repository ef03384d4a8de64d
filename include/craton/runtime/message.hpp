#pragma once

#include <craton/runtime/byte_buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace craton::runtime {

/// Names a registered handler; the same on every rank because handlers are registered in the same order everywhere.
using handler_id = std::uint32_t;

/// How the small messages of a handler travel in a world whose ranks stand in rows (world_options::ranks_per_row).
enum class travel : std::uint8_t {
    straight,    ///< soonest
    in_two_hops, ///< over another rank, with what that has for the same target: sooner where many have a little for many others
};

/// Of a message's way over another rank.
enum class hop : std::uint8_t { only, first, last };

/// What travels in front of every message's payload; several such records travel as one transfer, each 16-byte aligned.
struct message_header {
    handler_id handler = 0;
    std::uint32_t payload_bytes = 0;
    std::uint64_t token = 0; ///< which call a reply answers; 0 when none is awaited
};
static_assert(sizeof(message_header) == 16);

/// A message being written at its origin. Fill payload(), then hand it to world::send.
class outgoing_message {
  public:
    /// Not initialised.
    [[nodiscard]] std::span<std::byte> payload() const { return buffer_.first(bytes_).subspan(begin_); }

  private:
    friend class world;
    byte_buffer buffer_;
    std::size_t bytes_ = 0;                      // headers and payload
    std::size_t begin_ = sizeof(message_header); // of the payload
    int target_ = -1;
    int next_ = -1; // where it goes first
    hop hop_ = hop::only;
};

/// A message as its handler sees it; valid only while the handler runs. The payload is 16-byte aligned.
struct incoming_message {
    int source = -1;
    std::uint64_t token = 0;
    std::span<const std::byte> payload;
};

/// Writes trivially copyable things one after the other into a payload; every array starts 16-byte aligned.
class payload_writer {
  public:
    explicit payload_writer(std::span<std::byte> bytes) : bytes_(bytes) {}

    /// Copies one, or as many as there are.
    template <class T> void value(const T& v) { std::memcpy(claim<T>(1), &v, sizeof(T)); }
    template <class T> void array(std::span<const T> values) {
        auto* to = claim<T>(values.size());
        if (!values.empty()) std::memcpy(to, values.data(), values.size_bytes());
    }
    /// Room for `count` elements that the caller fills.
    template <class T> [[nodiscard]] T* claim(std::size_t count) {
        auto* here = reinterpret_cast<T*>(bytes_.data() + at_); // aligned by construction
        at_ += padded<T>(count);
        return here;
    }

    /// Bytes that `count` elements take in a payload.
    template <class T> [[nodiscard]] static constexpr std::size_t padded(std::size_t count) {
        return (count * sizeof(T) + 15) / 16 * 16;
    }

  private:
    std::span<std::byte> bytes_;
    std::size_t at_ = 0;
};

/// Reads what payload_writer wrote, in the same order.
class payload_reader {
  public:
    explicit payload_reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    /// The next one, or the next `count`, which are read where they lie.
    template <class T> [[nodiscard]] T value() {
        T v;
        std::memcpy(&v, array<T>(1).data(), sizeof(T));
        return v;
    }
    template <class T> [[nodiscard]] std::span<const T> array(std::size_t count) {
        const auto* here = reinterpret_cast<const T*>(bytes_.data() + at_); // aligned by construction
        at_ += payload_writer::padded<T>(count);
        return {here, count};
    }
    /// Whether all has been read.
    [[nodiscard]] bool at_end() const noexcept { return at_ >= bytes_.size(); }

  private:
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

} // namespace craton::runtime
