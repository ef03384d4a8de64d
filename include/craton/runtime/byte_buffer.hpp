#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace craton::runtime {

/// Bytes that nobody has set: a std::vector would write zeros over every payload before its owner does. Aligned to a cache line
/// from 16 KiB on, below to 16 bytes: aligned_alloc takes several times as long as malloc, which keeps the smallest for each
/// thread, and this is on the way of each small message.
class byte_buffer {
  public:
    byte_buffer() = default;
    explicit byte_buffer(std::size_t capacity) : bytes_(allocate(capacity)), capacity_(capacity) {}

    /// The memory, its size, and a part at its beginning.
    [[nodiscard]] std::byte* data() const noexcept { return bytes_.get(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::span<std::byte> first(std::size_t bytes) const noexcept { return {bytes_.get(), bytes}; }

  private:
    static constexpr std::size_t alignment = 64;
    static constexpr std::size_t worth_a_line = std::size_t{16} << 10;
    static_assert(alignof(std::max_align_t) >= 16); // of malloc
    struct release {
        void operator()(std::byte* bytes) const noexcept { std::free(bytes); } // from malloc or aligned_alloc
    };
    static std::byte* allocate(std::size_t capacity) {
        void* const bytes = capacity < worth_a_line
                                ? std::malloc(capacity)
                                : std::aligned_alloc(alignment, (capacity + alignment - 1) / alignment * alignment);
        if (bytes == nullptr && capacity > 0) throw std::bad_alloc();
        return static_cast<std::byte*>(bytes);
    }
    std::unique_ptr<std::byte, release> bytes_;
    std::size_t capacity_ = 0;
};

} // namespace craton::runtime
